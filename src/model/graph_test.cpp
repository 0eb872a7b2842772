// Graph edits and questions, above all those with subgraphs and graph outputs, where rewrites elsewhere go wrong.
// SPDX-License-Identifier: Apache-2.0
#include "model/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/model.h"

namespace hone::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model text_model(std::string_view text) {
  auto model = Model::from_text(text);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().line());
  return std::move(*model);
}

constexpr const char* kChain = R"(
<ir_version: 8, opset_import: ["" : 17]>
chain (float[4] x) => (float[4] y)
<float[4] bias = {1, 2, 3, 4}, float[4] unused = {0, 0, 0, 0}>
{
  a = Add(x, bias)
  b = Relu(a)
  y = Mul(b, b)
}
)";

constexpr const char* kBranches = R"(
<ir_version: 8, opset_import: ["" : 17]>
branches (float[4] x, bool c) => (float[4] y)
<float[4] bias = {1, 2, 3, 4}>
{
  a = Add(x, bias)
  b = Relu(a)
  y = If (c) <
    then_branch = then_graph () => (float[4] r) { r = Mul(a, bias) },
    else_branch = else_graph () => (float[4] r) {
      r = If (c) <
        then_branch = inner_then () => (float[4] s) { s = Neg(a) },
        else_branch = inner_else () => (float[4] s) { s = Identity(b) }
      >
    }
  >
}
)";

// What every edit must leave behind: a model the ONNX checker accepts and that reads back as the same graph.
void expect_valid(const Model& model) {
  const auto checked = model.check();
  EXPECT_TRUE(checked.has_value()) << checked.error().line();
  auto again = Model::from_bytes(*model.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().line();
  EXPECT_EQ(again->fingerprint(), model.fingerprint());
  const Graph& left = model.graph();
  const Graph& right = again->graph();
  for (size_t i = 0; i < left.value_limit(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!left.value_alive(id)) continue;
    const ValueId other = right.find_value(left.value(id).name);
    if (other == kNoValue) {
      EXPECT_TRUE(left.value(id).uses.empty() && left.value(id).producer == kNoNode) << left.value(id).name;
      continue;
    }
    EXPECT_EQ(left.value(id).uses.size(), right.value(other).uses.size()) << left.value(id).name;
  }
}

NodeId only_node(const Graph& graph, std::string_view op) {
  NodeId found = kNoNode;
  for (const NodeId id : graph.order())
    if (graph.node(id).op_type == op) found = id;
  return found;
}

TEST(Graph, CapturesCountAsUses) {
  Model model = text_model(kBranches);
  const Graph& graph = model.graph();
  const ValueId a = graph.find_value("a");
  const NodeId branch = only_node(graph, "If");
  EXPECT_EQ(graph.only_user(a), kNoNode);
  EXPECT_TRUE(graph.used_outside(a, {only_node(graph, "Relu")}));
  EXPECT_FALSE(graph.used_outside(a, {only_node(graph, "Relu"), branch}));
  EXPECT_EQ(graph.captures(branch).size(), 4);  // a, bias, c, b
  EXPECT_THAT(graph.subgraphs(branch)[0]->outer_names(), ElementsAre("a", "bias"));
}

TEST(Graph, ReplacingUsesReachesIntoSubgraphsOfSubgraphs) {
  Model model = text_model(kBranches);
  Graph& graph = model.graph();
  const ValueId fresh = graph.add_value("fresh");
  graph.add_node({"Abs", {graph.find_value("x")}, {fresh}});
  ASSERT_TRUE(graph.replace_uses(graph.find_value("a"), fresh));
  EXPECT_TRUE(graph.value(graph.find_value("a")).uses.empty());
  graph.remove_node(graph.value(graph.find_value("a")).producer);
  graph.remove_unused_values();
  EXPECT_EQ(graph.find_value("a"), kNoValue);
  EXPECT_THAT(model.to_text(), HasSubstr("Neg (fresh)"));
  expect_valid(model);
}

TEST(Graph, ReplacingByAValueThatTheSubgraphReadsTooMergesTheCaptures) {
  Model model = text_model(kBranches);
  Graph& graph = model.graph();
  ASSERT_TRUE(graph.replace_uses(graph.find_value("a"), graph.find_value("bias")));
  const NodeId branch = only_node(graph, "If");
  EXPECT_EQ(graph.captures(branch).size(), 3);
  EXPECT_THAT(model.to_text(), HasSubstr("r = Mul (bias, bias)"));
  expect_valid(model);
}

TEST(Graph, AnInnerNameThatWouldHideTheReplacementMovesAway) {
  Model model = text_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x, bool c) => (float[4] y, float[4] r)
    {
      a = Relu(x)
      y = If (c) <
        then_branch = t () => (float[4] r) { r = Neg(a) },
        else_branch = e () => (float[4] r) { r = Abs(a) }
      >
      r = Exp(x)
    })");
  Graph& graph = model.graph();
  ASSERT_TRUE(graph.replace_uses(graph.find_value("a"), graph.find_value("r")));
  graph.remove_node(graph.value(graph.find_value("a")).producer);
  graph.remove_unused_values();
  EXPECT_THAT(model.to_text(), HasSubstr("Neg (r)"));
  expect_valid(model);
}

TEST(Graph, ABranchThatGivesAnOuterValueAwayFollowsItsReplacement) {
  Model model = text_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x, bool c) => (float[4] y)
    {
      a = Relu(x)
      y = If (c) <then_branch = t () => (float[4] a) {}, else_branch = e () => (float[4] r) { r = Add(a, x) }>
    })");
  Graph& graph = model.graph();
  const NodeId branch = graph.order().back();
  EXPECT_EQ(graph.captures(branch).size(), 2);
  ASSERT_TRUE(graph.replace_uses(graph.find_value("a"), graph.find_value("x")));
  EXPECT_EQ(graph.captures(branch).size(), 1);
  const auto inner = graph.subgraphs(branch)[0];
  EXPECT_EQ(inner->value(inner->outputs()[0]).name, "x");
}

TEST(Graph, AGraphOutputKeepsItsNameWhenItsValueIsReplaced) {
  Model model = text_model(kChain);
  Graph& graph = model.graph();
  const ValueId out = graph.add_value("anything");
  graph.add_node({"Neg", {graph.find_value("b")}, {out}});
  const ValueId old = graph.find_value("y");
  ASSERT_TRUE(graph.replace_uses(old, out));
  graph.remove_node(graph.value(old).producer);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
  EXPECT_EQ(graph.producer(graph.outputs()[0])->op_type, "Neg");
  EXPECT_EQ(to_text(graph.value(out).type), "float32[4]");
  graph.remove_unused_values();
  expect_valid(model);
}

TEST(Graph, AnOutputCannotBecomeAnInputOrAnInitializer) {
  Model model = text_model(kChain);
  Graph& graph = model.graph();
  const std::string before = model.fingerprint();
  EXPECT_FALSE(graph.replace_uses(graph.find_value("y"), graph.find_value("x")));
  EXPECT_FALSE(graph.replace_uses(graph.find_value("y"), graph.find_value("bias")));
  EXPECT_EQ(model.fingerprint(), before);
}

TEST(Graph, ANodePutBehindAValueKeepsReadingIt) {
  Model model = text_model(kChain);
  Graph& graph = model.graph();
  const ValueId doubled = graph.add_value("doubled");
  const NodeId node = graph.add_node({"Exp", {graph.find_value("a")}, {doubled}});
  ASSERT_TRUE(graph.replace_uses(graph.find_value("a"), doubled));
  EXPECT_EQ(graph.node(node).input(0), graph.find_value("a"));
  EXPECT_EQ(graph.node(only_node(graph, "Relu")).input(0), doubled);
  expect_valid(model);
}

TEST(Graph, OrderPutsANewNodeBeforeItsFirstUser) {
  Model model = text_model(kChain);
  Graph& graph = model.graph();
  const ValueId value = graph.add_value("v");
  const NodeId node = graph.add_node({"Exp", {graph.find_value("x")}, {value}});
  graph.set_input(only_node(graph, "Relu"), 0, value);
  const auto& order = graph.order();
  EXPECT_LT(std::ranges::find(order, node), std::ranges::find(order, only_node(graph, "Relu")));
  graph.remove_node(only_node(graph, "Add"));
  EXPECT_EQ(graph.remove_unused_values(), 3);  // a, bias, unused
  expect_valid(model);
}

TEST(Graph, NamesStayUniqueAcrossSubgraphs) {
  Model model = text_model(kBranches);
  Graph& graph = model.graph();
  EXPECT_EQ(graph.unique_name("fresh"), "fresh");
  EXPECT_NE(graph.unique_name("s"), "s");  // taken two levels down
  const NodeId first = graph.add_node({"Neg", {graph.find_value("x")}, {graph.add_value("n")}});
  const NodeId second = graph.add_node({"Neg", {graph.find_value("x")}, {graph.add_value("n")}});
  EXPECT_NE(graph.node(first).name, graph.node(second).name);
  EXPECT_NE(graph.value(graph.node(first).output(0)).name, graph.value(graph.node(second).output(0)).name);
}

TEST(Graph, EditsOfACloneLeaveTheOriginalAlone) {
  Model model = text_model(kBranches);
  const std::string before = model.fingerprint();
  Model copy = model.clone();
  Graph& graph = copy.graph();
  ASSERT_TRUE(graph.replace_uses(graph.find_value("a"), graph.find_value("x")));
  graph.import_opset("com.example", 3);
  EXPECT_EQ(model.fingerprint(), before);
  EXPECT_EQ(model.opset("com.example"), 0);
  EXPECT_NE(copy.fingerprint(), before);
}

TEST(Graph, EndedCapturesAreNoticedWhenUnusedValuesAreRemoved) {
  Model model = text_model(kBranches);
  Graph& graph = model.graph();
  const NodeId branch = only_node(graph, "If");
  const auto inner = graph.subgraphs(branch)[0];
  inner->set_input(only_node(*inner, "Mul"), 0, inner->find_value("bias"));
  graph.remove_unused_values();
  EXPECT_EQ(graph.captures(branch).size(), 4);  // the inner If still reads a
  expect_valid(model);
}

TEST(Graph, ConstantsAreSeenThroughIdentityAndInEveryForm) {
  Model model = text_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y)
    <float[2] w = {1, 2}>
    {
      one = Constant<value_float = 2.5>()
      list = Constant<value_ints = [3, 4]>()
      tensor = Constant<value = float[2] {5, 6}>()
      same = Identity(w)
      p = Mul(x, one)
      q = Add(p, tensor)
      r = Add(q, same)
      y = Reshape(r, list)
    })");
  const Graph& graph = model.graph();
  EXPECT_EQ(graph.constant(graph.find_value("one"))->at<float>(0), 2.5F);
  EXPECT_THAT(graph.constant(graph.find_value("list"))->values<int64_t>(), ElementsAre(3, 4));
  EXPECT_THAT(graph.constant(graph.find_value("tensor"))->values<float>(), ElementsAre(5, 6));
  EXPECT_EQ(graph.constant(graph.find_value("same")), graph.constant(graph.find_value("w")));
  EXPECT_EQ(graph.constant(graph.find_value("x")), nullptr);
}

TEST(Graph, AnInitializerThatIsAnInputIsOnlyADefault) {
  Model model = text_model(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) })");
  const Graph& graph = model.graph();
  const ValueId w = graph.find_value("w");
  ASSERT_TRUE(graph.value(w).is_input && graph.value(w).initializer.has_value());
  EXPECT_EQ(graph.constant(w), nullptr);
  EXPECT_EQ(graph.inputs().size(), 2);
}

TEST(Graph, BeforeIrFourInitializersListedAsInputsAreConstants) {
  Model model = text_model(R"(
    <ir_version: 3, opset_import: ["" : 9]>
    g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) })");
  Graph& graph = model.graph();
  EXPECT_EQ(graph.inputs().size(), 1);
  ASSERT_NE(graph.constant(graph.find_value("w")), nullptr);
  const ValueId added = graph.add_constant("added", Tensor::of<float>({2}, {3, 4}));
  graph.set_input(graph.order()[0], 0, added);
  expect_valid(model);
}

TEST(Graph, ANodeIsCalledByItsNameOrByWhatItMakes) {
  Model model = text_model(kChain);
  Graph& graph = model.graph();
  EXPECT_EQ(graph.node(graph.order()[0]).label(graph), "Add -> a");
  const NodeId named = graph.add_node({"Neg", {graph.find_value("x")}, {graph.add_value("n")}, {}, "", "my_node"});
  EXPECT_EQ(graph.node(named).label(graph), "my_node");
}

}  // namespace
}  // namespace hone::model
