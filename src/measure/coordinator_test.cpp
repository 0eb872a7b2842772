// SPDX-License-Identifier: Apache-2.0
#include "measure/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/simulated_blocks.h"

namespace hone::measure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Calibration virtual_machine() {
  Calibration calibration;
  calibration.ping_bounds_ns = {100};
  return calibration;
}

struct Trial {
  Plan plan;
  Calibration calibration = virtual_machine();
  MachineWatch watch;
  Progress progress;
  Result<Comparison> run(BlockSource& source) { return run_comparison(source, plan, calibration, watch, progress); }
};

Comparison run(const SimulatedMachine& machine, uint64_t seed, Plan plan = {}) {
  SimulatedBlocks source(machine, seed);
  Trial trial;
  trial.plan = plan;
  trial.plan.seed = seed;
  auto comparison = trial.run(source);
  EXPECT_TRUE(comparison) << comparison.error().line();
  return comparison.value_or(Comparison());
}

TEST(Measuring, ADisturbedBlockCountsAndIsNotMarkedInvalid) {
  SimulatedBlocks source({.busy_share = .5}, 1);
  MachineWatch watch;
  Bench bench;
  bench.calibration = virtual_machine();
  size_t busy = 0, blocks = 0;
  bench.progress.on_block = [&](const BlockRow& row) {
    ++blocks;
    busy += row.block.pressure > .2;
    EXPECT_EQ(row.invalid, "");
  };
  const auto measurement = run_measurement(source, bench, watch, 2, 1);
  ASSERT_TRUE(measurement) << measurement.error().line();
  EXPECT_GT(busy, 3u);
  EXPECT_EQ(measurement->samples_ms.size(), blocks * 5) << "five a block";
  EXPECT_THAT(measurement->warnings, Contains(HasSubstr("the machine is busy")));
}

TEST(Coordinator, KeepsAClearGainAtTheFirstLook) {
  SimulatedBlocks source({.speedup = 1.3}, 1);
  Trial trial;
  auto comparison = trial.run(source);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->decision, Decision::kKeep);
  EXPECT_EQ(comparison->outcome, Outcome::kFaster);
  EXPECT_EQ(comparison->pairs.size(), 4u);
  EXPECT_EQ(comparison->looks.size(), 1u);
  EXPECT_NEAR(comparison->speedup.estimate, 1.3, .06);
  EXPECT_GT(comparison->speedup.low, 1.03);
  EXPECT_NEAR(comparison->a_ms / comparison->b_ms, 1.3, .08);
  EXPECT_EQ(comparison->place, kNear);
  EXPECT_EQ(comparison->a_peak_bytes, 1000);
  EXPECT_EQ(comparison->a.samples, 4 * 2 * 5);
  EXPECT_THAT(comparison->warnings, testing::IsEmpty());
  EXPECT_FALSE(source.running[0] || source.running[1]);
}

TEST(Coordinator, RollsBackACopyAndCallsItTheSame) {
  const Comparison comparison = run({.instance_sd = .003, .block_pair_sd = .006}, 2);
  EXPECT_EQ(comparison.decision, Decision::kRollBack);
  EXPECT_EQ(comparison.outcome, Outcome::kSame);
}

TEST(Coordinator, CallsALossSlower) {
  EXPECT_EQ(run({.speedup = .8}, 3).outcome, Outcome::kSlower);
  Plan plan;
  plan.rule.until_outcome = true;
  const Comparison comparison = run({.speedup = .93}, 3, plan);
  EXPECT_EQ(comparison.outcome, Outcome::kSlower);
  EXPECT_EQ(comparison.decision, Decision::kRollBack);
}

TEST(Coordinator, AlternatesTheOrderAtRandomAndAlwaysStartsBoth) {
  SimulatedBlocks source({.block_pair_sd = .1}, 4);
  Trial trial;
  ASSERT_TRUE(trial.run(source));
  int abba = 0, baab = 0, a_first = 0;
  for (size_t at = 0; at + 6 <= source.order.size(); at += 6) {
    const std::string start = source.order.substr(at, 2), blocks = source.order.substr(at + 2, 4);
    EXPECT_TRUE(start == "ab" || start == "ba") << source.order;
    EXPECT_TRUE(blocks == "ABBA" || blocks == "BAAB") << source.order;
    abba += blocks == "ABBA", baab += blocks == "BAAB", a_first += start == "ab";
  }
  EXPECT_GE(abba, 3);
  EXPECT_GE(baab, 3);
  EXPECT_GE(a_first, 3);
}

TEST(Coordinator, TheOrderDependsOnTheSeedAndThePairAlone) {
  int differ = 0;
  for (int pair = 1; pair <= 64; ++pair) {
    EXPECT_EQ(draw_for(7, pair).baab, draw_for(7, pair).baab);
    differ += draw_for(7, pair).baab != draw_for(8, pair).baab;
    EXPECT_NE(instance_seed(7, pair, 'A'), instance_seed(7, pair, 'B'));
    EXPECT_NE(instance_seed(7, pair, 'A'), instance_seed(7, pair + 1, 'A'));
  }
  EXPECT_GT(differ, 15);
}

TEST(Coordinator, BothBlocksOfAPairRunTheSameSampleAndAllSamplesGetTheirTurn) {
  SimulatedBlocks source({.speedup = 1.3}, 5);
  Trial trial;
  ASSERT_TRUE(trial.run(source));
  ASSERT_EQ(source.samples.size(), 16u);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(source.samples[i], i / 2);
}

TEST(Coordinator, ComparesOnlyBlocksOfOnePlace) {
  Plan plan;
  plan.fixed_pairs = 12;
  const Comparison comparison = run({.speedup = 1.10, .far_share = .4, .episode_s = 1}, 6, plan);
  EXPECT_EQ(comparison.decision, Decision::kKeep);
  EXPECT_GT(comparison.waited_s, 0);
  EXPECT_LT(comparison.sd, .06) << "a mixture of places would have a spread of log 2.1";
  EXPECT_THAT(comparison.warnings, Contains(AllOf(HasSubstr("moves between places"), HasSubstr("slower"))));
}

TEST(Coordinator, MeasuresWhereTheMachineStays) {
  const Comparison comparison = run({.speedup = 1.2, .far_share = 1}, 7);
  EXPECT_EQ(comparison.place, kFar);
  EXPECT_EQ(comparison.decision, Decision::kKeep);
  EXPECT_NEAR(comparison.waited_s, 3, .3) << "waits once, then knows better";
  EXPECT_THAT(comparison.warnings, Contains("measured in far"));
}

TEST(Coordinator, RepeatsDisturbedBlockPairs) {
  SimulatedBlocks source({.speedup = 1.3, .busy_share = .3}, 8);
  Trial trial;
  trial.plan.fixed_pairs = 12;
  std::vector<BlockRow> rows;
  trial.progress.on_block = [&](const BlockRow& row) { rows.push_back(row); };
  auto comparison = trial.run(source);
  ASSERT_TRUE(comparison);
  EXPECT_GT(comparison->retries, 0);
  EXPECT_EQ(comparison->decision, Decision::kKeep);
  EXPECT_EQ(static_cast<int>(rows.size()), source.blocks);
  EXPECT_THAT(comparison->warnings, Contains(HasSubstr("the machine is busy")));
  int invalid = 0;
  for (const auto& row : rows) invalid += !row.invalid.empty();
  EXPECT_GE(invalid, 2 * comparison->retries);
  for (const auto& row : rows) EXPECT_THAT(row.invalid, testing::AnyOf("", "disturbed for 50 % of its time"));
}

TEST(Coordinator, GivesUpWhenEverythingIsDisturbed) {
  const Comparison comparison = run({.busy_share = 1}, 9);
  EXPECT_EQ(comparison.decision, Decision::kUndecided);
  EXPECT_TRUE(comparison.pairs.empty());
  EXPECT_EQ(comparison.speedup.low, 0);
  EXPECT_THAT(comparison.warnings, Contains("stopped before enough blocks were undisturbed with 0 of 24 instance "
                                            "pairs in near"));
}

TEST(Coordinator, PressureOfTheModelsOwnThreadsIsNoDisturbance) {
  worker::BlockResult block;
  block.timed_s = .1, block.pressure = .9, block.own_cpu_s = .2, block.busy_cpu_s = .2;
  EXPECT_LT(disturbance(block).share, .01);
  block.busy_cpu_s = .25;
  EXPECT_NEAR(disturbance(block).share, .9, 1e-9);
}

TEST(Coordinator, WithoutPressureInformationItLooksElsewhereAndSaysSo) {
  worker::BlockResult block;
  block.timed_s = .1, block.pressure = -1, block.own_cpu_s = .1, block.busy_cpu_s = .15;
  block.run_queue_wait_s = .03;
  EXPECT_EQ(disturbance(block).source, Disturbance::Source::kRunQueue);
  EXPECT_NEAR(disturbance(block).share, .3, 1e-9);
  block.run_queue_wait_s = -1;
  EXPECT_EQ(disturbance(block).source, Disturbance::Source::kProcStat);
  EXPECT_NEAR(disturbance(block).share, .5, 1e-9);
  const Comparison comparison = run({.speedup = 1.3, .has_pressure = false}, 10);
  EXPECT_EQ(comparison.decision, Decision::kKeep);
  EXPECT_THAT(comparison.warnings, Contains(HasSubstr("/proc/stat and involuntary switches")));
}

TEST(Coordinator, AWorkerThatDiesIsAnErrorAndNothingIsLeftRunning) {
  SimulatedBlocks source({.die_at_block = 9}, 11);
  Trial trial;
  auto comparison = trial.run(source);
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().kind, ErrorKind::kToolFailed);
  EXPECT_THAT(comparison.error().line(), AllOf(HasSubstr("crashed: SIGSEGV"), HasSubstr("instance pair 3")));
  EXPECT_FALSE(source.running[0] || source.running[1]);
}

TEST(Coordinator, AModelThatIsRefusedIsAnErrorThatNamesTheSide) {
  SimulatedBlocks source({.refuse_start = 1}, 12);
  Trial trial;
  auto comparison = trial.run(source);
  ASSERT_FALSE(comparison);
  EXPECT_THAT(comparison.error().line(), AllOf(HasSubstr("refuses"), HasSubstr("side B")));
  EXPECT_FALSE(source.running[0]);
}

TEST(Coordinator, StopsWhenCancelledOrTheBudgetIsOver) {
  SimulatedBlocks source({}, 13);
  Trial trial;
  trial.progress.cancelled = [&] { return source.blocks >= 5; };
  auto comparison = trial.run(source);
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().kind, ErrorKind::kInterrupted);
  EXPECT_FALSE(source.running[0]);

  Plan plan;
  plan.budget_s = 2;
  const Comparison cut = run({}, 13, plan);
  EXPECT_EQ(cut.decision, Decision::kUndecided);
  EXPECT_LT(cut.seconds, 3.5);
  EXPECT_THAT(cut.warnings, Contains(HasSubstr("stopped by the time budget")));
}

TEST(Coordinator, AFixedNumberOfPairsHasNoLooks) {
  Plan plan;
  plan.fixed_pairs = 12;
  const Comparison comparison = run({.speedup = 1.5}, 14, plan);
  EXPECT_EQ(comparison.pairs.size(), 12u);
  EXPECT_TRUE(comparison.looks.empty());
  EXPECT_EQ(comparison.outcome, Outcome::kFaster);
  EXPECT_NEAR(comparison.speedup.estimate, 1.5, .05);
  EXPECT_NEAR(std::log(comparison.speedup.high / comparison.speedup.estimate),
              std::log(comparison.speedup.estimate / comparison.speedup.low), 1e-9);
}

TEST(Coordinator, TheFakeClockKnowsNoPlacesAndNoLoad) {
  SimulatedBlocks source({.speedup = 1.3, .far_share = .5, .busy_share = 1, .fake_clock = true}, 15);
  Trial trial;
  auto comparison = trial.run(source);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->place, kFake);
  EXPECT_EQ(comparison->waited_s, 0);
  EXPECT_EQ(comparison->retries, 0);
  EXPECT_EQ(comparison->a_peak_bytes, 0) << "it would differ from run to run";
}

TEST(Coordinator, BareMetalNeverWaits) {
  SimulatedBlocks source({.speedup = 1.3, .far_share = 1}, 16);
  Trial trial;
  trial.calibration.one_place = true;
  auto comparison = trial.run(source);
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->place, kOne);
  EXPECT_EQ(comparison->waited_s, 0);
  EXPECT_THAT(comparison->warnings, testing::IsEmpty());
}

TEST(Warnings, NameTheBusyProcessStealAndFrequency) {
  const Comparison comparison = run({.foreign_cpus = .9, .steal_share = .02, .fma_drift = .05}, 17);
  EXPECT_THAT(comparison.warnings, Contains("the machine is busy: cc1plus and others use up to 0.9 CPU"));
  EXPECT_THAT(comparison.warnings, Contains("the host takes CPU time: 2.0 % stolen"));
  EXPECT_THAT(comparison.warnings, Contains(HasSubstr("the clock frequency changed: fixed work took up to ")));
}

TEST(Warnings, SayWhatCanNotBeProven) {
  Plan plan;
  plan.fixed_pairs = 6;
  plan.same_configuration = true;
  const Comparison noisy = run({.instance_sd = .08}, 18, plan);
  EXPECT_THAT(noisy.warnings, Contains(HasSubstr("nothing can be proven for this model here")));
  const Comparison quiet = run({.instance_sd = .005, .block_pair_sd = .01}, 18, plan);
  EXPECT_THAT(quiet.warnings, testing::IsEmpty());
}

TEST(Warnings, SayWhenPlacesDisagree) {
  Plan plan;
  plan.fixed_pairs = 20;
  const Comparison comparison = run(
      {.speedup = 1.2, .instance_sd = .005, .block_pair_sd = .01, .far_share = .5, .episode_s = 6, .far_speedup = .8},
      19, plan);
  EXPECT_THAT(comparison.warnings, Contains("faster in near, slower in far"));
}

// The error rates of the whole protocol, with places, disturbances and slow blocks.
struct Shares {
  double kept = 0, rolled_back = 0, seconds = 0;
};

Shares shares(SimulatedMachine machine, int runs, uint64_t seed) {
  Shares out;
  for (int i = 0; i < runs; ++i) {
    const Comparison comparison = run(machine, seed + static_cast<uint64_t>(i));
    out.kept += comparison.decision == Decision::kKeep;
    out.rolled_back += comparison.decision == Decision::kRollBack;
    out.seconds += comparison.seconds;
  }
  out.kept /= runs, out.rolled_back /= runs, out.seconds /= runs;
  return out;
}

const SimulatedMachine kShared{.instance_sd = .012,
                               .block_pair_sd = .028,
                               .slow_block_share = .05,
                               .slow_by = .10,
                               .far_share = .15,
                               .episode_s = 2.5,
                               .busy_share = .05};

TEST(Simulation, OnAMachineThatMovesACopyIsNotKeptAndATrueTenPercentIs) {
  EXPECT_LE(shares(kShared, 1000, 1000).kept, .003);
  SimulatedMachine gain = kShared;
  gain.speedup = 1.10;
  const Shares ten = shares(gain, 300, 5000);
  EXPECT_GE(ten.kept, .97);
  EXPECT_LT(ten.seconds, 15);
  gain.speedup = 1.06;
  const Shares six = shares(gain, 300, 9000);
  EXPECT_GE(six.kept, .70);
  EXPECT_LE(six.rolled_back, .02);
}

TEST(Simulation, DecoderLikeNoiseGivesNoFalseKeeps) {
  const SimulatedMachine decoder{.instance_sd = .054, .block_pair_sd = .040};
  EXPECT_LE(shares(decoder, 1000, 20000).kept, .004);
}

}  // namespace
}  // namespace hone::measure
