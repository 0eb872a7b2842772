// unfused_activation: GELU, SiLU and hard swish written out.
// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

double share_of(const std::string& body, const std::string& constants, const std::vector<Ran>& kernels) {
  const Diagnosis d = diagnosed("agraph (float[8] x) => (float[8] y) <" + constants + "> {" + body + "}", kernels, 100);
  const Finding* f = d.find("unfused_activation");
  return f == nullptr ? 0 : f->share;
}

TEST(UnfusedActivation, GeluByErf) {
  EXPECT_NEAR(share_of("[a] a = Div(x, r) [b] b = Erf(a) [c] c = Add(b, one) [d] d = Mul(x, c) [e] y = Mul(d, half)",
                       "float r = {1.4142}, float one = {1.0}, float half = {0.5}",
                       {{"a", "Div", 5}, {"b", "Erf", 5}, {"c", "Add", 5}, {"d", "Mul", 5}, {"e", "Mul", 5}}),
              0.25, 1e-9);
}

TEST(UnfusedActivation, GeluByTanhButNotTheBiasBefore) {
  EXPECT_NEAR(share_of("[bias] b = Add(x, one) [a] c = Mul(b, b) [c] d = Mul(c, b) [d] e = Mul(d, k) [e] f = Add(b, e) "
                       "[f] g = Mul(f, r) [g] h = Tanh(g) [h] i = Add(h, one) [i] j = Mul(i, half) [j] y = Mul(b, j)",
                       "float one = {1.0}, float k = {0.0447}, float r = {0.7979}, float half = {0.5}",
                       {{"bias", "Add", 5},
                        {"a", "Mul", 5},
                        {"c", "Mul", 5},
                        {"d", "Mul", 5},
                        {"e", "Add", 5},
                        {"f", "Mul", 5},
                        {"g", "Tanh", 5},
                        {"h", "Add", 5},
                        {"i", "Mul", 5},
                        {"j", "Mul", 5}}),
              0.45, 1e-9);
}

TEST(UnfusedActivation, SiluAndHardSwish) {
  EXPECT_NEAR(
      share_of("[a] a = Sigmoid(x) [b] y = Mul(x, a)", "float one = {1.0}", {{"a", "Sigmoid", 5}, {"b", "Mul", 5}}),
      0.1, 1e-9);
  EXPECT_NEAR(share_of("[a] a = Add(x, three) [b] b = Clip(a, zero, six) [c] c = Mul(x, b) [d] y = Div(c, six)",
                       "float three = {3.0}, float zero = {0.0}, float six = {6.0}",
                       {{"a", "Add", 5}, {"b", "Clip", 5}, {"c", "Mul", 5}, {"d", "Div", 5}}),
              0.2, 1e-9);
}

TEST(UnfusedActivation, WhatOnlyLooksLikeOneIsNot) {
  EXPECT_EQ(
      share_of("[a] a = Sigmoid(x) [b] y = Mul(a, half)", "float half = {0.5}", {{"a", "Sigmoid", 5}, {"b", "Mul", 5}}),
      0);  // no gate
  EXPECT_EQ(share_of("[a] a = Tanh(x) [b] b = Add(a, one) [c] y = Mul(x, b)", "float one = {1.0}",
                     {{"a", "Tanh", 5}, {"b", "Add", 5}, {"c", "Mul", 5}}),
            0);  // no cube
  EXPECT_EQ(
      share_of("[a] a = Add(x, three) [b] y = Clip(a, zero, six)",
               "float three = {3.0}, float zero = {-1.0}, float six = {6.0}", {{"a", "Add", 5}, {"b", "Clip", 5}}),
      0);  // another clip
}

TEST(UnfusedActivation, OneThatTheEngineFusedIsNot) {
  EXPECT_EQ(share_of("[a] a = Sigmoid(x) [b] y = Mul(x, a)", "float one = {1.0}", {{"a", "QuickGelu", 10}}), 0);
}

}  // namespace
}  // namespace hone::diagnose
