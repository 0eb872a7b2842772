// The whole loop with real worker processes on the fake engine, and kill -9 at random moments of it.
// SPDX-License-Identifier: Apache-2.0
#include "loop/worker_lab.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "loop/session.h"
#include "run/checklist.h"
#include "run/layout.h"
#include "run/run.h"

namespace hone::loop {
namespace {

// A lever of the fake engine: settings of engine/fake/, whose hidden effect the test knows.
class FakeLever final : public change::Change {
 public:
  FakeLever(std::string id, engine::Settings settings, double predicted, accuracy::Class klass = {})
      : info_{std::move(id), change::Kind::kSetting, klass, "a setting of the fake engine", {}},
        settings_(std::move(settings)),
        predicted_(predicted) {}
  const change::ChangeInfo& info() const override { return info_; }
  std::vector<change::Proposal> propose(const change::Context& context, std::string*) const override {
    for (const auto& [id, value] : settings_)
      if (context.best.settings.contains(id) && context.best.settings.at(id) == value) return {};
    change::Proposal p;
    p.change = info_.id;
    p.params = settings_;
    p.hypothesis = info_.id + " is faster";
    p.predicted = predicted_;
    p.upper_bound = 2;
    p.accuracy = info_.accuracy;
    return {p};
  }
  Result<change::Applied> apply(const change::Proposal& proposal, const change::Context& context,
                                const fs::path&) const override {
    change::Applied applied;
    applied.configuration = context.best;
    for (const auto& [id, value] : proposal.params) applied.configuration.settings[id] = value;
    applied.summary = proposal.key();
    return applied;
  }

 private:
  change::ChangeInfo info_;
  engine::Settings settings_;
  double predicted_;
};

// Rewrites the model: one Identity less.
class DropIdentity final : public change::Change {
 public:
  const change::ChangeInfo& info() const override { return info_; }
  std::vector<change::Proposal> propose(const change::Context& context, std::string*) const override {
    if (identity(context.model.graph()) == model::kNoNode) return {};
    change::Proposal p;
    p.change = info_.id;
    p.hypothesis = "an Identity costs time";
    p.predicted = 1.2;
    p.upper_bound = 1.5;
    return {p};
  }
  Result<change::Applied> apply(const change::Proposal&, const change::Context& context,
                                const fs::path& folder) const override {
    model::Model model = context.model.clone();
    model::Graph& graph = model.graph();
    const model::NodeId node = identity(graph);
    const model::ValueId from = graph.node(node).outputs[0], to = graph.node(node).inputs[0];
    graph.remove_node(node);
    if (!graph.replace_uses(from, to)) return fail(unsupported("an output keeps its Identity"));
    change::Applied applied;
    applied.configuration = context.best;
    applied.configuration.model = folder / "model.onnx";
    HONE_TRY(model.save(applied.configuration.model));
    applied.summary = "1 Identity removed";
    applied.nodes_before = static_cast<int64_t>(graph.node_count()) + 1;
    applied.nodes_after = static_cast<int64_t>(graph.node_count());
    return applied;
  }

 private:
  static model::NodeId identity(const model::Graph& graph) {
    for (model::NodeId id : graph.order())
      if (graph.node(id).is("Identity")) return id;
    return model::kNoNode;
  }
  change::ChangeInfo info_{"drop-identity", change::Kind::kGraph, accuracy::Class::kExact, "Identity -> nothing", {}};
};

const std::vector<const change::Change*>& fake_changes() {
  static const FakeLever fast("speed", {{"fake.speed", "1.3"}}, 1.3);
  static const FakeLever slow("spinning", {{"intra_op_spinning", "off"}}, 1.05);
  static const FakeLever crash("crash", {{"fake.crash", "run"}}, 1.4);
  static const FakeLever wrong("wrong", {{"fake.error", "0.5"}, {"fake.speed", "3"}}, 1.35);
  static const DropIdentity drop;
  static const std::vector<const change::Change*> all = {&fast, &slow, &crash, &wrong, &drop};
  return all;
}

constexpr const char* kModel = R"(
<ir_version: 8, opset_import: ["" : 17]>
net (float[4, 8] x) => (float[4, 8] y) {
  a = Relu(x)
  b = Identity(a)
  c = Sigmoid(b)
  y = Add(c, x)
}
)";

class Quiet final : public Listener {
 public:
  std::vector<std::string> lines;
  void line(const std::string& text) override { lines.push_back(text); }
};

class WorkerLabTest : public testing::Test {
 protected:
  WorkerLabTest() {
    auto model = model::Model::from_text(kModel);
    EXPECT_TRUE(model.has_value()) << model.error().line();
    EXPECT_TRUE(model->save(scratch_.path() / "net.onnx").has_value());
    plan_.model = scratch_.path() / "net.onnx";
    plan_.engines = {"fake"};
    plan_.seed = 3;
  }
  Result<run::Record> start(const std::string& name) {
    WorkerLab lab(fake_changes());
    return start_run(plan_, scratch_.path() / name, lab, listener_);
  }
  // One whole run, made once: each start of a worker process takes its time.
  static const run::Record& undisturbed() {
    static WorkerLabTest* test = nullptr;
    static run::Record record;
    if (test == nullptr) {
      test = new WorkerLabTest;  // its folder is removed at the end, below
      const auto begin = std::chrono::steady_clock::now();
      auto result = test->start("run");
      EXPECT_TRUE(result.has_value()) << result.error().line();
      if (result) record = *result;
      whole_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::atexit([] { delete test; });
    }
    return record;
  }
  void TestBody() override {}
  static inline double whole_s_ = 0;
  Result<run::Record> start_or_resume(const std::string& name) {
    WorkerLab lab(fake_changes());
    auto record = resume_run(scratch_.path() / name, lab, listener_);
    if (record || record.error().what.find("nothing to resume") == std::string::npos) {
      if (record || fs::exists(scratch_.path() / name / run::kJournal)) return record;
    }
    return start_run(plan_, scratch_.path() / name, lab, listener_);
  }

  ScratchFolder scratch_ = ScratchFolder::create("hone-e2e").value();
  run::Plan plan_;
  Quiet listener_;
};

std::string verdict_of(const run::Record& record, const std::string& change) {
  for (const run::Trial& t : record.trials)
    if (t.proposal.change == change && t.verdict) return std::string(verdict::to_text(t.verdict->kind));
  return "none";
}

std::string essence(const run::Record& record) {
  std::string out;
  for (const run::Trial& t : record.trials) {
    out += fmt::format("{} {} {}", t.number, t.title(), t.verdict ? verdict::to_text(t.verdict->kind) : "-");
    if (t.comparison) out += fmt::format(" {:.9f}", t.comparison->speedup.estimate);
    out += "\n";
  }
  for (const run::Stop& s : record.stops) out += s.reason + "\n";
  return out + dump_json(read_json(record.folder / "best" / "settings.json").value()) +
         sha256_of_file(record.folder / "best" / "model.onnx").value();
}

TEST_F(WorkerLabTest, OptimizesOnTheFakeEngineFromModelToBest) {
  const run::Record* record = &undisturbed();
  EXPECT_EQ(verdict_of(*record, "speed"), "kept");
  EXPECT_EQ(verdict_of(*record, "crash"), "failed");
  EXPECT_EQ(verdict_of(*record, "wrong"), "rolled_back");
  EXPECT_EQ(verdict_of(*record, "drop-identity"), "kept");
  EXPECT_NEAR(record->speedup()->estimate, record->baseline_ms().value() / record->best_ms().value(), 0.05);
  EXPECT_GT(record->speedup()->low, 1.3);
  for (const run::Trial& t : record->trials)
    if (t.proposal.change == "crash") {
      EXPECT_NE(t.verdict->reason.find("SIGSEGV"), std::string::npos) << t.verdict->reason;
      EXPECT_NE(t.verdict->reason.find("crash in run, as asked"), std::string::npos) << "last log lines are missing";
      const std::string log = read_file(record->folder / t.dir / "convert.log").value();
      EXPECT_NE(log.find("crash in run, as asked"), std::string::npos) << log;
    }
  for (const run::Check& c : run::checklist(*record)) EXPECT_TRUE(c.passed) << c.list << ": " << c.item << c.note;
  EXPECT_TRUE(model::Model::load(record->folder / "best" / "model.onnx").has_value());
}

// The real engine and the real Changes, all but the measuring, which a busy machine makes slow.
TEST_F(WorkerLabTest, EveryProposalForARealEngineIsAppliedAndChecked) {
  plan_.engines = {"onnxruntime"};
  run::Record record;
  record.plan = plan_;
  record.folder = scratch_.path() / "real";
  ASSERT_TRUE(make_directories(record.folder / "trial").has_value());
  Task task;
  task.folder = record.folder / "trial";
  WorkerLab lab;
  const auto fixed = lab.fix(plan_, record.folder / run::kSamples);
  ASSERT_TRUE(fixed.has_value()) << fixed.error().line();
  record.protocol = fixed->protocol;
  ASSERT_TRUE(lab.begin(record).has_value());
  const Status reference = lab.reference(record.folder / run::kReference, task);
  ASSERT_TRUE(reference.has_value()) << reference.error().line();
  const engine::Configuration original{"onnxruntime", plan_.model, {}};
  const auto diagnosis = lab.profile(original, 0.01, task);
  ASSERT_TRUE(diagnosis.has_value()) << diagnosis.error().line();
  EXPECT_GT(diagnosis->latency_ms, 0);
  EXPECT_FALSE(diagnosis->operators.empty());
  const auto proposed = lab.propose(original, *diagnosis);
  ASSERT_TRUE(proposed.has_value()) << proposed.error().line();
  EXPECT_GT(proposed->size(), 3u);
  for (const Candidate& c : *proposed) {
    const fs::path folder = task.folder / c.proposal.change;
    ASSERT_TRUE(make_directories(folder).has_value());
    const auto applied = lab.apply(c.proposal, original, *diagnosis, folder);
    ASSERT_TRUE(applied.has_value()) << c.proposal.key() << ": " << applied.error().line();
    run::TrialLogs logs;
    const auto report = lab.check(applied->configuration, c.proposal.accuracy, task, &logs);
    ASSERT_TRUE(report.has_value()) << c.proposal.key() << ": " << report.error().line();
    EXPECT_TRUE(report->passed) << c.proposal.key() << ": " << report->why;
    EXPECT_EQ(logs.converted->exit_code, 0);
  }
}

TEST_F(WorkerLabTest, CancellingEndsReferenceCheckAndProfileOfAnEngineThatHangs) {
  const fs::path rules = plan_.model.string() + ".fake.json";
  ASSERT_TRUE(write_file(rules, R"({"rules": [{"if": {}, "set": {"fake.hang": "run"}}]})").has_value());
  run::Record record;
  record.plan = plan_;
  record.folder = scratch_.path() / "cancelled";
  Task task;
  task.folder = record.folder / "trial";
  task.cancelled = [] { return true; };
  ASSERT_TRUE(make_directories(task.folder).has_value());
  WorkerLab lab;
  const auto fixed = lab.fix(plan_, record.folder / run::kSamples);
  ASSERT_TRUE(fixed.has_value()) << fixed.error().line();
  record.protocol = fixed->protocol;
  ASSERT_TRUE(lab.begin(record).has_value());
  const engine::Configuration original{"fake", plan_.model, {}};
  EXPECT_EQ(lab.reference(record.folder / run::kReference, task).error().kind, ErrorKind::kInterrupted);
  run::TrialLogs logs;
  EXPECT_EQ(lab.check(original, {}, task, &logs).error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(lab.profile(original, 1, task).error().kind, ErrorKind::kInterrupted);
}

TEST_F(WorkerLabTest, AModelIsCopiedWithItsExternalDataAndTheOriginalIsNeverLinked) {
  model::Model model = model::Model::load(plan_.model).value();
  model::SaveOptions external;
  external.weights = model::SaveOptions::Weights::kExternal;
  model.graph().add_constant("unused", model::Tensor::of<float>({1024}, std::vector<float>(1024, 1.f)));
  ASSERT_TRUE(make_directories(scratch_.path() / "external").has_value());
  ASSERT_TRUE(model.save(scratch_.path() / "external" / "big.onnx", external).has_value());
  const fs::path to = scratch_.path() / "best" / "model.onnx";
  ASSERT_TRUE(make_directories(to.parent_path()).has_value());
  WorkerLab lab;
  const Status copied = lab.copy_model(scratch_.path() / "external" / "big.onnx", to);
  ASSERT_TRUE(copied.has_value()) << copied.error().line();
  EXPECT_EQ(model::Model::load(to)->fingerprint(), model.fingerprint());
  ASSERT_TRUE(lab.copy_model(plan_.model, to).has_value());
  EXPECT_EQ(fs::hard_link_count(plan_.model), 1u);
  EXPECT_EQ(sha256_of_file(to).value(), sha256_of_file(plan_.model).value());
}

TEST_F(WorkerLabTest, AModelThatIsNoneIsOneErrorAndLeavesNoTrial) {
  ASSERT_TRUE(write_file(plan_.model, "this is no model").has_value());
  const auto record = start("run");
  ASSERT_FALSE(record.has_value());
  EXPECT_EQ(exit_status(record.error().kind), 2);
}

TEST_F(WorkerLabTest, AHoneInTheSameRunDirectoryIsRefused) {
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(start("run"));
    ::_exit(0);
  }
  while (!fs::exists(scratch_.path() / "run" / run::kProtocol))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  WorkerLab lab(fake_changes());
  const auto second = resume_run(scratch_.path() / "run", lab, listener_);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(exit_status(second.error().kind), 2);
  EXPECT_NE(second.error().line().find("another hone works in this run directory"), std::string::npos);
}

// HONE_KILLS: how often (20 is the promise; fewer by default, since each start of a worker takes its time).
TEST_F(WorkerLabTest, KilledAtRandomMomentsAndResumedItGivesTheSameResult) {
  const char* wanted = std::getenv("HONE_KILLS");
  const int kills = wanted == nullptr ? 4 : std::atoi(wanted);
  const std::string wanted_result = essence(undisturbed());
  std::mt19937_64 random(wanted == nullptr ? 1 : std::random_device{}());
  std::uniform_real_distribution<double> moment(0, whole_s_ * 2 / std::max(kills, 1));
  int done = 0;
  for (bool finished = false; !finished;) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto record = start_or_resume("killed");
      if (!record) fmt::print(stderr, "{}\n", record.error().line());
      ::_exit(record ? 0 : 1);
    }
    if (done < kills) {
      std::this_thread::sleep_for(std::chrono::duration<double>(moment(random)));
      ::kill(child, SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    finished = WIFEXITED(status);
    if (finished) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      // Finished before the last kill: the rest of the kills would find a finished run.
      break;
    }
    ++done;
  }
  const auto record = run::load_record(scratch_.path() / "killed");
  ASSERT_TRUE(record.has_value()) << record.error().line();
  EXPECT_EQ(essence(*record), wanted_result) << "after " << done << " kills";
  for (const run::Check& c : run::checklist(*record)) EXPECT_TRUE(c.passed) << c.list << ": " << c.item << c.note;
  EXPECT_GT(done, 0);
}

}  // namespace
}  // namespace hone::loop
