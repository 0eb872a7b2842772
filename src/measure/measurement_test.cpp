// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "measure/coordinator.h"
#include "measure/measure.h"

namespace hone::measure {
namespace {

TEST(Comparison, RoundTripsThroughJson) {
  Comparison c;
  c.outcome = Outcome::kSlower;
  c.decision = Decision::kRollBack;
  c.speedup = {.9, .85, std::numeric_limits<double>::infinity()};
  c.looks = {look_at({{.1, .2}, {.3, .1}, {.2, .2}, {.1, .1}}, {}, 0)};
  c.pairs = {{.1, .2}, {.3}};
  c.place = "far";
  c.a = spread_of({3, 1, 2});
  c.a_ms = 1.5, c.sd = .02, c.retries = 3, c.b_peak_bytes = 77;
  c.warnings = {"measured in far"};
  c.protocol_hash = "abc";
  auto read = Comparison::from_json(c.to_json());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(dump_json(read->to_json()), dump_json(c.to_json()));
  EXPECT_EQ(read->outcome, Outcome::kSlower);
  EXPECT_TRUE(std::isinf(read->speedup.high));
}

TEST(Comparison, DamagedJsonIsAnError) {
  Json value = Comparison().to_json();
  value["outcome"] = "better";
  EXPECT_EQ(Comparison::from_json(value).error().kind, ErrorKind::kBadInput);
  value = Comparison().to_json();
  value.erase("a_ms");
  EXPECT_FALSE(Comparison::from_json(value));
}

TEST(Measurement, RoundTripsThroughJson) {
  Measurement m;
  m.samples_ms = {1, 2, 3.25};
  m.execute_ms = spread_of(m.samples_ms);
  m.d2h_ms = m.execute_ms;
  m.place = "one";
  m.peak_memory_bytes = 1 << 30;
  auto read = Measurement::from_json(m.to_json());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(dump_json(read->to_json()), dump_json(m.to_json()));
}

TEST(Spread, IsOfTheSortedSamples) {
  const Spread spread = spread_of({5, 1, 3, 2, 4});
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.q25, 2);
  EXPECT_EQ(spread.median, 3);
  EXPECT_NEAR(spread.p95, 4.8, 1e-12);
  EXPECT_EQ(spread.mean, 3);
  EXPECT_EQ(spread.samples, 5);
  EXPECT_EQ(spread_of({}).samples, 0);
}

}  // namespace
}  // namespace hone::measure
