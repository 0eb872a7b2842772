// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"move-heads-into-attention"};

std::string graph(const std::string& attention, const std::string& output = "float[b, s, 8] y") {
  return "agraph (float[b, s, 8] q, float[b, t, 4] k, float[b, t, 4] v, float[1, 1, s, t] m) => (" + output +
         ") "
         "<int64[4] heads = {0, 0, 2, 4}, int64[4] key_heads = {0, 0, 1, 4}, int64[3] merged = {0, 0, 8}> { "
         "q4 = Reshape(q, heads) qh = Transpose<perm = [0, 2, 1, 3]>(q4) k4 = Reshape(k, key_heads) kh = "
         "Transpose<perm = [0, 2, 1, 3]>(k4) "
         "v4 = Reshape(v, key_heads) vh = Transpose<perm = [0, 2, 1, 3]>(v4) " +
         attention + " }";
}

TEST(MoveHeadsIntoAttention, TakesTheTransposesOut) {
  const auto done = rewritten(kRule,
                              graph("o = Attention<scale = 0.5>(qh, kh, vh, m) ot = Transpose<perm = [0, 2, 1, 3]>(o) "
                                    "y = Reshape(ot, merged)"),
                              23);
  EXPECT_EQ(done.lines, "y = Attention<kv_num_heads=1, q_num_heads=2, scale=0.5>(q, k, v, m)\n");
  expect_same_outputs(done, kRule);
}

TEST(MoveHeadsIntoAttention, SaysWhyNot) {
  const auto not_back = rewritten(kRule, graph("y = Attention(qh, kh, vh, m)", "float[b, 2, s, 4] y"), 23);
  EXPECT_THAT(not_back.why, ElementsAre("Attention -> y: the result of Attention -> y is not only transposed back"));
  const auto other = rewritten(
      kRule,
      graph("r = Relu(qh) o = Attention(r, kh, vh, m) y = Transpose<perm = [0, 2, 1, 3]>(o)", "float[b, s, 2, 4] y"),
      23);
  EXPECT_THAT(other.why,
              ElementsAre("Attention -> o: input 0 of Attention -> o is 'r' of Relu -> r, not a Transpose [0,2,1,3]"));
}

}  // namespace
