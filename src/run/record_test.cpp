// The Record's own questions, and the tables and manifest made of it.
// SPDX-License-Identifier: Apache-2.0
#include "run/record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/manifest.h"
#include "run/table.h"

namespace hone::run {
namespace {

Trial trial(int number, int parent, const std::string& change, bool kept, double speedup = 1.2) {
  Trial t;
  t.number = number;
  t.parent = parent;
  t.state = State::kJudged;
  t.proposal.change = change;
  t.verdict = verdict::Verdict{kept ? verdict::Kind::kKept : verdict::Kind::kRolledBack, "because\tof | this", false};
  t.comparison = measure::Comparison{};
  t.comparison->speedup = {speedup, speedup - 0.05, speedup + 0.05};
  t.comparison->b_ms = 5;
  t.dir = "step3_patches/x";
  return t;
}

Record record() {
  Record r;
  Trial baseline;
  baseline.stage = Stage::kBaseline;
  baseline.measurement = measure::Measurement{};
  baseline.measurement->execute_ms.median = 10;
  baseline.configuration.model = "/models/m.onnx";
  r.trials = {baseline, trial(1, 0, "a", true), trial(2, 1, "b", false), trial(3, 1, "c", true)};
  return r;
}

std::vector<std::string> names(const std::vector<const Trial*>& trials) {
  std::vector<std::string> out;
  for (const Trial* t : trials) out.push_back(t->title());
  return out;
}

TEST(Record, TheBestIsTheLastKept) {
  Record r = record();
  EXPECT_EQ(r.best()->number, 3);
  r.trials.resize(1);
  EXPECT_EQ(r.best()->number, 0);
  r.trials.clear();
  EXPECT_EQ(r.best(), nullptr);
}

TEST(Record, TheChainHasWhatIsInTheConfiguration) {
  Record r = record();
  EXPECT_EQ(names(r.chain(3)), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(names(r.chain(2)), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(r.chain(0).empty());
}

TEST(Record, ADroppedChangeIsNotInTheChain) {
  Record r = record();
  Trial without = trial(4, 3, std::string(kWithout), true);
  without.proposal.params = {{"change", "a"}};
  r.trials.push_back(without);
  EXPECT_EQ(names(r.chain(4)), std::vector<std::string>{"c"});
  r.trials.push_back(trial(5, 4, "a", true));  // and kept again later
  EXPECT_EQ(names(r.chain(5)), (std::vector<std::string>{"c", "a"}));
}

// Settings and rewrites of one engine, then another engine, then its own.
class RecordWithTwoEngines : public testing::Test {
 protected:
  RecordWithTwoEngines() {
    record_.trials.resize(1);
    record_.trials[0].configuration.engine = "one";
    add("fuse", "graph").configuration.model = "patch_001/model.onnx";
    add("int8", "quantize").configuration.model = "patch_002/model.onnx";
    add("threads", "setting").proposal.params = {{"intra_op_threads", "1"}};
    add("huge-pages", "setting").proposal.params = {{"process.huge_pages", "on"}};
  }
  // On top of the last one.
  Trial& add(const std::string& change, const std::string& kind) {
    const engine::Configuration configuration = record_.trials.back().configuration;
    const int number = static_cast<int>(record_.trials.size());
    Trial& t = record_.trials.emplace_back(trial(number, number - 1, change, true));
    t.kind = kind;
    t.configuration = configuration;
    return t;
  }
  std::vector<std::string> chain() const { return names(record_.chain(record_.trials.back().number)); }
  Record record_ = record();
};

TEST_F(RecordWithTwoEngines, WhatAnEngineChangeBackToTheOriginalDiscardedIsNotInTheChain) {
  Trial& engine = add("engine", "engine");
  engine.configuration = {"two", "/models/m.onnx", {}};
  EXPECT_TRUE(record_.restarts(engine));
  EXPECT_EQ(chain(), (std::vector<std::string>{"huge-pages[process.huge_pages=on]", "engine"}));
  add("fuse", "graph").configuration.model = "patch_006/model.onnx";
  EXPECT_EQ(chain(), (std::vector<std::string>{"huge-pages[process.huge_pages=on]", "engine", "fuse"}));
  EXPECT_EQ(names(record_.chain(4)), (std::vector<std::string>{"fuse", "int8", "threads[intra_op_threads=1]",
                                                               "huge-pages[process.huge_pages=on]"}));
}

TEST_F(RecordWithTwoEngines, AnEngineChangeThatTakesTheModelOverKeepsItsRewrites) {
  Trial& engine = add("engine", "engine");
  engine.configuration.engine = "two";
  EXPECT_FALSE(record_.restarts(engine));
  EXPECT_EQ(chain(), (std::vector<std::string>{"fuse", "int8", "huge-pages[process.huge_pages=on]", "engine"}));
}

TEST_F(RecordWithTwoEngines, OfSeveralEnginesTheLastIsInTheChain) {
  add("engine", "engine").configuration.engine = "two";
  Trial& third = add("engine", "engine");
  third.proposal.params = {{"engine", "three"}};
  EXPECT_EQ(chain(),
            (std::vector<std::string>{"fuse", "int8", "huge-pages[process.huge_pages=on]", "engine[engine=three]"}));
}

TEST_F(RecordWithTwoEngines, WhenAnEngineIsDroppedWhatItDiscardedDoesNotComeBack) {
  add("engine", "engine").configuration = {"two", "/models/m.onnx", {}};
  add("fuse-other", "graph");
  add(std::string(kWithout), "ablation").proposal.params = {{"change", "engine"}};
  EXPECT_EQ(chain(), (std::vector<std::string>{"huge-pages[process.huge_pages=on]", "fuse-other"}));
}

TEST(Record, TheSpeedupIsTheFinalOneOrTheAA) {
  Record r = record();
  EXPECT_FALSE(r.speedup().has_value()) << "kept changes, but no final re-measurement yet";
  Trial last = trial(4, 3, "", false, 1.5);
  last.stage = Stage::kFinal;
  last.verdict.reset();
  r.trials.push_back(last);
  EXPECT_EQ(r.speedup()->estimate, 1.5);
  EXPECT_EQ(r.best()->number, 3);
  r.trials.resize(1);
  r.noise = measure::Comparison{};
  r.noise->speedup.estimate = 1.001;
  EXPECT_EQ(r.speedup()->estimate, 1.001);
}

TEST(Trial, EndsInOneWord) {
  EXPECT_EQ(Trial{}.outcome(), "-");
  Trial t = trial(1, 0, "a", true);
  EXPECT_EQ(t.outcome(), "kept");
  t.verdict = verdict::Verdict{verdict::Kind::kRolledBack, "slower", false};
  EXPECT_EQ(t.outcome(), "rolled_back");
  t.verdict->noise = true;
  EXPECT_EQ(t.outcome(), "noise");
}

TEST(TrialTable, EveryRowHasEveryColumnAndNoTabInside) {
  const Record r = record();
  for (const Trial& t : r.trials) {
    const auto cells = trial_cells(t, r);
    ASSERT_EQ(cells.size(), trial_columns().size());
    for (const std::string& cell : cells) {
      EXPECT_FALSE(cell.empty());
      EXPECT_EQ(cell.find_first_of("\t\n"), std::string::npos) << cell;
    }
  }
  const std::string tsv = trials_tsv(r);
  EXPECT_EQ(std::count(tsv.begin(), tsv.end(), '\n'), 5);
  EXPECT_NE(trials_md(r).find("because of \\| this"), std::string::npos);
}

TEST(TrialTable, TheBaselineHasNoDifference) {
  const Record r = record();
  const auto cells = trial_cells(r.trials[0], r);
  const auto& columns = trial_columns();
  auto cell = [&](std::string_view name) {
    return cells[static_cast<size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin())];
  };
  EXPECT_EQ(cell("execute_us"), "10000.0");
  EXPECT_EQ(cell("vs_best"), "-");
  EXPECT_EQ(cell("stage"), "baseline");
  EXPECT_EQ(cell("h2d_us"), "-");
}

TEST(Manifest, HasTheRequiredKeysFirstAndUnknownWhereNothingIsKnown) {
  Record r = record();
  r.environment = {{"device", "Some CPU"}, {"cores", "2"}, {"env.LD_PRELOAD", "x"}};
  r.plan.model = "/models/m.onnx";
  r.plan.command_line = "hone optimize m.onnx --token abc";
  const std::string text = manifest_text(r);
  EXPECT_TRUE(
      text.starts_with("device: Some CPU\ncann: unknown\npytorch: unknown\nTorchNPU: unknown\n"
                       "mindiesd: unknown\nmodel: m.onnx\nframework: unknown\nprecision: unknown\n"))
      << text;
  EXPECT_NE(text.find("\ncores: 2\n"), std::string::npos);
  EXPECT_NE(text.find("\nstop_reason: unknown\n"), std::string::npos);
  EXPECT_NE(text.find("--token ***\n"), std::string::npos) << "no secrets";
}

TEST(Environment, OnlyWhatBindsIsCompared) {
  const std::map<std::string, std::string> then = {
      {"device", "A"}, {"cores", "2"}, {"kernel", "6.1"}, {"engine.onnxruntime", "1.32"}};
  std::map<std::string, std::string> now = then;
  now["kernel"] = "6.2";
  EXPECT_TRUE(environment_differences(then, now).empty());
  now["cores"] = "4";
  now.erase("engine.onnxruntime");
  EXPECT_EQ(environment_differences(then, now),
            (std::vector<std::string>{"cores was 2 and is 4", "engine.onnxruntime was 1.32 and is nothing"}));
}

}  // namespace
}  // namespace hone::run
