// SPDX-License-Identifier: Apache-2.0
#include "run/plan.h"

#include <gtest/gtest.h>

namespace hone::run {
namespace {

TEST(Goal, ReadsWhatTheCommandLineTakes) {
  EXPECT_EQ(Goal::parse("latency=5ms").value(), (Goal{Goal::Kind::kLatencyMs, 5}));
  EXPECT_EQ(Goal::parse("latency=500us").value(), (Goal{Goal::Kind::kLatencyMs, 0.5}));
  EXPECT_EQ(Goal::parse("speedup=2x").value(), (Goal{Goal::Kind::kSpeedup, 2}));
  EXPECT_EQ(Goal::parse("speedup=1.5").value(), (Goal{Goal::Kind::kSpeedup, 1.5}));
  EXPECT_EQ(Goal::parse("memory=500MB").value(), (Goal{Goal::Kind::kMemoryBytes, 5e8}));
}

TEST(Goal, WritesWhatItReads) {
  for (const char* text : {"latency=0.5ms", "speedup=2x", "memory=500MB"})
    EXPECT_EQ(Goal::parse(text).value().text(), text);
}

TEST(Goal, RefusesWhatIsNoGoal) {
  for (const char* text : {"", "latency", "latency=", "latency=5", "latency=-5ms", "latency=nanms", "speed=2x",
                           "memory=5ms", "speedup=2x3"})
    EXPECT_FALSE(Goal::parse(text).has_value()) << text;
}

TEST(Plan, ReadsBackFromItsJson) {
  Plan plan;
  plan.model = "/models/m.onnx";
  plan.data = "/data";
  plan.shapes = {{"x", {1, 3, 224, 224}}};
  plan.engines = {"onnxruntime", "openvino"};
  plan.goal = Goal{Goal::Kind::kLatencyMs, 4.25};
  plan.budget_s = 600;
  plan.gate.min_cosine = 0.999;
  plan.only = {"threads"};
  plan.seed = 0xffffffffffffffffull;
  plan.keep = Keep::kLogs;
  const Plan back = Plan::from_json(parse_json(dump_json(plan.to_json()), "").value()).value();
  EXPECT_EQ(dump_json(back.to_json()), dump_json(plan.to_json()));
  EXPECT_EQ(back.seed, plan.seed);
  EXPECT_EQ(back.shapes, plan.shapes);
  EXPECT_EQ(back.gate.min_cosine, 0.999);
  EXPECT_EQ(back.goal, plan.goal);
}

TEST(Plan, RefusesAnotherDocument) { EXPECT_FALSE(Plan::from_json(Json{{"model", 3}}).has_value()); }

}  // namespace
}  // namespace hone::run
