// unfused_norm: a normalization written out.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kNorm = R"(agraph (float[8,16] x, float[8,16] z) => (float[8,16] y)
                              <float two = {2.0}, float eps = {0.00001}, float[1] g = {1.5}, float[1] b = {0.5}> {
  [residual] r = Add(x, z)
  [mean] m = ReduceMean<axes = [-1]>(r)
  [center] d = Sub(r, m)
  [square] p = Pow(d, two)
  [var] v = ReduceMean<axes = [-1]>(p)
  [eps_] e = Add(v, eps)
  [root] s = Sqrt(e)
  [div] n = Div(d, s)
  [gain] h = Mul(n, g)
  [shift] y = Add(h, b)
})";

std::vector<Ran> separate() {
  std::vector<Ran> runs;
  for (const auto& [name, type] : std::vector<std::pair<std::string, std::string>>{{"residual", "Add"},
                                                                                   {"mean", "ReduceMean"},
                                                                                   {"center", "Sub"},
                                                                                   {"square", "Pow"},
                                                                                   {"var", "ReduceMean"},
                                                                                   {"eps_", "Add"},
                                                                                   {"root", "Sqrt"},
                                                                                   {"div", "Div"},
                                                                                   {"gain", "Mul"},
                                                                                   {"shift", "Add"}})
    runs.push_back({name, type, 5});
  return runs;
}

TEST(UnfusedNorm, TheWholeChainIsToldWithoutTheResidual) {
  const Diagnosis d = diagnosed(kNorm, separate(), 100);
  const Finding* f = d.find("unfused_norm");
  ASSERT_NE(f, nullptr);
  EXPECT_NEAR(f->share, 0.45, 1e-9);
  EXPECT_THAT(f->nodes,
              UnorderedElementsAre("mean", "center", "square", "var", "eps_", "root", "div", "gain", "shift"));
  EXPECT_THAT(f->evidence, HasSubstr("1 normalization(s)"));
}

TEST(UnfusedNorm, OneThatTheEngineFusedIsNot) {
  EXPECT_EQ(diagnosed(kNorm, {{"mean/LayerNormFusion/", "LayerNormalization", 45}}, 100).find("unfused_norm"), nullptr);
}

TEST(UnfusedNorm, ASquareRootOfSomethingElseIsNot) {
  EXPECT_EQ(diagnosed("agraph (float[8] x) => (float[8] y) { [root] s = Sqrt(x) [div] y = Div(x, s) }",
                      {{"root", "Sqrt", 40}, {"div", "Div", 40}}, 100)
                .find("unfused_norm"),
            nullptr);
}

}  // namespace
}  // namespace hone::diagnose
