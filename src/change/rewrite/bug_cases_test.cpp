// Small models after public reports in which an optimizer gave a wrong model (tests/data/rewrite/README.md), rewritten
// with all rules on: outputs are as expected, the interface is unchanged, the result passes the checker and loads.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "change/rewrite/structure.h"
#include "protocol/data.h"
#include "support/rewriting.h"

namespace {

namespace fs = std::filesystem;
using hone::model::Model;

const fs::path kCases = fs::path(HONE_TEST_DATA) / "rewrite";

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

size_t count_of(const Model& model, std::string_view op) {
  size_t count = 0;
  for (const auto id : model.graph().order()) count += model.graph().node(id).op_type == op ? 1 : 0;
  return count;
}

// Feed k: inputs.npz for k = 1, inputs_2.npz, ...
std::string feed_file(const char* what, int k) {
  return k == 1 ? fmt::format("{}.npz", what) : fmt::format("{}_{}.npz", what, k);
}

void expect_near(const hone::model::Tensor& found, const hone::model::Tensor& expected, const std::string& where) {
  EXPECT_EQ(found.dims(), expected.dims()) << where;
  EXPECT_EQ(found.dtype(), expected.dtype()) << where;
  const auto a = found.to_doubles().value(), b = expected.to_doubles().value();
  ASSERT_EQ(a.size(), b.size()) << where;
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_LE(std::fabs(a[i] - b[i]), 1e-5 * largest) << where << " element " << i;
}

class BugCase : public testing::TestWithParam<std::string> {};

TEST_P(BugCase, GivesTheRightResultWithAllRulesOn) {
  const fs::path folder = kCases / GetParam();
  auto loaded = Model::load(folder / "model.onnx");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().line();
  const auto interface = hone::change::Interface::of(loaded->graph());
  const auto done = hone::test::rewritten(hone::change::all_rules(), std::move(*loaded));
  EXPECT_EQ(hone::change::Interface::of(done.after.graph()), interface);
  EXPECT_TRUE(done.after.check().has_value());
  int feeds = 0;
  while (fs::exists(folder / feed_file("inputs", feeds + 1))) {
    ++feeds;
    const auto dataset = hone::protocol::load_data(folder / feed_file("inputs", feeds), done.after.graph(), {});
    ASSERT_TRUE(dataset.has_value()) << dataset.error().line();
    const auto outputs = hone::test::run_reference(done.after, dataset->samples[0]);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().line() << "\n" << done.lines;
    const auto expected = hone::protocol::read_npz(folder / feed_file("expected", feeds));
    ASSERT_TRUE(expected.has_value()) << expected.error().line();
    for (const auto& [name, tensor] : *expected) {
      const auto* found = hone::model::find_tensor(*outputs, name);
      ASSERT_NE(found, nullptr) << name;
      expect_near(*found, tensor, fmt::format("{} of feed {}\n{}", name, feeds, done.lines));
    }
  }
  EXPECT_GT(feeds, 0);
}

INSTANTIATE_TEST_SUITE_P(All, BugCase, testing::ValuesIn(case_names()), [](const auto& info) { return info.param; });

hone::test::Rewritten case_rewritten(const std::string& name) {
  return hone::test::rewritten(hone::change::all_rules(), Model::load(kCases / name / "model.onnx").value());
}

TEST(BugCases, AReshapeThatMakesAShapeStays) {
  EXPECT_EQ(count_of(case_rewritten("reshape_makes_shape").after, "Reshape"), 2U);
  EXPECT_EQ(count_of(case_rewritten("reshape_makes_open_shape").after, "Reshape"), 2U);
}

TEST(BugCases, BothRandomNodesStay) {
  EXPECT_EQ(count_of(case_rewritten("equal_random_nodes").after, "RandomUniformLike"), 2U);
}

TEST(BugCases, PadsThatAConvCannotDoStay) {
  for (const char* name : {"negative_pad_conv", "pad_with_two_conv", "zero_pad_before_maxpool"})
    EXPECT_EQ(count_of(case_rewritten(name).after, "Pad"), 1U) << name;
}

TEST(BugCases, InlinedBranchesHaveUniqueNames) {
  const auto done = case_rewritten("two_ifs_one_set_of_names");
  EXPECT_EQ(count_of(done.after, "If"), 0U);
  std::vector<std::string> names;
  for (const auto id : done.after.graph().order()) names.push_back(done.after.graph().node(id).name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(BugCases, TheBatchStaysOpen) {
  const auto done = case_rewritten("dynamic_batch");
  EXPECT_EQ(to_text(done.after.graph().value(done.after.graph().outputs()[0]).type), "float32[N,6]");
}

}  // namespace
