// Worker processes with a scripted engine: this test program is also the worker it starts (main() below), so that a
// session can crash, hang or eat memory on demand. The model's path is the script.
// SPDX-License-Identifier: Apache-2.0
#include "worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iostream>
#include <thread>

#include "protocol/data.h"
#include "worker/serve.h"

namespace hone::worker {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

// ---- the engine inside the worker ----

class ScriptedSession final : public engine::Session {
 public:
  explicit ScriptedSession(std::string script, uint64_t seed) : script_(std::move(script)), seed_(seed) {}
  const std::vector<engine::TensorInfo>& inputs() const override { return inputs_; }
  const std::vector<engine::TensorInfo>& outputs() const override { return outputs_; }
  Status bind(const model::NamedTensors& sample) override {
    value_ = sample.empty() ? 0 : sample[0].second.at<float>(0);
    return {};
  }
  Status run() override {
    ++runs_;
    if (script_ == "fake-clock") clock_.advance_ns(1'000'000 + static_cast<int64_t>(value_) * 1'000'000);
    if (script_ == "still-clock") return {};
    if (script_ == "segv" && runs_ == 4) crash();
    if (script_ == "exit" && runs_ == 4) ::_exit(9);
    if (script_ == "hang" && runs_ == 4) ::sleep(1000);
    if (script_ == "eat" && runs_ == 4) eat();
    if (script_ == "slow") ::usleep(250'000);
    if (script_ == "refuse-run") return fail(tool_failed("shape mismatch", "node Conv_3", "give another shape"));
    if (script_ == "throw") throw std::runtime_error("thrown by the engine");
    if (!fake()) ::usleep(200);
    return {};
  }
  Result<model::NamedTensors> fetch() override {
    return model::NamedTensors{{"y", model::Tensor::of<float>({1}, {value_ * 2})}};
  }
  Clock& clock() override { return fake() ? static_cast<Clock&>(clock_) : steady_clock(); }
  Result<engine::RawProfile> end_profile() override {
    return engine::RawProfile{{fs::path("profile_" + std::to_string(seed_)), "b"}, runs_};
  }

 private:
  bool fake() const { return script_.ends_with("-clock"); }
  static void crash() {
    std::cerr << "first line\nMlasGemm: bad pointer\nabout to crash" << std::endl;
    ::raise(SIGSEGV);
  }
  static void eat() {
    std::vector<std::string> memory;
    while (true) memory.emplace_back(std::string(16 << 20, 'x')), ::usleep(1000);
  }
  std::string script_;
  uint64_t seed_;
  int runs_ = 0;
  float value_ = 0;
  ManualClock clock_;
  std::vector<engine::TensorInfo> inputs_{{"x", model::DType::kFloat, {1}}},
      outputs_{{"y", model::DType::kFloat, {-1, 3}}};
};

Result<std::unique_ptr<engine::Session>> open_script(const engine::Configuration& configuration,
                                                     const engine::OpenOptions& options) {
  const std::string script = configuration.model.string();
  if (script == "refuse") return fail(tool_failed("op Foo is not known", "refuse", "use another engine"));
  if (script == "abort") std::abort();
  if (const auto it = configuration.settings.find("expect_environment"); it != configuration.settings.end()) {
    const char* value = std::getenv("GLIBC_TUNABLES");
    if (value == nullptr || it->second != value) return fail(tool_failed(value ? value : "not set"));
  }
  return std::unique_ptr<engine::Session>(new ScriptedSession(script, options.instance_seed));
}

// ---- the tests ----

class WorkerProcess : public testing::Test {
 protected:
  WorkerProcess() : folder_(*ScratchFolder::create("hone-worker-test")) {
    options_.log = folder_.path() / "worker.log";
    options_.configuration.engine = "scripted";
  }
  Result<std::unique_ptr<Worker>> start(const std::string& script) {
    options_.configuration.model = script;
    return Worker::start(options_);
  }
  void give_samples(int count) {
    options_.data = folder_.path() / "samples";
    std::vector<model::NamedTensors> samples;
    for (int i = 0; i < count; ++i) samples.push_back({{"x", model::Tensor::of<float>({1}, {static_cast<float>(i)})}});
    ASSERT_TRUE(make_directories(options_.data));
    ASSERT_TRUE(protocol::write_samples(options_.data, samples));
  }
  ScratchFolder folder_;
  Options options_;
};

constexpr BlockRequest kShort{.settle_ms = 2, .timed_ms = 10};

TEST_F(WorkerProcess, OpensWarmsUpAndMeasures) {
  auto worker = start("usual");
  ASSERT_TRUE(worker) << worker.error().line();
  EXPECT_FALSE((*worker)->fake_clock());
  EXPECT_EQ((*worker)->outputs()[0].dims, (std::vector<int64_t>{-1, 3}));
  ASSERT_TRUE((*worker)->warm_up(1, 2));
  BlockRequest request = kShort;
  request.keep_samples = true;
  auto block = (*worker)->block(request);
  ASSERT_TRUE(block) << block.error().line();
  EXPECT_GE(block->settle_iterations, 2);
  EXPECT_GE(block->iterations, 3);
  EXPECT_EQ(block->samples_ms.size(), static_cast<size_t>(block->iterations));
  EXPECT_GE(block->min, .2);
  EXPECT_LE(block->min, block->q10);
  EXPECT_LE(block->q25, block->q50);
  EXPECT_LE(block->q90, block->max);
  EXPECT_GE(block->timed_s, .010);
  EXPECT_GT(block->start_s, 0);
}

TEST_F(WorkerProcess, HonoursTheLeastNumbersOfIterations) {
  auto worker = start("usual");
  ASSERT_TRUE(worker);
  auto block = (*worker)->block({.settle_ms = 0, .min_settle_iterations = 7, .timed_ms = 0, .min_iterations = 5});
  ASSERT_TRUE(block);
  EXPECT_EQ(block->settle_iterations, 7);
  EXPECT_EQ(block->iterations, 5);
}

TEST_F(WorkerProcess, AFakeClockDecidesAboutTimeAndThereAreNoCounters) {
  give_samples(3);
  auto worker = start("fake-clock");
  ASSERT_TRUE(worker) << worker.error().line();
  EXPECT_TRUE((*worker)->fake_clock());
  EXPECT_EQ((*worker)->sample_count(), 3u);
  for (const size_t sample : {0, 1, 2, 3, 8}) {
    auto block = (*worker)->block({.settle_ms = 20, .timed_ms = 120, .sample = sample});
    ASSERT_TRUE(block);
    const double ms = 1. + static_cast<double>(sample % 3);
    EXPECT_DOUBLE_EQ(block->q25, ms) << "one sample per block";
    EXPECT_EQ(block->iterations, static_cast<int>(120 / ms));
    EXPECT_EQ(block->settle_iterations, static_cast<int>(std::ceil(20 / ms)));
    EXPECT_EQ(block->pressure, -1);
    EXPECT_EQ(block->own_cpu_s, 0);
  }
}

TEST_F(WorkerProcess, AClockThatStandsStillIsAnErrorNotAHang) {
  auto worker = start("still-clock");
  ASSERT_TRUE(worker);
  auto block = (*worker)->block(kShort);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().line(), "the engine's clock stands still");
}

TEST_F(WorkerProcess, ARefusedModelIsTheEnginesOwnError) {
  auto worker = start("refuse");
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().kind, ErrorKind::kToolFailed);
  EXPECT_EQ(worker.error().line(), "op Foo is not known: refuse; use another engine");
}

TEST_F(WorkerProcess, AnErrorOfOneRequestLeavesTheWorkerAlive) {
  auto worker = start("refuse-run");
  ASSERT_TRUE(worker);
  auto block = (*worker)->block(kShort);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().line(), "shape mismatch: node Conv_3; give another shape");
  EXPECT_TRUE((*worker)->memory());
}

TEST_F(WorkerProcess, AnExceptionIsAnError) {
  auto worker = start("throw");
  ASSERT_TRUE(worker);
  EXPECT_THAT((*worker)->block(kShort).error().line(), HasSubstr("thrown by the engine"));
}

TEST_F(WorkerProcess, ACrashNamesTheSignalAndTheLastLines) {
  ASSERT_TRUE(write_file(options_.log, "of an earlier worker\n"));
  auto worker = start("segv");
  ASSERT_TRUE(worker);
  auto block = (*worker)->block(kShort);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().kind, ErrorKind::kToolFailed);
  EXPECT_EQ(block.error().line(),
            "engine scripted crashed: SIGSEGV (segmentation fault): segv; its last words: first line / MlasGemm: bad "
            "pointer / about to crash");
  EXPECT_EQ((*worker)->block(kShort).error().line(), block.error().line()) << "dead is dead";
  EXPECT_FALSE((*worker)->freeze());
}

TEST_F(WorkerProcess, AnExitIsACrashToo) {
  auto worker = start("exit");
  ASSERT_TRUE(worker);
  EXPECT_EQ((*worker)->block(kShort).error().line(), "engine scripted crashed: exit status 9: exit");
}

TEST_F(WorkerProcess, ACrashWhileOpeningIsAnError) {
  EXPECT_THAT(start("abort").error().line(), HasSubstr("engine scripted crashed: SIGABRT"));
}

TEST_F(WorkerProcess, AHangEndsAtTheReplyLimit) {
  options_.limits.reply = milliseconds(300);
  auto worker = start("hang");
  ASSERT_TRUE(worker);
  auto block = (*worker)->block(kShort);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().kind, ErrorKind::kTimedOut);
  EXPECT_EQ(block.error().line(), "engine scripted gave no answer in 0.3 s: hang");
}

TEST_F(WorkerProcess, TheReplyLimitIsForOneInferenceNotForAllSamples) {
  options_.limits.reply = milliseconds(1000);
  give_samples(6);  // 1.5 s together
  auto worker = start("slow");
  ASSERT_TRUE(worker);
  const Status ran = (*worker)->run_samples(folder_.path() / "out");
  EXPECT_TRUE(ran) << ran.error().line();
  const auto profiled = (*worker)->profile(6);
  EXPECT_TRUE(profiled) << profiled.error().line();
  EXPECT_TRUE((*worker)->block({.settle_ms = 0, .timed_ms = 0, .min_iterations = 1})) << "no sign of life is left over";
}

TEST_F(WorkerProcess, CancellingEndsAWaitingRequest) {
  std::atomic<bool> cancelled = false;
  options_.cancelled = [&] { return cancelled.load(); };
  give_samples(4);
  auto worker = start("hang");  // in the fourth inference, for longer than any test may take
  ASSERT_TRUE(worker);
  cancelled = true;
  EXPECT_EQ((*worker)->run_samples(folder_.path() / "out").error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ((*worker)->memory().error().kind, ErrorKind::kInterrupted) << "it is dead";
}

TEST_F(WorkerProcess, EatingMemoryEndsAtTheMemoryLimit) {
  options_.limits.memory_bytes = 300'000'000;
  auto worker = start("eat");
  ASSERT_TRUE(worker);
  auto block = (*worker)->block(kShort);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().kind, ErrorKind::kToolFailed);
  EXPECT_EQ(block.error().line(), "engine scripted is out of memory: more than 0.3 GB: eat");
}

TEST_F(WorkerProcess, AKillFromOutsideIsGuessedToBeTheKernels) {
  auto worker = start("usual");
  ASSERT_TRUE(worker);
  ASSERT_TRUE((*worker)->freeze());
  ::kill((*worker)->pid(), SIGKILL);
  ASSERT_FALSE((*worker)->thaw());
  EXPECT_THAT((*worker)->block(kShort).error().line(),
              AllOf(HasSubstr("SIGKILL (killed)"), HasSubstr("out of memory")));
}

TEST_F(WorkerProcess, AFrozenWorkerUsesNoCpuAndGoesOn) {
  auto worker = start("usual");
  ASSERT_TRUE(worker);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*worker)->freeze());
    ASSERT_TRUE((*worker)->freeze()) << "twice is once";
    std::ifstream file("/proc/" + std::to_string((*worker)->pid()) + "/stat");
    std::string id, name, state;
    file >> id >> name >> state;
    EXPECT_EQ(state, "T");
    EXPECT_TRUE((*worker)->memory()) << "read from outside";
    ASSERT_TRUE((*worker)->thaw());
    ASSERT_TRUE((*worker)->block({.settle_ms = 0, .timed_ms = 0}));
  }
}

TEST_F(WorkerProcess, RunsEverySampleAndWritesTheOutputs) {
  give_samples(4);
  auto worker = start("usual");
  ASSERT_TRUE(worker);
  ASSERT_TRUE((*worker)->run_samples(folder_.path() / "out"));
  auto outputs = protocol::read_samples(folder_.path() / "out");
  ASSERT_TRUE(outputs) << outputs.error().line();
  ASSERT_EQ(outputs->size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ((*outputs)[i][0].second.at<float>(0), 2.f * static_cast<float>(i));
  ASSERT_TRUE((*worker)->run_samples(folder_.path() / "two", 2));
  EXPECT_EQ(protocol::read_samples(folder_.path() / "two")->size(), 2u);
}

TEST_F(WorkerProcess, AMissingSampleFolderIsBadInput) {
  options_.data = folder_.path() / "none";
  auto worker = start("usual");
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().kind, ErrorKind::kBadInput);
}

TEST_F(WorkerProcess, EndsAProfileAndSaysWhatWasWritten) {
  options_.instance_seed = 42;
  auto worker = start("usual");
  ASSERT_TRUE(worker);
  auto raw = (*worker)->profile(5);
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->files, (std::vector<fs::path>{"profile_42", "b"}));
  EXPECT_EQ(raw->iterations, 5);
}

TEST_F(WorkerProcess, MemoryIsThatOfTheWorker) {
  auto worker = start("usual");
  ASSERT_TRUE(worker);
  auto memory = (*worker)->memory();
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->baseline_bytes, 1 << 20);
  EXPECT_GE(memory->peak_bytes, memory->baseline_bytes);
}

TEST_F(WorkerProcess, ProcessSettingsAreInItsEnvironmentAfterTheInheritedOnes) {
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=7", 1);
  options_.configuration.settings = {{"process.huge_pages", "on"},
                                     {"expect_environment", "glibc.malloc.tcache_count=7:glibc.malloc.hugetlb=1"}};
  auto worker = start("usual");
  ::unsetenv("GLIBC_TUNABLES");
  EXPECT_TRUE(worker) << worker.error().line();
}

TEST_F(WorkerProcess, RunsOnItsCpus) {
  options_.cpus = {usable_cpus().back()};
  auto worker = start("usual");
  ASSERT_TRUE(worker) << worker.error().line();
  std::ifstream file("/proc/" + std::to_string((*worker)->pid()) + "/status");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("Cpus_allowed_list:\t" + std::to_string(usable_cpus().back()) + "\n"));
}

TEST_F(WorkerProcess, DiesWithItsParentEvenWhenFrozen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto worker = start("usual");
    if (!worker || !(*worker)->freeze()) ::_exit(1);
    const int pid = (*worker)->pid();
    if (::write(ends[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
    ::pause();
  }
  int pid = 0;
  ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const auto gone = [&] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string id, name, state;
    return !(file >> id >> name >> state) || state == "Z";
  };
  for (int i = 0; i < 2000 && !gone(); ++i) ::usleep(5000);
  EXPECT_TRUE(gone());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(WorkerProgram, AWrongPathIsSaid) {
  const std::string old = std::getenv("HONE_WORKER");
  ::setenv("HONE_WORKER", "/nonexistent/worker", 1);
  auto program = worker_program();
  ::setenv("HONE_WORKER", old.c_str(), 1);
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().line(), HasSubstr("is not a program: /nonexistent/worker"));
}

}  // namespace
}  // namespace hone::worker

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--fd")
    ::_exit(hone::worker::serve(std::atoi(argv[2]), hone::worker::open_script));
  ::setenv("HONE_WORKER", "/proc/self/exe", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
