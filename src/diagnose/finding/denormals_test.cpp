// denormals: subnormal weights.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::HasSubstr;

std::string product(int subnormal, int normal) {
  std::vector<std::string> values(static_cast<size_t>(subnormal), "1e-40");
  values.insert(values.end(), static_cast<size_t>(normal), "0.5");
  return fmt::format("agraph (float[1,{0}] x) => (float[1,1] y) <float[{0},1] w = {{{1}}}> {{ [mm] y = MatMul(x, w) }}",
                     subnormal + normal, fmt::join(values, ","));
}

TEST(Denormals, AThousandthOfTheWeightsIsTold) {
  const Diagnosis d = diagnosed(product(1, 999), {{"mm", "MatMul", 50}}, 100);
  const Finding* f = d.find("denormals");
  ASSERT_NE(f, nullptr);
  EXPECT_THAT(f->evidence, HasSubstr("1 of 1000 float32 weights"));
  EXPECT_NEAR(f->share, 0.5, 1e-9);
}

TEST(Denormals, FewerOrNoneAreNot) {
  EXPECT_EQ(diagnosed(product(1, 1000), {{"mm", "MatMul", 50}}, 100).find("denormals"), nullptr);
  EXPECT_EQ(diagnosed(product(0, 10), {{"mm", "MatMul", 50}}, 100).find("denormals"), nullptr);
}

TEST(Denormals, ZeroIsNoSubnormalNumber) {
  EXPECT_EQ(diagnosed("agraph (float[1,2] x) => (float[1,1] y) <float[2,1] w = {0.0, -0.0}> { [mm] y = MatMul(x, w) }",
                      {{"mm", "MatMul", 50}}, 100)
                .find("denormals"),
            nullptr);
}

}  // namespace
}  // namespace hone::diagnose
