// side_effect_ops: moving and converting data takes a twentieth.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kMoves = R"(agraph (float[10,10] x) => (float[10,10] y) {
  [t] a = Transpose(x)
  [c] b = Cast<to = 1>(a)
  [r] y = Relu(b)
})";

TEST(SideEffectOps, TransposesCastsAndReordersAddUp) {
  const Diagnosis d =
      diagnosed(kMoves, {{"t", "Transpose", 2}, {"c", "Cast", 2}, {"o", "ReorderOutput", 2}, {"r", "Relu", 90}}, 100);
  const Finding* f = d.find("side_effect_ops");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.06, 1e-9);
  EXPECT_NEAR(f->upper_bound, 100.0 / 94, 1e-9);
  EXPECT_THAT(f->evidence, HasSubstr("ReorderOutput 0.002 ms (1 x)"));
  EXPECT_THAT(f->nodes, UnorderedElementsAre("t", "c"));
}

TEST(SideEffectOps, LittleOfItIsNot) {
  EXPECT_EQ(diagnosed(kMoves, {{"t", "Transpose", 4}, {"r", "Relu", 90}}, 100).find("side_effect_ops"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
