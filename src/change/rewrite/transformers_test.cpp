// Exported transformers through the rewrites: every site that is there by hand count (tests/data/models/README.md) is
// found, in every exporter's way of writing it, and the outputs stay those of torch.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "change/rewrite/driver.h"
#include "protocol/data.h"
#include "support/differential.h"

namespace hone::change {
namespace {

using model::NamedTensors;

const fs::path kModels = fs::path(HONE_TEST_DATA) / "models";
using Counts = std::map<std::string, int>;

// "| bert | BERT, sdpa | ts17 | attention=2 layernorm=5 |" of the README, by folder.
std::map<std::string, Counts> hand_counts() {
  std::map<std::string, Counts> counts;
  std::ifstream file(kModels / "README.md");
  for (std::string line; std::getline(file, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, std::regex(R"(\| (\w+) \|.*\| ([\w= ]+) \|)"))) continue;
    std::istringstream words(row[2]);
    for (std::string word; words >> word;)
      if (const size_t at = word.find('='); at != std::string::npos)
        counts[row[1]][word.substr(0, at)] = std::stoi(word.substr(at + 1));
  }
  return counts;
}

Counts operators(const model::Graph& graph) {
  Counts counts;
  for (const model::NodeId id : graph.order()) {
    const model::Node& node = graph.node(id);
    const bool tanh = node.op_type == "FastGelu" || node.attribute_string("approximate", "none") == "tanh";
    if (node.op_type == "Gelu" || node.op_type == "FastGelu") ++counts[tanh ? "gelu_tanh" : "gelu_erf"];
    if (node.op_type == "LayerNormalization") ++counts["layernorm"];
    if (node.op_type == "RMSNormalization") ++counts["rmsnorm"];
    if (node.op_type == "Attention" || node.op_type == "MultiHeadAttention") ++counts["attention"];
    if (node.op_type == "SkipLayerNormalization") ++counts["skip_layernorm"];
    if (node.op_type == "SkipSimplifiedLayerNormalization") ++counts["skip_rmsnorm"];
  }
  return counts;
}

std::vector<const Rule*> rules(bool named_too) {
  std::vector<const Rule*> out;
  for (const Rule* rule : all_rules())
    if (named_too || rule->info().only_when_named.empty()) out.push_back(rule);
  return out;
}

// The samples that feed a file, with what torch gave for them.
std::vector<std::pair<NamedTensors, NamedTensors>> samples_of(const fs::path& file) {
  std::vector<std::pair<NamedTensors, NamedTensors>> samples;
  const bool open = file.filename().string().find(".dyn.") != std::string::npos;
  for (const std::string suffix : {"", "_2"}) {
    const fs::path inputs = file.parent_path() / fmt::format("inputs{}.npz", suffix);
    if ((!suffix.empty() && !open) || !fs::exists(inputs)) continue;
    samples.emplace_back(protocol::read_npz(inputs).value(),
                         protocol::read_npz(file.parent_path() / fmt::format("expected{}.npz", suffix)).value());
  }
  return samples;
}

NamedTensors wanted(const NamedTensors& all, const std::vector<model::ValueId>& ids, const model::Graph& graph) {
  NamedTensors out;
  for (const model::ValueId id : ids)
    if (const model::Tensor* tensor = model::find_tensor(all, graph.value(id).name))
      out.emplace_back(graph.value(id).name, *tensor);
  return out;
}

void expect_torchs_outputs(const model::Model& rewritten, const fs::path& file) {
  const model::Graph& graph = rewritten.graph();
  for (const auto& [inputs, expected] : samples_of(file)) {
    const auto found = test::run_reference(rewritten, wanted(inputs, graph.inputs(), graph));
    ASSERT_TRUE(found) << file << " " << found.error().line();
    const accuracy::Report report = judge(accuracy::compare_outputs(wanted(expected, graph.outputs(), graph), *found),
                                          accuracy::Gate{}, accuracy::Class::kReassociating, 1, true);
    EXPECT_TRUE(report.passed) << file << " " << report.why;
  }
}

class Transformers : public testing::TestWithParam<std::string> {};

TEST_P(Transformers, HaveEverySiteFoundAndTheirOutputsKept) {
  static const std::map<std::string, Counts> kHand = hand_counts();
  const std::string name = GetParam();
  ASSERT_TRUE(kHand.contains(name));
  for (const auto& entry : fs::directory_iterator(kModels / name)) {
    if (entry.path().extension() != ".onnx") continue;
    const model::Model original = model::Model::load(entry.path()).value();
    std::string table = fmt::format("{:<34}", entry.path().stem().string());
    for (const bool named_too : {false, true}) {
      model::Model rewritten = original.clone();
      const auto report = rewrite(rewritten, rules(named_too), {});
      ASSERT_TRUE(report) << entry.path() << " " << report.error().line();
      Counts found = operators(rewritten.graph());
      for (const char* pattern : {"attention", "layernorm", "rmsnorm", "gelu_erf", "gelu_tanh"}) {
        if (named_too) break;
        const int expected = kHand.at(name).contains(pattern) ? kHand.at(name).at(pattern) : 0;
        EXPECT_EQ(found[pattern], expected) << entry.path() << " " << pattern;
        if (expected > 0) table += fmt::format(" {} {}/{}", pattern, found[pattern], expected);
      }
      expect_torchs_outputs(rewritten, entry.path());
    }
    fmt::print("{}\n", table);
  }
}

std::vector<std::string> folders() {
  std::vector<std::string> names;
  for (const auto& [name, counts] : hand_counts()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Exported, Transformers, testing::ValuesIn(folders()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hone::change
