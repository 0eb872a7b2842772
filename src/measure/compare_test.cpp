// The public verbs over real worker processes, with the fake engine's own clock (so nothing is timed) and once with a
// real engine.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/calibrate.h"
#include "measure/measure.h"
#include "model/model.h"
#include "protocol/data.h"

namespace hone::measure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FakeEngine : public testing::Test {
 protected:
  FakeEngine() : folder_(*ScratchFolder::create("hone-compare-test")) {
    const fs::path path = folder_.path() / "model.onnx";
    auto model = model::Model::from_text(
        "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[1,4] x) => (float[1,4] y) { y = Relu(x) }");
    EXPECT_TRUE(model && model->save(path));
    EXPECT_TRUE(write_file(path.string() + ".fake.json", "{\"latency_us\": 5000}"));
    a_.engine = b_.engine = "fake";
    a_.model = b_.model = path;
    bench_.data = folder_.path() / "samples";
    bench_.log_dir = folder_.path();
    bench_.seed = 7;
    std::vector<model::NamedTensors> samples(3, {{"x", model::Tensor::of<float>({1, 4}, {1, -2, 3, -4})}});
    EXPECT_TRUE(make_directories(bench_.data));
    EXPECT_TRUE(protocol::write_samples(bench_.data, samples));
  }
  ScratchFolder folder_;
  engine::Configuration a_, b_;
  Bench bench_;
};

TEST_F(FakeEngine, AGainIsKeptAndTheSameComparisonIsTheSameAgain) {
  b_.settings = {{"fake.speed", "1.3"}};
  auto first = compare(a_, b_, bench_);
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_EQ(first->decision, Decision::kKeep);
  EXPECT_NEAR(first->speedup.estimate, 1.3, .03);
  EXPECT_NEAR(first->a_ms, 5, .2);
  EXPECT_EQ(first->place, kFake);
  EXPECT_GT(first->sd, 0) << "the two sides' instances are not the same noise";
  EXPECT_EQ(first->protocol_hash, bench_.protocol.hash());
  auto again = compare(a_, b_, bench_);
  ASSERT_TRUE(again);
  again->seconds = first->seconds;
  EXPECT_EQ(dump_json(again->to_json()), dump_json(first->to_json()));
  bench_.seed = 8;
  EXPECT_NE(compare(a_, b_, bench_)->pairs, first->pairs);
}

TEST_F(FakeEngine, ACopyIsRolledBack) {
  auto comparison = compare(a_, b_, bench_);
  ASSERT_TRUE(comparison) << comparison.error().line();
  EXPECT_EQ(comparison->decision, Decision::kRollBack);
  EXPECT_NE(comparison->outcome, Outcome::kFaster);
}

TEST_F(FakeEngine, ACrashNamesTheSideAndTheSignal) {
  b_.settings = {{"fake.crash", "run"}};
  auto comparison = compare(a_, b_, bench_);
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().kind, ErrorKind::kToolFailed);
  EXPECT_THAT(comparison.error().line(), AllOf(HasSubstr("engine fake crashed: SIGSEGV"), HasSubstr("side B")));
}

TEST_F(FakeEngine, AHangIsATimeout) {
  b_.settings = {{"fake.hang", "open"}};
  bench_.limits.reply = std::chrono::milliseconds(300);
  EXPECT_EQ(compare(a_, b_, bench_).error().kind, ErrorKind::kTimedOut);
}

TEST_F(FakeEngine, AFixedNumberOfPairsGivesAnInterval) {
  b_.settings = {{"fake.speed", "1.1"}};
  auto comparison = compare_fixed(a_, b_, bench_, 5);
  ASSERT_TRUE(comparison) << comparison.error().line();
  EXPECT_EQ(comparison->pairs.size(), 5u);
  EXPECT_LT(comparison->speedup.low, 1.1);
  EXPECT_GT(comparison->speedup.high, 1.1);
}

TEST_F(FakeEngine, MeasuresOneConfiguration) {
  auto measurement = measure(a_, bench_, 2, .3);
  ASSERT_TRUE(measurement) << measurement.error().line();
  EXPECT_NEAR(measurement->execute_ms.median, 5, .3);
  EXPECT_EQ(measurement->execute_ms.samples, static_cast<int64_t>(measurement->samples_ms.size()));
  EXPECT_EQ(measurement->place, kFake);
  EXPECT_EQ(measure(a_, bench_, 2, .3)->samples_ms, measurement->samples_ms);
}

TEST_F(FakeEngine, AScreenIsARoughRatio) {
  b_.settings = {{"fake.speed", "2"}};
  auto ratio = screen(a_, b_, bench_);
  ASSERT_TRUE(ratio) << ratio.error().line();
  EXPECT_NEAR(*ratio, 2, .15);
}

TEST_F(FakeEngine, CalibratesWithAModel) {
  auto report = calibrate_model(a_, bench_, 3);
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_EQ(report->settle_ms, 5) << "it has no warm-up";
  EXPECT_EQ(report->aa.pairs.size(), 3u);
  EXPECT_GT(report->smallest_speedup, 1.03);
}

TEST_F(FakeEngine, CancellingEndsIt) {
  bench_.progress.cancelled = [] { return true; };
  EXPECT_EQ(compare(a_, b_, bench_).error().kind, ErrorKind::kInterrupted);
}

TEST_F(FakeEngine, ARealEngineHasPlacesCountersAndMemory) {
  a_.engine = "onnxruntime";
  std::vector<BlockRow> rows;
  bench_.progress.on_block = [&](const BlockRow& row) { rows.push_back(row); };
  auto measurement = measure(a_, bench_, 1, .01);
  ASSERT_TRUE(measurement) << measurement.error().line();
  EXPECT_GT(measurement->execute_ms.median, 0);
  EXPECT_GT(measurement->peak_memory_bytes, 1 << 20);
  ASSERT_FALSE(rows.empty());
  EXPECT_GT(rows[0].block.before.fma_ms[0], 0);
  EXPECT_GT(rows[0].block.own_cpu_s, 0);
  EXPECT_NE(rows[0].place, kFake);
}

}  // namespace
}  // namespace hone::measure
