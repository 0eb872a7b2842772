// SPDX-License-Identifier: Apache-2.0
#include "run/layout.h"

#include <gtest/gtest.h>

namespace hone::run {
namespace {

TEST(RunFolder, GetsASuffixWhenTheNameIsTaken) {
  const ScratchFolder scratch = ScratchFolder::create("hone-test").value();
  const fs::path runs = scratch.path() / "runs";
  EXPECT_EQ(make_run_folder(runs, "/m/My Model v2.onnx", "20260131").value(),
            runs / "20260131_my-model-v2_optimization");
  EXPECT_EQ(make_run_folder(runs, "/m/My Model v2.onnx", "20260131").value(),
            runs / "20260131_my-model-v2_optimization_2");
  EXPECT_EQ(make_run_folder(runs, "/m/My Model v2.onnx", "20260131").value(),
            runs / "20260131_my-model-v2_optimization_3");
}

TEST(PatchName, HasThreeDigitsAndTheChange) {
  EXPECT_EQ(patch_name(7, "fuse-gelu"), "patch_007_fuse-gelu");
  EXPECT_EQ(patch_name(1234, "fuse-gelu"), "patch_1234_fuse-gelu");
}

TEST(Paths, InsideTheRunAreRelativeAndComeBack) {
  EXPECT_EQ(portable("/runs/a/step3/m.onnx", "/runs/a"), "step3/m.onnx");
  EXPECT_EQ(located("step3/m.onnx", "/runs/a"), "/runs/a/step3/m.onnx");
}

TEST(Paths, OutsideTheRunStayAsTheyAre) {
  EXPECT_EQ(portable("/models/m.onnx", "/runs/a"), "/models/m.onnx");
  EXPECT_EQ(portable("/runs/ab/m.onnx", "/runs/a"), "/runs/ab/m.onnx");
  EXPECT_EQ(located("/models/m.onnx", "/runs/a"), "/models/m.onnx");
}

TEST(HalfMadeFiles, AreRemovedAtAnyDepthAndNothingElse) {
  const ScratchFolder scratch = ScratchFolder::create("hone-test").value();
  const fs::path deep = scratch.path() / "a" / "b";
  ASSERT_TRUE(make_directories(deep).has_value());
  ASSERT_TRUE(make_directories(scratch.path() / "best.tmp").has_value());
  ASSERT_TRUE(write_file(deep / "kept.json", "x").has_value());
  ASSERT_TRUE(write_file(deep / "half.json.123.tmp", "x").has_value());
  ASSERT_TRUE(write_file(scratch.path() / "best.tmp" / "model.onnx", "x").has_value());
  const auto removed = remove_half_made(scratch.path()).value();
  EXPECT_EQ(removed, (std::vector<std::string>{"a/b/half.json.123.tmp", "best.tmp"}));
  EXPECT_TRUE(fs::exists(deep / "kept.json"));
  EXPECT_FALSE(fs::exists(scratch.path() / "best.tmp"));
}

}  // namespace
}  // namespace hone::run
