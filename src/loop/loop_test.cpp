// The loop on a scripted Lab: what it tries, keeps, drops and says, and that no crash changes any of it.
// SPDX-License-Identifier: Apache-2.0
#include "loop/loop.h"

#include <gtest/gtest.h>

#include <fstream>

#include "loop/session.h"
#include "run/checklist.h"
#include "run/layout.h"
#include "run/run.h"
#include "run/table.h"
#include "support/scripted_lab.h"

namespace hone::loop {
namespace {

using test::Crash;
using test::ScriptedChange;
using test::ScriptedLab;
using test::ScriptedWorld;

// Memory instead of a disk where there is one: the journal syncs at every step.
const bool in_memory = [] {
  std::error_code code;
  if (fs::is_directory("/dev/shm", code)) ::setenv("TMPDIR", "/dev/shm", 0);
  return true;
}();

class LoopTest : public testing::Test {
 protected:
  LoopTest() {
    plan_.model = scratch_.path() / "original.onnx";
    plan_.engines = {"scripted"};
    EXPECT_TRUE(write_file(plan_.model, "original\n").has_value());
  }
  fs::path folder(const std::string& name = "run") const { return scratch_.path() / name; }
  Result<run::Record> start(ScriptedLab& lab, const std::string& name = "run", AtPoint at = {}) {
    return start_run(plan_, folder(name), lab, listener_, std::move(at));
  }
  run::Record run_world(const ScriptedWorld& world, const std::string& name = "run") {
    ScriptedLab lab(world);
    auto record = start(lab, name);
    EXPECT_TRUE(record.has_value()) << record.error().line();
    return record ? *record : run::Record{};
  }

  ScratchFolder scratch_ = ScratchFolder::create("hone-loop").value();
  run::Plan plan_;
  struct Lines final : Listener {
    std::vector<std::string> lines;
    int cancel_after = -1;
    void line(const std::string& text) override { lines.push_back(text); }
    bool cancelled() override { return cancel_after >= 0 && cancel_after-- == 0; }
  } listener_;
};

ScriptedWorld usual_world() {
  ScriptedWorld world;
  world.changes = {
      {.id = "fuse-attention", .gain = 1.4, .predicted = 1.3, .upper_bound = 1.6, .finding = "unfused_attention"},
      {.id = "fuse-gelu", .gain = 1.12, .predicted = 1.1, .upper_bound = 1.2},
      {.id = "clean-graph", .gain = 1.005, .predicted = 1.04, .upper_bound = 1.06},
      {.id = "threads", .kind = "setting", .params = {{"threads", "1"}}, .gain = 0.7, .predicted = 1.05},
      {.id = "huge-pages", .kind = "setting", .params = {{"huge", "on"}}, .gain = 1.08, .predicted = 1.05},
      {.id = "wrong", .gain = 2, .passes_gate = false},
      {.id = "crashes", .gain = 2, .predicted = 1.2, .fails_at = "check"},
      {.id = "hangs", .gain = 2, .predicted = 1.2, .fails_at = "compare"},
      {.id = "refused", .gain = 2, .fails_at = "apply"},
  };
  diagnose::Finding finding;
  finding.id = "unfused_attention";
  finding.priority = diagnose::Priority::kP0;
  world.findings = {finding};
  return world;
}

const run::Trial* find(const run::Record& record, const std::string& title) {
  for (const run::Trial& t : record.trials)
    if (t.title() == title) return &t;
  return nullptr;
}

std::string verdict_of(const run::Record& record, const std::string& title) {
  const run::Trial* t = find(record, title);
  return t == nullptr || !t->verdict ? "none" : std::string(verdict::to_text(t->verdict->kind));
}

// Everything of a Record that must not depend on when it was interrupted: all but times and places.
std::string essence(const run::Record& record) {
  std::string out;
  for (const run::Trial& t : record.trials) {
    out += fmt::format("{} {} {} {} {} {}", t.number, t.parent, run::to_text(t.stage), run::to_text(t.state), t.title(),
                       t.verdict ? t.verdict->reason : "-");
    if (t.comparison) out += fmt::format(" {:.9f} {}", t.comparison->speedup.estimate, t.comparison->pairs.size());
    out += "\n";
  }
  for (const run::Stop& s : record.stops) out += s.reason + ": " + s.evidence + "\n";
  out += record.best()->configuration.engine + "\n";
  for (const auto& [id, value] : record.best()->configuration.settings) out += id + "=" + value + "\n";
  return out + read_file(record.folder / "best" / "model.onnx").value_or("no model");
}

TEST_F(LoopTest, KeepsWhatPaysAndRollsBackTheRestWithAReason) {
  const run::Record record = run_world(usual_world());
  EXPECT_EQ(verdict_of(record, "fuse-attention"), "kept");
  EXPECT_EQ(verdict_of(record, "fuse-gelu"), "kept");
  EXPECT_EQ(verdict_of(record, "huge-pages[huge=on]"), "kept");
  EXPECT_EQ(verdict_of(record, "clean-graph"), "rolled_back");
  EXPECT_TRUE(find(record, "clean-graph")->verdict->noise);
  EXPECT_EQ(verdict_of(record, "wrong"), "rolled_back");
  EXPECT_EQ(find(record, "wrong")->verdict->reason, "accuracy: output y: cosine 0.5");
  EXPECT_FALSE(find(record, "wrong")->comparison.has_value()) << "what is wrong is not measured";
  EXPECT_EQ(verdict_of(record, "crashes"), "failed");
  EXPECT_NE(find(record, "crashes")->verdict->reason.find("SIGSEGV"), std::string::npos);
  EXPECT_EQ(verdict_of(record, "hangs"), "failed");
  EXPECT_EQ(verdict_of(record, "refused"), "failed");
  EXPECT_EQ(record.stops.at(0).reason, "noise");  // threads[threads=1] was screened out
  EXPECT_EQ(find(record, "threads[threads=1]"), nullptr);
  EXPECT_EQ(record.progress, run::Progress::kFinished);
  EXPECT_NEAR(record.speedup()->estimate, 1.4 * 1.12 * 1.08, 0.06);
  EXPECT_EQ(find(record, "fuse-attention")->stage, run::Stage::kP0);
}

TEST_F(LoopTest, KeptChangesStackInOneModelAndItsSettings) {
  const run::Record record = run_world(usual_world());
  const std::string model = read_file(record.folder / "best" / "model.onnx").value();
  EXPECT_NE(model.find("fuse-attention\n"), std::string::npos);
  EXPECT_NE(model.find("fuse-gelu\n"), std::string::npos);
  EXPECT_EQ(model.find("clean-graph\n"), std::string::npos);
  const Json settings = read_json(record.folder / "best" / "settings.json").value();
  EXPECT_EQ(settings.at("settings").at("huge"), "on");
  EXPECT_EQ(settings.at("model"), "model.onnx");
}

TEST_F(LoopTest, EveryChecklistItemHoldsAfterAnOrdinaryRun) {
  const run::Record record = run_world(usual_world());
  const auto checks = run::checklist(record);
  EXPECT_GT(checks.size(), 20u);
  for (const run::Check& c : checks) EXPECT_TRUE(c.passed) << c.list << ": " << c.item << ": " << c.note;
}

TEST_F(LoopTest, TheJournalHoldsExactlyWhatTheRunHadInMemory) {
  const run::Record record = run_world(usual_world());
  const run::Record loaded = run::load_record(record.folder).value();
  Json a = record.to_json(), b = loaded.to_json();
  a.erase("seconds");
  b.erase("seconds");
  EXPECT_EQ(dump_json(a), dump_json(b));
  EXPECT_EQ(run::trials_tsv(record), run::trials_tsv(loaded));
  EXPECT_EQ(read_file(record.folder / run::kTrialsTsv).value(), run::trials_tsv(record));
}

TEST_F(LoopTest, ARunWithNothingToGainEndsWithTheOriginalAndItsAA) {
  ScriptedWorld world;
  world.changes = {{.id = "nothing", .gain = 1, .predicted = 1.05}};
  const run::Record record = run_world(world);
  EXPECT_EQ(record.best()->number, 0);
  EXPECT_EQ(record.final_trial(), nullptr);
  EXPECT_NEAR(record.speedup()->estimate, 1, 0.03);
  EXPECT_EQ(read_file(record.folder / "best" / "model.onnx").value(), "original\n");
  for (const run::Check& c : run::checklist(record)) EXPECT_TRUE(c.passed) << c.list << ": " << c.item << c.note;
}

TEST_F(LoopTest, StopsAsExhaustedWhenEverythingWasTried) {
  ScriptedWorld world;
  world.changes = {{.id = "a", .gain = 1.2}};
  EXPECT_EQ(run_world(world).stops.at(0).reason, "exhausted");
}

TEST_F(LoopTest, StopsWhenTheGoalIsMetByTheLowEnd) {
  ScriptedWorld world;
  world.changes = {{.id = "a", .gain = 1.5, .predicted = 1.4}, {.id = "b", .gain = 1.5, .predicted = 1.2}};
  plan_.goal = run::Goal{run::Goal::Kind::kSpeedup, 1.4};
  const run::Record record = run_world(world);
  EXPECT_EQ(record.stops.at(0).reason, "goal");
  EXPECT_EQ(find(record, "b"), nullptr) << "the goal was met before";
  EXPECT_TRUE(record.goal_check.has_value());
}

TEST_F(LoopTest, AGoalThatOnlyTheEstimateMeetsIsNotMet) {
  ScriptedWorld world;
  world.changes = {{.id = "a", .gain = 1.5}};
  world.sd = 0.04;
  plan_.goal = run::Goal{run::Goal::Kind::kSpeedup, 1.499};
  EXPECT_NE(run_world(world).stops.at(0).reason, "goal");
}

TEST_F(LoopTest, ALatencyGoalTheOriginalMeetsStopsAtOnce) {
  plan_.goal = run::Goal{run::Goal::Kind::kLatencyMs, 20};
  const run::Record record = run_world(usual_world());
  EXPECT_EQ(record.stops.at(0).reason, "goal");
  EXPECT_EQ(record.best()->number, 0);
}

TEST_F(LoopTest, StopsAtTheNumberOfTrials) {
  plan_.max_trials = 2;
  const run::Record record = run_world(usual_world());
  EXPECT_EQ(record.stops.at(0).reason, "budget");
  EXPECT_FALSE(record.proposals.empty()) << "what was open is listed";
}

TEST_F(LoopTest, ABudgetTooSmallForATrialStillGivesABest) {
  plan_.budget_s = 1;
  const run::Record record = run_world(usual_world());
  EXPECT_EQ(record.stops.at(0).reason, "budget");
  EXPECT_EQ(record.progress, run::Progress::kFinished);
}

TEST_F(LoopTest, LossyChangesNeedRealData) {
  ScriptedWorld world;
  world.changes = {{.id = "int8", .kind = "quantize", .gain = 2, .accuracy = accuracy::Class::kLossy}};
  world.synthetic = true;
  const run::Record without = run_world(world, "without");
  EXPECT_EQ(verdict_of(without, "int8"), "skipped");
  EXPECT_NE(find(without, "int8")->verdict->reason.find("needs data"), std::string::npos);
  world.synthetic = false;
  EXPECT_EQ(verdict_of(run_world(world, "with"), "int8"), "kept");
}

TEST_F(LoopTest, OnTopOfALossyBestTheGateIsTheLossyOne) {
  ScriptedWorld world;
  world.changes = {{.id = "int8", .kind = "quantize", .gain = 2, .predicted = 2, .accuracy = accuracy::Class::kLossy},
                   {.id = "fuse", .gain = 1.2, .predicted = 1.1}};
  const run::Record record = run_world(world);
  EXPECT_EQ(verdict_of(record, "int8"), "kept");
  EXPECT_EQ(verdict_of(record, "fuse"), "kept") << find(record, "fuse")->verdict->reason;
}

TEST_F(LoopTest, OnlyAndSkipChooseByChangeId) {
  plan_.only = {"fuse-gelu", "wrong"};
  plan_.skip = {"wrong"};
  const run::Record record = run_world(usual_world());
  EXPECT_NE(find(record, "fuse-gelu"), nullptr);
  EXPECT_EQ(record.trials.size(), 3u);  // baseline, fuse-gelu, final
}

TEST_F(LoopTest, DropsAChangeThatNoLongerPaysBesideALaterOne) {
  ScriptedWorld world;
  world.changes = {{.id = "first", .gain = 1.1, .predicted = 1.3},
                   {.id = "stays", .gain = 1.2, .predicted = 1.25},
                   {.id = "better", .gain = 1.5, .predicted = 1.2, .voids = "first"}};
  const run::Record record = run_world(world);
  ASSERT_EQ(verdict_of(record, "first"), "kept");
  ASSERT_EQ(verdict_of(record, "better"), "kept");
  EXPECT_EQ(verdict_of(record, "without[change=first]"), "kept");
  EXPECT_NE(find(record, "without[change=first]")->verdict->reason.find("is dropped"), std::string::npos);
  EXPECT_EQ(verdict_of(record, "without[change=stays]"), "rolled_back");
  EXPECT_EQ(find(record, "without[change=better]"), nullptr) << "its own trial has just measured it";
  const std::string model = read_file(record.folder / "best" / "model.onnx").value();
  EXPECT_EQ(model, "original\nstays\nbetter\n");
  std::vector<std::string> chain;
  for (const run::Trial* t : record.chain(record.best()->number)) chain.push_back(t->title());
  EXPECT_EQ(chain, (std::vector<std::string>{"stays", "better"}));
  for (const run::Check& c : run::checklist(record)) EXPECT_TRUE(c.passed) << c.list << ": " << c.item << c.note;
}

// Like OpenVINO after the rewrites for ONNX Runtime: the other engine starts from the original model again.
TEST_F(LoopTest, AnEngineThatGoesBackToTheOriginalModelLeavesTheChangesBeforeItBehind) {
  ScriptedWorld world;
  world.changes = {{.id = "int8", .kind = "quantize", .gain = 1.3, .predicted = 3, .accuracy = accuracy::Class::kLossy},
                   {.id = "fuse", .gain = 1.2, .predicted = 2.5},
                   {.id = "threads", .kind = "setting", .params = {{"threads", "1"}}, .gain = 1.2, .predicted = 2},
                   {.id = "engine",
                    .kind = "engine",
                    .params = {{"engine", "other"}},
                    .gain = 3,
                    .predicted = 1.5,
                    .restarts = true},
                   {.id = "late", .gain = 1.2, .predicted = 1.3},
                   {.id = "later", .gain = 1.2, .predicted = 1.2, .chance = 0.4}};
  const run::Record record = run_world(world);
  ASSERT_EQ(verdict_of(record, "int8"), "kept");
  ASSERT_EQ(verdict_of(record, "fuse"), "kept");
  ASSERT_EQ(verdict_of(record, "engine[engine=other]"), "kept");
  EXPECT_EQ(find(record, "fuse")->accuracy->accuracy_class, accuracy::Class::kLossy) << "on top of int8";
  EXPECT_EQ(find(record, "engine[engine=other]")->accuracy->accuracy_class, accuracy::Class::kExact)
      << "int8 is no longer in it";
  std::vector<std::string> chain;
  std::string model = "original\n";
  for (const run::Trial* t : record.chain(record.best()->number)) {
    chain.push_back(t->title());
    if (t->kind == "graph" || t->kind == "quantize") model += t->title() + "\n";
  }
  ASSERT_FALSE(chain.empty());
  EXPECT_EQ(chain.front(), "engine[engine=other]");
  EXPECT_EQ(read_file(record.folder / "best" / "model.onnx").value(), model) << "the chain is what is in the model";
  EXPECT_EQ(find(record, "without[change=engine[engine=other]]"), nullptr);
  EXPECT_EQ(read_file(record.folder / "best" / "reproduce.sh").value().find("kept: trial 1 "), std::string::npos);
  for (const run::Trial& t : record.trials)
    if (t.proposal.change == run::kWithout) {
      const auto there = record.chain(t.parent);
      EXPECT_TRUE(std::any_of(there.begin(), there.end(), [&](const run::Trial* in) {
        return in->proposal.key() == t.proposal.params.at("change");
      })) << t.title();
    }
  for (const run::Check& c : run::checklist(record)) EXPECT_TRUE(c.passed) << c.list << ": " << c.item << c.note;
}

// On a machine that is never quiet a comparison would wait without end.
TEST_F(LoopTest, TheGoalAndFinalComparisonsAreBounded) {
  ScriptedWorld world;
  world.changes = {{.id = "a", .gain = 1.5, .predicted = 1.4}};
  plan_.goal = run::Goal{run::Goal::Kind::kSpeedup, 1.4};
  ScriptedLab unlimited(world);
  ASSERT_TRUE(start(unlimited, "unlimited").has_value());
  ASSERT_EQ(unlimited.fixed.size(), 3u) << "A/A, goal, final";
  EXPECT_EQ(unlimited.fixed[1].budget_s, 300);
  EXPECT_EQ(unlimited.fixed[2].budget_s, 300);
  EXPECT_EQ(unlimited.fixed[2].pairs, 12);

  plan_.budget_s = 100;
  ScriptedLab limited(world);
  ASSERT_TRUE(start(limited, "limited").has_value());
  ASSERT_EQ(limited.fixed.size(), 3u);
  EXPECT_NEAR(limited.fixed[1].budget_s, 100 - 12 * 0.8, 5) << "what the final one needs is kept back";
  EXPECT_NEAR(limited.fixed[2].budget_s, 100, 5);
}

TEST_F(LoopTest, ANoisyMachineGetsMorePairsInTheFinalComparison) {
  ScriptedWorld world;
  world.changes = {{.id = "a", .gain = 2, .predicted = 1.9}};
  world.sd = 0.09;
  ScriptedLab lab(world);
  const auto record = start(lab);
  ASSERT_TRUE(record.has_value());
  ASSERT_GT(measure::half_width(record->noise->sd, 12), std::log(1.03));
  ASSERT_EQ(lab.fixed.size(), 2u);
  EXPECT_GT(lab.fixed[1].pairs, 12);
  EXPECT_LE(lab.fixed[1].pairs, 24);
}

TEST_F(LoopTest, RejectedModelsAreDroppedButNotTheirLogs) {
  const run::Record record = run_world(usual_world());
  const fs::path rejected = record.folder / find(record, "clean-graph")->dir;
  EXPECT_FALSE(fs::exists(rejected / "model.onnx"));
  for (const char* name : {"settings.json", "export.log", "convert.log", "benchmark.log", "accuracy.log",
                           "measurement.json", "accuracy.json", "verdict.json", "reproduce.sh"})
    EXPECT_TRUE(fs::exists(rejected / name)) << name;
  EXPECT_TRUE(fs::exists(record.folder / "step3_patches" / (rejected.filename().string() + ".diff")));
  EXPECT_TRUE(fs::exists(record.folder / find(record, "fuse-gelu")->dir / "model.onnx"));
}

TEST_F(LoopTest, KeepAllKeepsEveryModelAndKeepLogsNone) {
  plan_.keep = run::Keep::kAll;
  run::Record record = run_world(usual_world(), "all");
  EXPECT_TRUE(fs::exists(record.folder / find(record, "clean-graph")->dir / "model.onnx"));
  plan_.keep = run::Keep::kLogs;
  record = run_world(usual_world(), "logs");
  EXPECT_FALSE(fs::exists(record.folder / find(record, "fuse-gelu")->dir / "model.onnx"));
  EXPECT_TRUE(fs::exists(record.folder / "best" / "model.onnx"));
}

TEST_F(LoopTest, TheSameSeedGivesTheSameRunAndAnotherSeedAnother) {
  EXPECT_EQ(essence(run_world(usual_world(), "a")), essence(run_world(usual_world(), "b")));
  plan_.seed = 7;
  EXPECT_NE(essence(run_world(usual_world(), "c")), essence(run::load_record(folder("a")).value()));
}

TEST_F(LoopTest, AFinishedRunThatIsResumedGivesItsRecordAndDoesNothing) {
  const run::Record record = run_world(usual_world());
  const std::string journal = read_file(record.folder / run::kJournal).value();
  ScriptedLab lab(usual_world());
  const auto again = resume_run(folder(), lab, listener_);
  ASSERT_TRUE(again.has_value()) << again.error().line();
  EXPECT_EQ(essence(*again), essence(record));
  EXPECT_TRUE(lab.calls.empty());
  EXPECT_EQ(read_file(record.folder / run::kJournal).value(), journal);
}

TEST_F(LoopTest, ARunInTheFolderIsNotOverwritten) {
  run_world(usual_world());
  ScriptedLab lab(usual_world());
  const auto second = start(lab);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kUsage);
  EXPECT_NE(second.error().line().find("--resume"), std::string::npos);
}

TEST_F(LoopTest, SomebodyElsesFilesAreNotMixedWithARun) {
  ASSERT_TRUE(make_directories(folder()).has_value());
  ASSERT_TRUE(write_file(folder() / "thesis.tex", "x").has_value());
  ScriptedLab lab(usual_world());
  EXPECT_EQ(start(lab).error().kind, ErrorKind::kUsage);
}

TEST_F(LoopTest, CancelledItStopsAtOnceAndGoesOnLater) {
  const std::string undisturbed = essence(run_world(usual_world(), "undisturbed"));
  listener_.cancel_after = 12;
  ScriptedLab lab(usual_world());
  const auto stopped = start(lab);
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(exit_status(stopped.error().kind), 130);
  listener_.cancel_after = -1;
  const auto record = resume_run(folder(), lab, listener_);
  ASSERT_TRUE(record.has_value()) << record.error().line();
  EXPECT_EQ(essence(*record), undisturbed);
}

TEST_F(LoopTest, OnAnotherMachineItRefusesAndNamesWhatDiffers) {
  ScriptedLab lab(usual_world());
  listener_.cancel_after = 12;
  ASSERT_FALSE(start(lab).has_value());
  listener_.cancel_after = -1;
  lab.world().environment["cores"] = "64";
  lab.world().environment["engine.scripted"] = "2";
  const auto refused = resume_run(folder(), lab, listener_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(exit_status(refused.error().kind), 2);
  EXPECT_NE(refused.error().line().find("cores was 2 and is 64; engine.scripted was 1 and is 2"), std::string::npos)
      << refused.error().line();
}

TEST_F(LoopTest, AModelThatChangedMeanwhileIsRefused) {
  ScriptedLab lab(usual_world());
  listener_.cancel_after = 12;
  ASSERT_FALSE(start(lab).has_value());
  listener_.cancel_after = -1;
  ASSERT_TRUE(write_file(plan_.model, "another\n").has_value());
  EXPECT_NE(resume_run(folder(), lab, listener_).error().line().find("model file has changed"), std::string::npos);
}

TEST_F(LoopTest, AReferenceThatTheEngineRefusesIsOneClearErrorOfTheTool) {
  ScriptedWorld world = usual_world();
  world.reference_fails = true;
  ScriptedLab lab(world);
  const auto refused = start(lab);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(exit_status(refused.error().kind), 3);
  EXPECT_EQ(refused.error().line(),
            "the engine refuses the model: node 3 (the accuracy reference: onnxruntime without optimizations)");
}

TEST_F(LoopTest, AFullDiskStopsTheRunAndTheJournalGoesOnLater) {
  const std::string undisturbed = essence(run_world(usual_world(), "undisturbed"));
  ScriptedLab lab(usual_world());
  const auto stopped = start_run(plan_, folder(), lab, listener_, [&](std::string_view point) {
    // Trials can no longer make their folders: as on a full disk, but only for one user.
    if (point == "judged: committed") {
      std::error_code code;
      fs::rename(folder() / run::kPatches, folder() / "moved", code);
      std::ofstream(folder() / run::kPatches) << "not a folder";
    }
  });
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().kind, ErrorKind::kIo) << stopped.error().line();
  fs::remove(folder() / run::kPatches);
  fs::rename(folder() / "moved", folder() / run::kPatches);
  const auto record = resume_run(folder(), lab, listener_);
  ASSERT_TRUE(record.has_value()) << record.error().line();
  EXPECT_EQ(essence(*record), undisturbed);
}

TEST_F(LoopTest, ADryRunListsWhatItWouldTryInOrderAndTriesNothing) {
  ScriptedLab lab(usual_world());
  const auto planned = plan_run(plan_, folder(), lab, listener_);
  ASSERT_TRUE(planned.has_value()) << planned.error().line();
  ASSERT_GE(planned->planned.size(), 3u);
  for (size_t i = 1; i < planned->planned.size(); ++i)
    EXPECT_GE(planned->planned[i - 1].value, planned->planned[i].value);
  EXPECT_EQ(planned->trials.size(), 1u);
  EXPECT_EQ(planned->to_json().at("planned").size(), planned->planned.size());
  const auto record = resume_run(folder(), lab, listener_);
  ASSERT_TRUE(record.has_value()) << record.error().line();
  EXPECT_EQ(essence(*record), essence(run_world(usual_world(), "undisturbed")));
}

// Stops at the n-th point (a call of the Lab, or a point of Run) as a kill would, and goes on.
class CrashTest : public LoopTest {
 protected:
  // Runs until point `n`; false when the run has fewer points. Destructors run, which a kill would not let them; the
  // e2e test kills for real.
  bool crash_at(int n, const std::string& name, const ScriptedWorld& world) {
    ScriptedLab lab(world);
    int count = 0;
    auto point = [&](std::string_view) {
      if (count++ == n) throw Crash{};
    };
    lab.at_call = point;
    try {
      auto record = fs::exists(folder(name) / run::kJournal) ? resume_run(folder(name), lab, listener_, point)
                                                             : start_run(plan_, folder(name), lab, listener_, point);
      EXPECT_TRUE(record.has_value()) << record.error().line();
      return false;
    } catch (const Crash&) {
      return true;
    }
  }
  std::string go_on(const std::string& name, const ScriptedWorld& world) {
    ScriptedLab lab(world);
    auto record = resume_run(folder(name), lab, listener_);
    // Killed before its first transaction there is nothing to resume, and starting again is allowed.
    if (!record) record = start_run(plan_, folder(name), lab, listener_);
    EXPECT_TRUE(record.has_value()) << record.error().line();
    if (!record) return "failed";
    for (const run::Check& c : run::checklist(*record)) EXPECT_TRUE(c.passed) << c.list << ": " << c.item << c.note;
    const auto left = run::remove_half_made(folder(name)).value();
    EXPECT_TRUE(left.empty()) << left.front();
    return essence(*record);
  }
};

TEST_F(CrashTest, ACrashAtAnyPointChangesNothingOfTheResult) {
  ScriptedWorld world;  // one of each kind of step, so that there are few enough points to try them all
  world.changes = {{.id = "first", .gain = 1.2, .predicted = 1.3},
                   {.id = "huge-pages", .kind = "setting", .params = {{"huge", "on"}}, .gain = 1.08, .predicted = 1.05},
                   {.id = "threads", .kind = "setting", .params = {{"threads", "1"}}, .gain = 0.7, .predicted = 1.05},
                   {.id = "better", .gain = 1.5, .predicted = 1.2, .voids = "first"},
                   {.id = "crashes", .fails_at = "check"},
                   {.id = "int8", .kind = "quantize", .accuracy = accuracy::Class::kLossy}};
  world.synthetic = true;
  plan_.goal = run::Goal{run::Goal::Kind::kSpeedup, 1.8};  // met by the estimate only: one more step
  const std::string undisturbed = essence(run_world(world, "undisturbed"));
  int n = 0;
  for (; crash_at(n, fmt::format("crash{}", n), world); ++n) {
    ASSERT_EQ(go_on(fmt::format("crash{}", n), world), undisturbed) << "crash at point " << n;
    fs::remove_all(folder(fmt::format("crash{}", n)));
  }
  EXPECT_GT(n, 60) << "points";
}

TEST_F(CrashTest, ManyCrashesInARowChangeNothingEither) {
  const ScriptedWorld world = usual_world();
  const std::string undisturbed = essence(run_world(world, "undisturbed"));
  // Always a few points further than the last time: every step is interrupted at least once.
  int crashes = 0;
  while (crash_at(7, "run", world)) ASSERT_LT(++crashes, 500);
  EXPECT_GT(crashes, 5);
  EXPECT_EQ(go_on("run", world), undisturbed);
}

// Random worlds: whatever is true there, the Run ends, says what it did, and the truth is inside its interval.
TEST_F(LoopTest, ThousandsOfRandomWorldsEndWithAnHonestResult) {
  const int worlds = std::getenv("HONE_LONG_TESTS") != nullptr ? 3000 : 60;
  int covered = 0, finals = 0, false_keeps = 0, no_ops = 0;
  for (int i = 0; i < worlds; ++i) {
    std::mt19937_64 random(static_cast<uint64_t>(i));
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
    ScriptedWorld world;
    world.sd = uniform(0.005, 0.05);
    world.baseline_ms = std::exp(uniform(-2, 4));
    const int count = static_cast<int>(uniform(0, 12));
    for (int c = 0; c < count; ++c) {
      ScriptedChange change{.id = fmt::format("change-{}", c)};
      const double kind = uniform(0, 1);
      change.kind = kind < 0.4 ? "setting" : kind < 0.5 ? "engine" : "graph";
      if (change.kind == "setting") change.params = {{fmt::format("s{}", c), "1"}};
      if (change.kind == "engine") change.params = {{"engine", fmt::format("e{}", c)}};
      change.gain = uniform(0, 1) < 0.4 ? 1.0 : std::exp(uniform(-0.3, 0.4));
      change.predicted = uniform(1.0, 1.4);
      change.upper_bound = change.predicted * uniform(1.0, 1.5);
      change.chance = uniform(0.05, 0.8);
      change.passes_gate = uniform(0, 1) > 0.1;
      const double fails = uniform(0, 1);
      if (fails < 0.15) change.fails_at = fails < 0.05 ? "apply" : fails < 0.1 ? "check" : "compare";
      world.changes.push_back(change);
    }
    plan_.seed = static_cast<uint64_t>(i);
    const std::string name = fmt::format("world{}", i);
    const run::Record record = run_world(world, name);
    ASSERT_EQ(record.progress, run::Progress::kFinished) << i;
    ASSERT_FALSE(record.stops.empty());
    for (size_t t = 0; t < record.trials.size(); ++t) ASSERT_EQ(record.trials[t].number, static_cast<int>(t));
    for (const run::Check& c : run::checklist(record))
      if (c.item != "the final re-measurement confirms a gain") {
        ASSERT_TRUE(c.passed) << i << " " << c.list << ": " << c.item << ": " << c.note;
      }
    ScriptedLab truth(world);
    for (const run::Trial& t : record.trials) {
      if (t.kind == "ablation" || !t.comparison || t.stage == run::Stage::kFinal) continue;
      const double real = t.comparison->a_ms / t.comparison->b_ms;
      if (real > 1.03) continue;
      ++no_ops;
      if (t.kept()) ++false_keeps;
    }
    if (const run::Trial* last = record.final_trial()) {
      ++finals;
      const double real = last->comparison->a_ms / last->comparison->b_ms;
      if (last->comparison->speedup.low <= real && real <= last->comparison->speedup.high) ++covered;
      EXPECT_GT(real, 1.0) << "best is slower than the original in world " << i;
    }
    fs::remove_all(folder(name));
  }
  EXPECT_GT(finals, worlds / 4);
  EXPECT_GT(covered, finals * 0.85);
  EXPECT_LE(false_keeps, 1 + no_ops / 50) << "of " << no_ops;
}

}  // namespace
}  // namespace hone::loop
