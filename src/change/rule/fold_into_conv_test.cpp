// fold-bn-into-conv, fold-mul-add-into-conv, fold-mul-add-into-next-conv, move-pad-into-conv,
// replace-mul-add-with-conv.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kBn = {"fold-bn-into-conv"};
const std::vector<std::string> kAfter = {"fold-mul-add-into-conv"};
const std::vector<std::string> kBefore = {"fold-mul-add-into-next-conv"};
const std::vector<std::string> kPad = {"move-pad-into-conv"};
const std::vector<std::string> kReplace = {"replace-mul-add-with-conv"};

// float[M, C, 1, 1] weights and per-channel statistics, small and uneven.
constexpr const char* kStatistics =
    "float[2] scale = {1.5, -0.5}, float[2] bias = {0.25, 3}, float[2] mean = {-1, 0.5}, float[2] var = {0.5, 2}";

std::string with_statistics(std::string_view head, std::string_view constants, std::string_view body) {
  return fmt::format("agraph {} <{}{}> {}", head, constants, kStatistics, body);
}

TEST(FoldBnIntoConv, ScalesWeightAndBias) {
  const auto done = rewritten(
      kBn, with_statistics("(float[N,2,3,3] x) => (float[N,2,3,3] y)",
                           "float[2,2,1,1] w = {1, 2, 3, 4}, float[2] b = {0.5, -1}, ",
                           "{ a = Conv(x, w, b) y = BatchNormalization<epsilon = 0.25>(a, scale, bias, mean, var) }"));
  EXPECT_EQ(done.lines, "y = Conv(x, [2,2,1,1]{1.73205,3.4641,-1,-1.33333}, {2.84808,3.5})\n");
  expect_same_outputs(done, kBn);
}

TEST(FoldBnIntoConv, FollowsTheGroupsOfAConvTranspose) {
  // Two groups of one output channel each: the weight's first axis is the input channel.
  const auto done = rewritten(
      kBn, with_statistics("(float[1,4,3,3] x) => (float[?,?,?,?] y)", "float[4,1,2,1] w = {1, 2, 3, 4, 5, 6, 7, 8}, ",
                           "{ a = ConvTranspose<group = 2>(x, w) y = BatchNormalization(a, scale, bias, mean, var) }"));
  EXPECT_EQ(done.fired, 1U);
  expect_same_outputs(done, kBn);
}

TEST(FoldBnIntoConv, RefusesAConvThatIsAGraphOutput) {
  const auto done =
      rewritten(kBn, with_statistics("(float[1,2,3,3] x) => (float[1,2,3,3] y, float[1,2,3,3] a)",
                                     "float[2,2,1,1] w = {1, 2, 3, 4}, ",
                                     "{ a = Conv(x, w) y = BatchNormalization(a, scale, bias, mean, var) }"));
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("BatchNormalization -> y: Conv -> a makes the graph output 'a'"));
}

TEST(FoldBnIntoConv, RefusesASharedWeight) {
  const auto done = rewritten(
      kBn,
      with_statistics("(float[1,2,3,3] x) => (float[1,2,3,3] y, float[1,2,3,3] z)", "float[2,2,1,1] w = {1, 2, 3, 4}, ",
                      "{ a = Conv(x, w) z = Conv(x, w) y = BatchNormalization(a, scale, bias, mean, var) }"));
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("BatchNormalization -> y: the weight 'w' of Conv -> a is read elsewhere too"));
}

TEST(FoldMulAddIntoConv, FoldsScaleAndShiftPerChannel) {
  const auto done = rewritten(kAfter, R"(agraph (float[N,2,3,3] x) => (float[N,2,3,3] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float[2,1,1] c = {2, -1}, float[1,2,1,1] d = {0.5, 0.25}, float e = {4}, float[1] f = {1}> {
    a = Conv(x, w) b = Mul(c, a) g = Add(b, d) h = Div(g, e) y = Sub(h, f) })");
  EXPECT_EQ(done.lines, "y = Conv(x, [2,2,1,1]{0.5,1,-0.75,-1}, {-0.875,-0.9375})\n");
  EXPECT_EQ(done.fired, 4U);
  expect_same_outputs(done, kAfter);
}

TEST(FoldMulAddIntoConv, RefusesAConstantOfTheFullShape) {
  const auto done = rewritten(kAfter, R"(agraph (float[1,2,1,2] x) => (float[1,2,1,2] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float[1,2,1,2] c = {1, 2, 3, 4}> { a = Conv(x, w) y = Add(a, c) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why,
              ElementsAre("Add -> y: the constant of Add -> y has the shape [1,2,1,2], expected one number or one "
                          "per output channel"));
}

TEST(FoldMulAddIntoConv, RefusesAConstantThatWidensTheResult) {
  const auto done = rewritten(kAfter, R"(agraph (float[1,2,1,2] x) => (float[1,1,2,1,2] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float[1,1,1,1,1] c = {1}> { a = Conv(x, w) y = Add(a, c) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_EQ(done.why.size(), 1U);
}

TEST(FoldMulAddIntoNextConv, FoldsIntoAConvThatPadsNothing) {
  const auto done = rewritten(kBefore, R"(agraph (float[N,2,3,3] x) => (float[N,2,3,3] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float[2,1,1] c = {2, -1}, float d = {0.5}> {
    a = Mul(x, c) b = Add(a, d) y = Conv(b, w) })");
  EXPECT_EQ(done.lines, "y = Conv(x, [2,2,1,1]{2,-2,6,-4}, {1.5,3.5})\n");
  expect_same_outputs(done, kBefore);
}

TEST(FoldMulAddIntoNextConv, LeavesTheSumBeforeThePadding) {
  const auto done = rewritten(kBefore, R"(agraph (float[N,2,3,3] x) => (float[N,2,3,3] y)
    <float[2,1,3,1] w = {1, 2, 3, 4, 5, 6}, float c = {2}, float d = {0.5}> {
    a = Mul(x, c) b = Add(a, d) y = Conv<group = 2, pads = [1, 0, 1, 0]>(b, w) })");
  EXPECT_EQ(done.lines, "%1 = Add(x, 0.25)\ny = Conv<group=2, pads=[1,0,1,0]>(%1, [2,1,3,1]{2,4,6,8,10,12})\n");
  EXPECT_THAT(done.why, ElementsAre("Conv -> y: Conv -> y pads with zeros, and Add 'Add' comes before the padding"));
  expect_same_outputs(done, kBefore);
}

TEST(FoldMulAddIntoNextConv, RefusesAProductWithAnotherReader) {
  const auto done = rewritten(kBefore, R"(agraph (float[1,2,3,3] x) => (float[1,2,3,3] y, float[1,2,3,3] z)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float c = {2}> { a = Mul(x, c) y = Conv(a, w) z = Relu(a) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Conv -> y: Mul -> a is read by more than the Conv"));
}

TEST(FoldMulAddIntoNextConv, RefusesToDivideByZero) {
  const auto done = rewritten(kBefore, R"(agraph (float[1,1,3,3] x) => (float[1,1,3,3] y)
    <float[1,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float c = {0}, float d = {0.5}> {
    a = Mul(x, c) b = Add(a, d) y = Conv<pads = [1, 1, 1, 1]>(b, w) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Conv -> y: Mul -> a multiplies by 0"));
}

TEST(MovePadIntoConv, AddsThePadsUp) {
  const auto done = rewritten(kPad, R"(agraph (float[1,1,4,4] x) => (float[?,?,?,?] y)
    <float[1,1,2,2] w = {1, 2, 3, 4}, int64[8] p = {0, 0, 1, 2, 0, 0, 0, 1}> {
    a = Pad(x, p) y = Conv<pads = [1, 1, 1, 1]>(a, w) })");
  EXPECT_EQ(done.lines, "y = Conv<pads=[2,3,1,2]>(x, [1,1,2,2]{1,2,3,4})\n");
  expect_same_outputs(done, kPad);
}

TEST(MovePadIntoConv, KeepsThePadForItsOtherReader) {
  const auto done = rewritten(kPad, R"(agraph (float[1,1,4,4] x) => (float[?,?,?,?] y, float[?,?,?,?] z)
    <float[1,1,2,2] w = {1, 2, 3, 4}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> {
    a = Pad(x, p) y = Conv(a, w) z = MaxPool<kernel_shape = [2, 2]>(a) })");
  EXPECT_EQ(done.fired, 1U);
  EXPECT_NE(done.lines.find("Pad"), std::string::npos);
  expect_same_outputs(done, kPad);
}

TEST(MovePadIntoConv, RefusesAnotherValueACropAndAnotherMode) {
  const auto text = [](std::string_view attributes, std::string_view pads, std::string_view value) {
    return fmt::format(R"(agraph (float[1,1,4,4] x) => (float[?,?,?,?] y)
      <float[1,1,1,1] w = {{1}}, int64[8] p = {{{}}}, float v = {{{}}}> {{ a = Pad{}(x, p, v) y = Conv(a, w) }})",
                       pads, value, attributes);
  };
  EXPECT_THAT(rewritten(kPad, text("", "0,0,1,1,0,0,1,1", "2")).why,
              ElementsAre("Conv -> y: Pad -> a pads with 2, a Conv with 0"));
  EXPECT_THAT(rewritten(kPad, text("", "0,0,-1,1,0,0,1,1", "0")).why,
              ElementsAre("Conv -> y: Pad -> a crops: its pads are [0,0,-1,1,0,0,1,1]"));
  EXPECT_THAT(rewritten(kPad, text("<mode = \"edge\">", "0,0,1,1,0,0,1,1", "0")).why,
              ElementsAre("Conv -> y: Pad -> a pads by edge"));
  EXPECT_THAT(rewritten(kPad, text("", "0,0,1,1,1,0,1,1", "0")).why, ElementsAre("Conv -> y: Pad -> a pads axis 0"));
}

TEST(ReplaceMulAddWithConv, MakesOneDepthwiseConv) {
  const auto done = rewritten(kReplace, R"(agraph (float[N,8,3,3] x) => (float[N,8,3,3] y)
    <float[8,1,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8}, float c = {2}, float[8,1,1] d = {1, 2, 3, 4, 5, 6, 7, 8}> {
    p = Conv<group = 8>(x, w) q = Relu(p) r = Add(q, d) s = Mul(c, r) y = Conv<group = 8>(s, w) })");
  EXPECT_EQ(done.lines,
            "%1 = Conv<group=8>(x, [8,1,1,1]{1,2,3,4,5,6,7,8})\n%2 = Relu(%1)\n"
            "%3 = Conv<group=8, kernel_shape=[1,1]>(%2, [8,1,1,1]{2,2,2,2,2,2,2,2}, {2,4,6,8,10,12,14,16})\n"
            "y = Conv<group=8>(%3, [8,1,1,1]{1,2,3,4,5,6,7,8})\n");
  expect_same_outputs(done, kReplace);
}

TEST(ReplaceMulAddWithConv, LeavesAMulThatIsNotBetweenConvs) {
  const auto done = rewritten(kReplace, R"(agraph (float[N,8,3,3] x) => (float[N,8,3,3] y, float[N,8,3,3] z)
    <float[8,1,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8}, float c = {2}> {
    a = Mul(x, c) y = Conv<group = 8>(a, w) z = Mul(y, c) })");
  EXPECT_EQ(done.fired, 0U);
}

TEST(ReplaceMulAddWithConv, RefusesChannelsThatAreNoBlock) {
  const auto done = rewritten(kReplace, R"(agraph (float[N,2,3,3] x) => (float[N,2,3,3] y)
    <float[2,1,1,1] w = {1, 2}, float c = {2}> { a = Conv<group = 2>(x, w) b = Add(a, c) y = Conv<group = 2>(b, w) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Add -> b: Add -> b has 2 channels, not a multiple of 8"));
}

}  // namespace
