// The driver, the structural gate, and what the differential test catches.
// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "change/rewrite/pattern.h"
#include "change/rewrite/structure.h"
#include "diagnose/diagnose.h"
#include "support/rewriting.h"

namespace {

using hone::change::Match;
using hone::change::Rule;
using hone::change::RuleInfo;
using hone::model::Graph;
using hone::model::Model;
using hone::model::NodeId;
using hone::test::model_of;
using testing::HasSubstr;

// A rule made of functions, for tests.
class TestRule final : public Rule {
 public:
  // `id` and `op` are literals: a copy of the rule names them too.
  TestRule(const char* id, const char* op, std::function<void(Graph&, NodeId)> edit) : op_(op), edit_(std::move(edit)) {
    info_.id = id;
  }
  // Wants the model at an opset; sites have the rule's operator.
  TestRule& at_opset(int64_t opset) {
    info_.opset = opset;
    info_.anchor = op_;
    return *this;
  }
  const RuleInfo& info() const override { return info_; }
  Match match(const Graph& graph, NodeId root) const override {
    Match match = graph.node(root).is(op_) ? Match::yes() : Match::no();
    match.nodes = {root};
    return match;
  }
  void rewrite(Graph& graph, const Match& match) const override { edit_(graph, match.nodes[0]); }

 private:
  RuleInfo info_;
  std::string_view op_;
  std::function<void(Graph&, NodeId)> edit_;
};

TEST(Driver, StopsRulesThatUndoEachOther) {
  const TestRule there("there", "Abs", [](Graph& graph, NodeId id) { graph.set_op(id, "Neg"); });
  const TestRule back("back", "Neg", [](Graph& graph, NodeId id) { graph.set_op(id, "Abs"); });
  Model model = model_of("agraph (float[2] x) => (float[2] y) { y = Abs(x) }");
  const auto report = hone::change::rewrite(model, {&there, &back});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, hone::ErrorKind::kInternal);
  EXPECT_THAT(report.error().line(), HasSubstr("rewrites do not settle after 32 rounds: back"));
}

TEST(Driver, NamesTheRuleThatBreaksTheGraph) {
  const TestRule breaks("break-it", "Abs", [](Graph& graph, NodeId id) { graph.remove_node(id); });
  Model model = model_of("agraph (float[2] x) => (float[2] y) { a = Abs(x) y = Neg(a) }");
  const auto report = hone::change::rewrite(model, {&breaks}, hone::test::strict_options());
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, hone::ErrorKind::kInternal);
  EXPECT_THAT(report.error().line(), HasSubstr("'a', which nothing makes before it: break-it"));
}

TEST(Driver, NamesTheRuleThatBreaksTheGraphOnlyAtTheOpsetItWants) {
  const TestRule breaks = TestRule("break-it", "Abs", [](Graph& graph, NodeId id) {
                            graph.opset() >= 18 ? graph.remove_node(id) : graph.set_op(id, "Neg");
                          }).at_opset(18);
  Model model = model_of("agraph (float[2] x) => (float[2] y) { a = Abs(x) y = Neg(a) }");
  const auto report = hone::change::rewrite(model, {&breaks});
  ASSERT_FALSE(report.has_value()) << "the old opset hides it";
  EXPECT_EQ(report.error().kind, hone::ErrorKind::kInternal);
  EXPECT_THAT(report.error().line(), HasSubstr("break-it"));
}

TEST(Driver, RaisesTheOpsetOnlyWhenARuleThatWantsItFires) {
  const TestRule wants =
      TestRule("want-18", "Abs", [](Graph& graph, NodeId id) { graph.set_op(id, "Neg"); }).at_opset(18);
  Model with = model_of("agraph (float[2] x) => (float[2] y) { a = Abs(x) y = Relu(a) }");
  EXPECT_EQ(hone::change::rewrite(with, {&wants})->opset_after, 18);
  Model without = model_of("agraph (float[2] x) => (float[2] y) { y = Relu(x) }");
  EXPECT_EQ(hone::change::rewrite(without, {&wants})->opset_after, 17);
}

TEST(Driver, NamesTheRuleThatChangesAnOutputsType) {
  const TestRule changes("change-type", "Abs", [](Graph& graph, NodeId id) {
    graph.set_type(graph.node(id).output(0), hone::model::Type::tensor(hone::model::DType::kDouble));
    graph.set_op(id, "Neg");
  });
  Model model = model_of("agraph (float[2] x) => (float[2] y) { y = Abs(x) }");
  const auto report = hone::change::rewrite(model, {&changes}, hone::test::strict_options());
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(report.error().line(), HasSubstr("graph output 'y' is float64, was float32[2]: change-type"));
}

TEST(Driver, NamesTheRuleWhoseNodesTheCheckerRefuses) {
  const TestRule invents("invent-op", "Abs", [](Graph& graph, NodeId id) { graph.set_op(id, "Absolutely"); });
  Model model = model_of("agraph (float[2] x) => (float[2] y) { y = Abs(x) }");
  const auto report = hone::change::rewrite(model, {&invents});
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(report.error().line(), HasSubstr("invent-op"));
}

TEST(Driver, KeepsDeclaredTypesOfOutputsThatInferenceCouldSharpen) {
  Model model = model_of(
      "agraph (float[N,2,3] x) => (float[A,B] y) <int64[2] s = {-1, 6}> { a = Identity(x) y = Reshape(a, s) }");
  ASSERT_TRUE(hone::change::rewrite(model, hone::change::all_rules(), hone::test::strict_options()).has_value());
  EXPECT_EQ(to_text(model.graph().value(model.graph().outputs()[0]).type), "float32[A,B]");
}

TEST(Driver, CountsNodesOfSubgraphs) {
  Model model = model_of(R"(agraph (float[2] x, bool c) => (float[2] y) {
    y = If(c) <then_branch = t () => (float[2] v) { u = Identity(x) v = Abs(u) }, else_branch = e () => (float[2] v) { v = Neg(x) }> })");
  const auto report = hone::change::rewrite(model, hone::change::all_rules(), hone::test::strict_options());
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->nodes_before, 4U);
  EXPECT_EQ(report->nodes_after, 3U);
  EXPECT_EQ(report->to_json().at("nodes_after"), 3);
}

TEST(Driver, GivesNodesThatShareANameTheirOwn) {
  Model model = model_of("agraph (float[2] x) => (float[2] y) { [n] a = Abs(x) [n] y = Neg(a) }");
  const auto report = hone::change::rewrite(model, {}, hone::test::strict_options());
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->renamed_nodes, testing::ElementsAre("n -> n_1 (Neg, makes y)"));
}

TEST(Driver, AModelWithoutNodesIsLeftAlone) {
  Model model = model_of("agraph (float[2] x) => (float[2] x) { }");
  const auto report = hone::change::rewrite(model, hone::change::all_rules(), hone::test::strict_options());
  ASSERT_TRUE(report.has_value()) << report.error().line();
  EXPECT_EQ(report->nodes_after, 0U);
}

TEST(Differential, CatchesARewriteThatIsWrong) {
  // Wrong by a swapped operand: right shapes, right types, a valid graph.
  const TestRule wrong("swap-sub", "Sub", [](Graph& graph, NodeId id) {
    const auto a = graph.node(id).input(0), b = graph.node(id).input(1);
    graph.set_op(id, "Add");
    graph.set_input(id, 0, b);
    graph.set_input(id, 1, a);
  });
  const Model before = model_of("agraph (float[N,3] x, float[N,3] u) => (float[N,3] y) { a = Sub(x, u) y = Relu(a) }");
  Model after = before.clone();
  ASSERT_TRUE(hone::change::rewrite(after, {&wrong}, hone::test::strict_options()).has_value());
  const auto comparison = hone::test::compare_models(before, after, {1, hone::accuracy::Class::kReassociating});
  ASSERT_TRUE(comparison.has_value()) << comparison.error().line();
  EXPECT_FALSE(comparison->same);
  EXPECT_THAT(comparison->why, HasSubstr("output 'y'"));
}

TEST(Differential, CatchesASmallErrorOfAWeight) {
  const Model before = model_of("agraph (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }");
  const Model after = model_of("agraph (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2.01}> { y = Mul(x, w) }");
  const auto comparison = hone::test::compare_models(before, after, {1, hone::accuracy::Class::kReassociating});
  ASSERT_TRUE(comparison.has_value());
  EXPECT_FALSE(comparison->same);
}

TEST(Differential, FailsWhenTheOriginalNeverRuns) {
  const Model model =
      model_of("agraph (float[2] x, float[3] u) => (float[?] y) <int64[1] s = {7}> { a = Reshape(x, s) y = Relu(a) }");
  EXPECT_FALSE(hone::test::compare_models(model, model).has_value());
}

TEST(Rules, AreExactlyTheFilesOfTheirFolder) {
  std::set<std::string> files, listed;
  const auto folder = std::filesystem::path(HONE_TEST_DATA) / "../../src/change/rule";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".cpp" || name.ends_with("_test")) continue;
    std::replace(name.begin(), name.end(), '_', '-');
    files.insert(name);
  }
  for (const Rule* rule : hone::change::all_rules()) listed.insert(std::string(rule->info().id));
  EXPECT_EQ(files, listed);
}

TEST(Rules, SayWhatTheyDo) {
  for (const Rule* rule : hone::change::all_rules()) {
    EXPECT_FALSE(rule->info().before.empty()) << rule->info().id;
    EXPECT_FALSE(rule->info().after.empty()) << rule->info().id;
    EXPECT_FALSE(rule->info().condition.empty()) << rule->info().id;
  }
}

TEST(Rules, AnswerAFindingThatExists) {
  for (const Rule* rule : hone::change::all_rules()) {
    const auto& known = hone::diagnose::all_findings();
    EXPECT_TRUE(std::any_of(known.begin(), known.end(),
                            [&](const auto& finding) { return finding.id == rule->info().finding; }))
        << rule->info().id << ": " << rule->info().finding;
  }
}

TEST(Rules, OfAConvolutionAnswerItsFinding) {
  for (const char* id : {"fold-bn-into-conv", "fold-mul-add-into-conv", "replace-mul-add-with-conv"})
    EXPECT_EQ(hone::change::find_rule(id).value()->info().finding, "unfused_batchnorm") << id;
  EXPECT_EQ(hone::change::find_rule("fuse-hardsigmoid").value()->info().finding, "unfused_activation");
}

TEST(Rules, ForAnEngineAreWithoutThoseOfOthersAndThoseToBeNamed) {
  const auto ids = [](std::string_view engine) {
    std::set<std::string_view> set;
    for (const Rule* rule : hone::change::rules_for(engine)) set.insert(rule->info().id);
    return set;
  };
  EXPECT_TRUE(ids("onnxruntime").contains("merge-qkv-matmul"));
  EXPECT_FALSE(ids("onnxruntime").contains("fuse-skip-layernorm")) << "slower there: only when it is named";
  EXPECT_FALSE(ids("openvino").contains("merge-qkv-matmul"));
  EXPECT_FALSE(ids("").contains("merge-qkv-matmul"));
  EXPECT_TRUE(ids("").contains("fold-constants"));
}

TEST(Rules, AnUnknownNameListsTheKnown) {
  const auto found = hone::change::find_rule("fuse-everything");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().kind, hone::ErrorKind::kUsage);
  EXPECT_THAT(found.error().line(), HasSubstr("fold-bn-into-conv"));
}

}  // namespace
