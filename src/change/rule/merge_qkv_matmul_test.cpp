// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kRule = {"merge-qkv-matmul"};

TEST(MergeQkvMatmul, MergesProductsWithTheirBiases) {
  const auto done = rewritten(kRule, R"(agraph (float[B, S, 2] x) => (float[B, S, 2] y)
    <float[2, 2] wq = {1, 2, 3, 4}, float[2, 2] wk = {5, 6, 7, 8}, float[2, 1] wv = {9, 10}, float[2] bq = {1, 2}, float[1] bv = {3}> {
    q0 = MatMul(x, wq) q = Add(bq, q0) k = MatMul(x, wk) v0 = MatMul(x, wv) v = Add(v0, bv) t = Add(q, k) y = Add(t, v) })");
  EXPECT_EQ(done.lines,
            "%1 = MatMul(x, float32[2,5])\n"
            "%2 = Add(%1, {1,2,0,0,3})\n"
            "%3, %4, %5 = Split<axis=-1>(%2, int64{2,2,1})\n"
            "%6 = Add(%3, %4)\n"
            "y = Add(%6, %5)\n");
  EXPECT_THAT(done.why, IsEmpty());
  expect_same_outputs(done, kRule);
}

TEST(MergeQkvMatmul, SplitsByAttributeBelowOpset13) {
  const auto done = rewritten(kRule, R"(agraph (float[B, 2] x) => (float[B, 2] y)
    <float[2, 2] wq = {1, 2, 3, 4}, float[2, 2] wk = {5, 6, 7, 8}> { q = MatMul(x, wq) k = MatMul(x, wk) y = Add(q, k) })",
                              11);
  EXPECT_EQ(done.lines,
            "%1 = MatMul(x, [2,4]{1,2,5,6,3,4,7,8})\n"
            "%2, %3 = Split<axis=-1, split=[2,2]>(%1)\n"
            "y = Add(%2, %3)\n");
  expect_same_outputs(done, kRule);
}

TEST(MergeQkvMatmul, LeavesProductsOfDifferentValuesAlone) {
  const auto done = rewritten(kRule, R"(agraph (float[B, 2] x, float[B, 2] z) => (float[B, 2] y)
    <float[2, 2] wq = {1, 2, 3, 4}, float[2, 2] wk = {5, 6, 7, 8}> { q = MatMul(x, wq) k = MatMul(z, wk) y = Add(q, k) })");
  EXPECT_EQ(done.fired, 0U);
}

TEST(MergeQkvMatmul, SaysWhyNot) {
  const auto done = rewritten(kRule, R"(agraph (float[B, 2] x) => (float[B, 2] q, float[B, 2] k)
    <float[2, 2] wq = {1, 2, 3, 4}, float[2, 2] wk = {5, 6, 7, 8}> { q = MatMul(x, wq) k = MatMul(x, wk) })");
  EXPECT_THAT(done.why, ElementsAre("MatMul -> q: 'q' is a graph output"));
}

}  // namespace
