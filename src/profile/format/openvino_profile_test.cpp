// hone.openvino_profile/1: a real recording against its table, and what must be refused.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "profile/profile_test_support.h"

namespace hone::profile {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSmall = R"({"schema": "hone.openvino_profile/1", "version": "2026.4.1",
 "nodes": [{"name": "x", "type": "Parameter", "exec_type": "unknown", "mean_ns": 0},
           {"name": "Multiply_8", "type": "Convolution", "exec_type": "jit", "mean_ns": 4250, "original": ["conv.0", "bn.0"],
            "inputs": [{"dtype": "float32", "dims": [1,3,4,4]}, {"dtype": "float32"}],
            "outputs": [{"dtype": "float32", "dims": []}]}],
 "iterations": [{"wall_ns": 9000}, {"wall_ns": 3000}]})";

TEST(OpenVinoProfile, NodesThatDidNotRunAreNoKernels) {
  const Profile profile = read_text(kSmall).value();
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.text(profile.kernels[0].type), "Convolution");
  EXPECT_EQ(profile.text(profile.kernels[0].node), "conv.0\nbn.0");
  EXPECT_EQ(profile.text(profile.kernels[0].shapes), "1x3x4x4,?");
  EXPECT_EQ(profile.text(profile.kernels[0].output_shapes), "");
  EXPECT_EQ(profile.kernels[0].self_ns, 4250);
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kSmall);
  return text.replace(text.find(from), from.size(), to);
}

TEST(OpenVinoProfile, TheStepIsTheMeanInferenceAndAtLeastAsLongAsItsNodes) {
  const Profile profile = read_text(kSmall).value();
  ASSERT_EQ(profile.steps.size(), 1u);
  EXPECT_EQ(profile.steps[0].duration_ns, 6000);
  EXPECT_FALSE(profile.has(Capability::kTimeline));
  EXPECT_TRUE(profile.has(Capability::kSteps));
  EXPECT_EQ(read_text(with("4250", "7000"))->steps[0].duration_ns, 7000);
}

TEST(OpenVinoProfile, NegativeTimesAndMissingFieldsNameThePlace) {
  EXPECT_THAT(error_line(with("4250", "-4250")), HasSubstr("node 1"));
  EXPECT_THAT(error_line(with("3000", "-3000")), HasSubstr("iteration 1"));
  EXPECT_THAT(error_line(with("\"wall_ns\": 9000", "")), HasSubstr("wall_ns"));
  EXPECT_THAT(error_line(with("\"type\": \"Convolution\", ", "")), HasSubstr("node 1"));
  EXPECT_THAT(error_line(with("\"iterations\": [", "\"iterations\": {")), HasSubstr("JSON"));
  EXPECT_THAT(error_line(with("{\"wall_ns\": 9000}, {\"wall_ns\": 3000}", "")), HasSubstr("no iterations"));
  EXPECT_THAT(error_line(with("4250", "0")), HasSubstr("no kernel rows"));
}

TEST(OpenVinoProfile, ARealRecordingGivesTheExpectedTable) {
  EXPECT_EQ(table_of("openvino_orient_lcnet.json"), expected_table("openvino_orient_lcnet.expected"));
}

}  // namespace
}  // namespace hone::profile
