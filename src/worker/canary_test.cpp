// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "worker/block.h"
#include "worker/counters.h"
#include "worker/worker.h"

namespace hone::worker {
namespace {

TEST(Canary, PingsAndMultipliesOnTwoCpus) {
  const auto cpus = usable_cpus();
  auto canary = run_canary();
  ASSERT_TRUE(canary) << canary.error().line();
  EXPECT_GT(canary->fma_ms[0], 0);
  EXPECT_GT(canary->fma_ms[1], 0);
  if (cpus.size() > 1) {
    EXPECT_GT(canary->ping_ns, 1) << "light needs 1 ns for 30 cm";
  } else {
    EXPECT_EQ(canary->ping_ns, 0);
  }
}

TEST(Canary, OneCpuHasNoPing) {
  auto canary = run_canary({usable_cpus().front()});
  ASSERT_TRUE(canary);
  EXPECT_EQ(canary->ping_ns, 0);
  EXPECT_GT(canary->fma_ms[0], 0);
  EXPECT_EQ(canary->fma_ms[0], canary->fma_ms[1]);
}

TEST(Canary, ACpuThisMachineHasNotIsAnError) {
  EXPECT_FALSE(run_canary({usable_cpus().front(), 1000}));
  EXPECT_FALSE(run_canary({-1}));
  EXPECT_FALSE(run_canary({1 << 20}));
}

TEST(Counters, ReadTheKernelsFormats) {
  EXPECT_NEAR(parse_pressure("some avg10=0.02 avg60=0.31 avg300=1.00 total=46732864\nfull avg10=0.00 total=7\n"),
              46.732864, 1e-9);
  EXPECT_EQ(parse_pressure(""), -1);
  EXPECT_EQ(parse_pressure("some"), -1);
  const char* stat =
      "cpu  100 10 50 2000 9 1 2 33 0 0\ncpu0 60 5 25 1000 4 1 1 30 0 0\ncpu1 40 5 25 1000 5 0 1 3 0 0\n";
  double busy = 0, steal = 0;
  EXPECT_TRUE(parse_cpu_times(stat, -1, 100, &busy, &steal));
  EXPECT_NEAR(busy, 1.63, 1e-9);
  EXPECT_NEAR(steal, .33, 1e-9);
  busy = steal = 0;
  EXPECT_TRUE(parse_cpu_times(stat, 1, 100, &busy, &steal));
  EXPECT_NEAR(busy, .71, 1e-9);
  EXPECT_NEAR(steal, .03, 1e-9);
  EXPECT_FALSE(parse_cpu_times(stat, 7, 100, &busy, &steal));
  EXPECT_FALSE(parse_cpu_times("cpu", 0, 100, &busy, &steal));
}

TEST(Counters, GrowWithWork) {
  const Counters before = read_counters({});
  volatile double sink = 1;
  while (read_counters({}).own_cpu_s < before.own_cpu_s + .02)
    for (int i = 0; i < 100000; ++i) sink = sink * 1.0000001;
  BlockResult block;
  add_difference(before, read_counters({}), &block);
  EXPECT_GE(block.own_cpu_s, .02);
  EXPECT_GE(block.busy_cpu_s, 0);
}

TEST(Counters, WhatTheKernelHasNotStaysUnknown) {
  Counters before, after;
  after.time_s = 1;
  BlockResult block;
  add_difference(before, after, &block);
  EXPECT_EQ(block.pressure, -1);
  EXPECT_EQ(block.run_queue_wait_s, -1);
}

TEST(Summary, QuantilesInterpolateLikeNumpy) {
  BlockResult block;
  summarize({4, 1, 3, 2}, &block);
  EXPECT_EQ(block.iterations, 4);
  EXPECT_DOUBLE_EQ(block.min, 1);
  EXPECT_DOUBLE_EQ(block.q10, 1.3);
  EXPECT_DOUBLE_EQ(block.q25, 1.75);
  EXPECT_DOUBLE_EQ(block.q50, 2.5);
  EXPECT_DOUBLE_EQ(block.q75, 3.25);
  EXPECT_DOUBLE_EQ(block.max, 4);
  EXPECT_DOUBLE_EQ(block.mean, 2.5);
}

TEST(BlockResult, RoundTripsThroughJson) {
  BlockResult block;
  summarize({1.5, 2.5}, &block);
  block.samples_ms = {1.5, 2.5};
  block.before = {41.5, {.4, .5}};
  block.after = {160, {.8, .9}};
  block.pressure = .125, block.minor_faults = 7, block.run_queue_wait_s = .25, block.timed_s = .1;
  auto read = BlockResult::from_json(block.to_json());
  ASSERT_TRUE(read);
  EXPECT_EQ(dump_json(read->to_json()), dump_json(block.to_json()));
  EXPECT_FALSE(BlockResult::from_json(Json::object()));
}

}  // namespace
}  // namespace hone::worker
