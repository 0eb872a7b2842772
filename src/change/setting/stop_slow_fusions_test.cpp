// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "change/setting/slow_fusions.h"
#include "support/context.h"

namespace {

using hone::test::TestContext;

TEST(StopSlowFusions, NamesTheOptimizersWhoseOperatorsTheProfileShows) {
  TestContext context;
  context.diagnosis.operators = {{.node = "a", .type = "SkipLayerNormalization", .share = 0.12},
                                 {.node = "b", .type = "Gemm", .share = 0.7},
                                 {.node = "c", .type = "SkipLayerNormalization", .share = 0.08}};
  const auto proposals = context.proposals("stop-slow-fusions");
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].params.at("config.optimization.disable_specified_optimizers"), "SkipLayerNormFusion");
  // A fifth of the time, of which a quarter stays.
  EXPECT_NEAR(proposals[0].predicted, 1 / 0.85, 1e-9);
  EXPECT_NEAR(proposals[0].upper_bound, 1 / 0.8, 1e-9);
}

TEST(StopSlowFusions, NamesBothWhereBothAre) {
  TestContext context;
  context.diagnosis.operators = {{.type = "BiasGelu", .share = 0.06}, {.type = "SkipLayerNormalization", .share = 0.1}};
  EXPECT_EQ(context.proposals("stop-slow-fusions")[0].params.at("config.optimization.disable_specified_optimizers"),
            "SkipLayerNormFusion;BiasGeluFusion");
}

TEST(StopSlowFusions, HasNothingToDoWithoutThem) {
  TestContext context;
  context.diagnosis.operators = {{.type = "LayerNormalization", .share = 0.1}};
  std::string why;
  EXPECT_TRUE(context.proposals("stop-slow-fusions", &why).empty());
  EXPECT_EQ(why, "the profile has no SkipLayerNormalization and no BiasGelu");
}

TEST(StopSlowFusions, SeesInAGraphWhatTheOptimizerWouldFuse) {
  const auto of = [](const char* body) {
    const auto model = hone::model::Model::from_text(
        std::string("<ir_version: 8, opset_import: [\"\" : 20]> g (float[2,4] x, float[2,4] r) => (float[2,4] y) "
                    "<float[4] g = {1, 1, 1, 1}, float[4] b = {1, 2, 3, 4}> { ") +
        body + " }");
    return hone::change::slow_fusions_of(model.value().graph());
  };
  EXPECT_EQ(of("s = Add(x, r) y = LayerNormalization(s, g)"), "SkipLayerNormFusion");
  EXPECT_EQ(of("s = Add(x, b) t = Gelu(s) u = Add(t, r) y = LayerNormalization(u, g)"),
            "SkipLayerNormFusion;BiasGeluFusion");
  EXPECT_EQ(of("n = LayerNormalization(x, g) y = Gelu(n)"), "");
}

}  // namespace
