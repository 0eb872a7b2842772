// ONNX Runtime profiles: real ones against tables made by another program, and the ways they can be broken.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/file.h"
#include "profile/profile_test_support.h"

namespace hone::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An If node around the Conv of its branch, then a MatMul, inside one inference of 440 us.
constexpr std::string_view kNested = R"([
{"cat":"Session","pid":1,"tid":1,"dur":1000,"ts":1,"ph":"X","name":"session_initialization","args":{}},
{"cat":"Node","pid":1,"tid":1,"dur":250,"ts":2020,"ph":"X","name":"inner_conv_kernel_time","args":{"op_name":"Conv"}},
{"cat":"Node","pid":1,"tid":1,"dur":300,"ts":2010,"ph":"X","name":"if_kernel_time","args":{"op_name":"If"}},
{"cat":"Node","pid":1,"tid":1,"dur":0,"ts":2311,"ph":"X","name":"mm_fence_before","args":{"op_name":"MatMul"}},
{"cat":"Node","pid":1,"tid":1,"dur":100,"ts":2312,"ph":"X","name":"mm_kernel_time","args":{"op_name":"MatMul"}},
{"cat":"Session","pid":1,"tid":1,"dur":420,"ts":2005,"ph":"X","name":"SequentialExecutor::Execute","args":{}},
{"cat":"Session","pid":1,"tid":1,"dur":440,"ts":2000,"ph":"X","name":"model_run","args":{}}
])";

std::map<std::string, int64_t> self_us(const Profile& profile) {
  std::map<std::string, int64_t> sums;
  for (const Kernel& kernel : profile.kernels) sums[std::string(profile.text(kernel.type))] += kernel.self_ns / 1000;
  return sums;
}

TEST(OnnxRuntimeTrace, BodiesOfControlFlowAreCountedOnce) {
  const Profile profile = read_text(kNested).value();
  EXPECT_EQ(self_us(profile), (std::map<std::string, int64_t>{{"Conv", 250}, {"If", 50}, {"MatMul", 100}}));
  const Operators sums = operators(profile);
  EXPECT_EQ(sums.wall_ns, 440'000);
  EXPECT_EQ(sums.busy_ns, 400'000);
  EXPECT_EQ(sums.kernel_ns, 400'000);
}

TEST(OnnxRuntimeTrace, SessionRowsAreHostTimeAndFencesAreNothing) {
  const Profile profile = read_text(kNested).value();
  ASSERT_EQ(profile.kernels.size(), 3u);
  ASSERT_EQ(profile.host.size(), 2u);
  EXPECT_EQ(profile.text(profile.host[0].name), "session_initialization");
  EXPECT_EQ(profile.host[0].step, -1);
  EXPECT_EQ(profile.host[1].step, 0);
  EXPECT_EQ(profile.format, "onnxruntime_trace");
  EXPECT_TRUE(profile.has(Capability::kTimeline));
  EXPECT_FALSE(profile.has(Capability::kShapes));
}

TEST(OnnxRuntimeTrace, AParentWhoseRowComesFirstNestsTheSame) {
  // Newer versions may order rows by start; equal start and length only nests in the order of ending.
  const Profile profile = read_text(R"([
{"cat":"Node","pid":1,"tid":1,"dur":300,"ts":10,"name":"if_kernel_time","args":{"op_name":"If"}},
{"cat":"Node","pid":1,"tid":1,"dur":250,"ts":20,"name":"conv_kernel_time","args":{"op_name":"Conv"}},
{"cat":"Session","pid":1,"tid":1,"dur":440,"ts":0,"name":"model_run","args":{}}])")
                              .value();
  EXPECT_EQ(self_us(profile), (std::map<std::string, int64_t>{{"Conv", 250}, {"If", 50}}));
}

TEST(OnnxRuntimeTrace, AChildThatFillsItsParentLeavesItNothing) {
  const Profile profile = read_text(R"([
{"cat":"Node","pid":1,"tid":1,"dur":20,"ts":10,"name":"conv_kernel_time","args":{"op_name":"Conv"}},
{"cat":"Node","pid":1,"tid":1,"dur":20,"ts":10,"name":"if_kernel_time","args":{"op_name":"If"}},
{"cat":"Session","pid":1,"tid":1,"dur":40,"ts":0,"name":"model_run","args":{}}])")
                              .value();
  EXPECT_EQ(self_us(profile), (std::map<std::string, int64_t>{{"Conv", 20}, {"If", 0}}));
}

TEST(OnnxRuntimeTrace, KernelsOfOtherThreadsAreNotChildren) {
  const Profile profile = read_text(R"([
{"cat":"Node","pid":1,"tid":7,"dur":100,"ts":10,"name":"a_kernel_time","args":{"op_name":"MatMul"}},
{"cat":"Node","pid":1,"tid":8,"dur":50,"ts":20,"name":"b_kernel_time","args":{"op_name":"Conv"}},
{"cat":"Session","pid":1,"tid":7,"dur":200,"ts":0,"name":"model_run","args":{}}])")
                              .value();
  EXPECT_EQ(self_us(profile), (std::map<std::string, int64_t>{{"Conv", 50}, {"MatMul", 100}}));
  const Operators sums = operators(profile);
  EXPECT_EQ(sums.busy_ns, 100'000);
  EXPECT_EQ(sums.kernel_ns, 150'000);
}

TEST(OnnxRuntimeTrace, ShapesAndTypesOfInputsAndOutputsAreRead) {
  const Profile profile = read_text(R"([
{"cat":"Node","pid":1,"tid":1,"dur":2,"ts":3,"name":"g_kernel_time","args":{"op_name":"Gather","node_index":"4",
 "input_type_shape":[{"float":[30,4]},{"int64":[]},{"double":[0]}],"output_type_shape":[{"float":[4]}]}},
{"cat":"Session","pid":1,"tid":1,"dur":9,"ts":0,"name":"model_run","args":{}}])")
                              .value();
  const Kernel& kernel = profile.kernels.at(0);
  EXPECT_EQ(profile.text(kernel.shapes), "30x4,,0");
  EXPECT_EQ(profile.text(kernel.dtypes), "float32,int64,float64");
  EXPECT_EQ(profile.text(kernel.output_shapes), "4");
  EXPECT_TRUE(profile.has(Capability::kShapes));
}

TEST(OnnxRuntimeTrace, AFileWithoutItsClosingBracketIsReadWithANote) {
  const Profile profile = read_text(kNested.substr(0, kNested.rfind(']'))).value();
  EXPECT_EQ(profile.kernels.size(), 3u);
  EXPECT_THAT(profile.notes, ElementsAre(HasSubstr("cut off at byte")));
}

TEST(OnnxRuntimeTrace, AFileCutInsideAnEventKeepsTheWholeEvents) {
  const size_t cut = kNested.find("mm_kernel_time");
  const Profile profile = read_text(kNested.substr(0, cut)).value();
  EXPECT_EQ(profile.kernels.size(), 2u);
  EXPECT_THAT(profile.notes, ElementsAre(HasSubstr("the 4 whole events before it are used"),
                                         HasSubstr("inferences are not told apart")));
}

TEST(OnnxRuntimeTrace, AFileCutAnywhereIsReadOrRefusedButNeverWrong) {
  for (size_t cut = 0; cut <= kNested.size(); ++cut) {
    const auto profile = read_text(kNested.substr(0, cut));
    if (!profile) continue;
    for (const auto& [type, us] : self_us(*profile)) ASSERT_LE(us, 300) << type << " cut at " << cut;
  }
}

TEST(OnnxRuntimeTrace, GarbageInsideIsAnErrorWithItsByte) {
  std::string text(kNested);
  const size_t at = text.find("{\"cat\":\"Node\"");
  text[at] = '?';
  EXPECT_THAT(error_line(text), HasSubstr("not an event at byte " + std::to_string(at)));
}

TEST(OnnxRuntimeTrace, AnEventThatCanNotBeReadNamesItsByte) {
  std::string text(kNested);
  const size_t at = text.find("{\"cat\":\"Node\"");
  text.replace(text.find("\"dur\":250"), 9, "\"dur\":2.5");
  EXPECT_THAT(error_line(text), HasSubstr("byte " + std::to_string(at)));
}

TEST(OnnxRuntimeTrace, FewUnreadableEventsAreSkippedAndTold) {
  std::string text = "[\n{\"cat\":\"Session\",\"tid\":1,\"dur\":900,\"ts\":0,\"name\":\"model_run\",\"args\":{}}";
  for (int i = 0; i < 120; ++i)
    text += R"(,{"cat":"Node","tid":1,"dur":3,"ts":)" + std::to_string(5 * i) +
            R"(,"name":"n_kernel_time","args":{"op_name":"Add"}})";
  text += R"(,{"cat":"Node","tid":1,"dur":-3,"ts":700,"name":"n_kernel_time","args":{"op_name":"Add"}}])";
  const Profile profile = read_text(text).value();
  EXPECT_EQ(profile.kernels.size(), 120u);
  EXPECT_EQ(profile.rows_skipped, 1);
  EXPECT_THAT(profile.notes, ElementsAre(HasSubstr("1 of 122 events skipped")));
}

TEST(OnnxRuntimeTrace, TimesThatCanNotBeAreNoTimes) {
  for (const char* number : {"9223372036854775807", "-1", "99999999999999999999"}) {
    std::string text(kNested);
    text.replace(text.find("250"), 3, number);
    EXPECT_THAT(error_line(text), HasSubstr("can't be read")) << number;
  }
}

TEST(OnnxRuntimeTrace, EmptyAndForeignFilesAreRefusedInOneLine) {
  EXPECT_THAT(error_line(""), HasSubstr("empty file"));
  EXPECT_THAT(error_line("[{\"a\":1}]"), HasSubstr("not a profile of a known format"));
  EXPECT_THAT(error_line(R"([{"cat":"Session","tid":1,"dur":9,"ts":0,"name":"model_run","args":{}}])"),
              HasSubstr("no kernel rows"));
}

TEST(OnnxRuntimeTrace, ARealProfileWithNestedIfsGivesTheExpectedTable) {
  EXPECT_EQ(table_of("onnxruntime_silero_vad.json"), expected_table("onnxruntime_silero_vad.expected"));
}

TEST(OnnxRuntimeTrace, ARealProfileOfTwoThreadsGivesTheExpectedTable) {
  EXPECT_EQ(table_of("onnxruntime_orient_lcnet_parallel.json"),
            expected_table("onnxruntime_orient_lcnet_parallel.expected"));
}

}  // namespace
}  // namespace hone::profile
