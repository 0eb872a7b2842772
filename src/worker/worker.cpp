// SPDX-License-Identifier: Apache-2.0
#include "worker/worker.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "worker/channel.h"
#include "worker/wire.h"

namespace hone::worker {

namespace {

using std::chrono::milliseconds;

// How often a waiting hone looks at the worker's memory, and whether it was cancelled: rarer than a usual block is
// long, so that blocks run alone.
constexpr milliseconds kWatchPeriod{250};
constexpr int kWorkerDescriptor = 3;

int64_t log_size(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

// "a / b / c": the lines as one, for an Error.
std::string joined_lines(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string(" / ") : std::string(1, c);
  return out;
}

}  // namespace

struct Worker::State {
  State(Options o, Process p, Channel c, int64_t offset)
      : options(std::move(o)), process(std::move(p)), channel(std::move(c)), log_offset(offset) {}
  Options options;
  Process process;
  Channel channel;
  int64_t log_offset;  // the log may hold earlier workers' lines
  int64_t memory_limit = 0;
  double open_seconds = 0;
  int64_t baseline_bytes = 0, peak_bytes = 0;
  bool fake_clock = false, frozen = false;
  size_t samples = 0;
  std::vector<engine::TensorInfo> outputs;
  std::optional<Error> dead;  // what ended it

  Result<Json> ask(Json request);
  // Of a request with many inferences: how often the worker has to give a sign of life.
  std::pair<std::string, int64_t> alive_ms() const { return {kAliveMs, options.limits.reply.count() / 4}; }
  tl::unexpected<Error> died(Error error) {
    dead = error;
    return fail(std::move(error));
  }
  tl::unexpected<Error> ended_by_itself();
  tl::unexpected<Error> killed(Error error) {
    process.kill();
    return died(std::move(error));
  }
  bool over_memory();
  std::string where() const { return options.configuration.model.string(); }
  std::string tail(size_t lines) const;
  std::string tail_todo() const {
    const std::string text = tail(3);
    return text.empty() ? "" : "its last words: " + joined_lines(text);
  }
};

std::string Worker::State::tail(size_t lines) const {
  if (options.log.empty() || log_size(options.log) <= log_offset) return {};
  auto text = read_file(options.log);
  if (!text || static_cast<int64_t>(text->size()) <= log_offset) return {};
  return last_lines(std::string_view(*text).substr(static_cast<size_t>(log_offset)), lines);
}

bool Worker::State::over_memory() {
  const auto memory = process_memory(process.pid());
  if (!memory) return false;
  peak_bytes = std::max(peak_bytes, memory->peak_bytes);
  return memory->resident_bytes > memory_limit;
}

tl::unexpected<Error> Worker::State::ended_by_itself() {
  const auto exit = process.wait(milliseconds(2000));
  const ProcessExit how = exit ? *exit : process.kill();
  std::string text = how.text();
  if (how.signal == SIGKILL) text += ", most likely by the kernel: out of memory";
  return died(
      tool_failed(fmt::format("engine {} crashed: {}", options.configuration.engine, text), where(), tail_todo()));
}

Result<Json> Worker::State::ask(Json request) {
  if (dead) return fail(*dead);
  HONE_CHECK(!frozen, "a frozen worker was asked {}", dump_json_line(request));
  if (!channel.send(request)) return ended_by_itself();
  const auto limit_from_now = [&] { return steady_clock().now_ns() + options.limits.reply.count() * 1'000'000; };
  int64_t end_ns = limit_from_now();
  while (true) {
    const milliseconds left((end_ns - steady_clock().now_ns()) / 1'000'000);
    if (left.count() <= 0) break;
    const auto wait = channel.wait(std::min(left, kWatchPeriod));
    if (wait == Channel::Wait::kClosed) return ended_by_itself();
    if (wait == Channel::Wait::kReady) {
      Json answer = HONE_TRY(channel.take());
      if (!answer.contains(kAlive)) return answer_or_error(std::move(answer));
      end_ns = limit_from_now();
    }
    if (options.cancelled && options.cancelled()) return killed(interrupted("stopped on request"));
    if (over_memory())
      return killed(tool_failed(fmt::format("engine {} is out of memory: more than {:.1f} GB",
                                            options.configuration.engine, static_cast<double>(memory_limit) * 1e-9),
                                where(), tail_todo()));
  }
  return killed(timed_out(fmt::format("engine {} gave no answer in {:.3g} s", options.configuration.engine,
                                      static_cast<double>(options.limits.reply.count()) * 1e-3),
                          where(), tail_todo()));
}

Worker::Worker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Worker::~Worker() = default;

Result<std::unique_ptr<Worker>> Worker::start(const Options& options) {
  auto [ours, theirs] = HONE_TRY(make_channel_pair());
  Command command;
  command.argv = {HONE_TRY(worker_program()).string(), "--fd", std::to_string(kWorkerDescriptor)};
  command.log = options.log;
  command.cpus = options.cpus;
  command.descriptors = {{theirs.descriptor(), kWorkerDescriptor}};
  command.oom_score = 1000;
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  for (const auto& [name, value] :
       engine::process_environment(options.configuration.settings, tunables ? tunables : ""))
    command.env[name] = value;
  const int64_t log_offset = log_size(options.log);
  auto state = std::make_unique<State>(options, HONE_TRY(Process::spawn(command)), std::move(ours), log_offset);
  { const Channel closed_here = std::move(theirs); }
  state->memory_limit = options.limits.memory_bytes > 0 ? options.limits.memory_bytes : machine_memory_bytes() / 10 * 8;
  const Json answer = HONE_TRY(state->ask({{"op", "open"},
                                           {"configuration", options.configuration.to_json()},
                                           {"data", options.data.string()},
                                           {"profile_dir", options.profile_dir.string()},
                                           {"instance_seed", options.instance_seed}}));
  state->open_seconds = HONE_TRY(json_field<double>(answer, "open_seconds"));
  state->fake_clock = HONE_TRY(json_field<bool>(answer, "fake_clock"));
  state->samples = HONE_TRY(json_field<size_t>(answer, "samples"));
  state->baseline_bytes = HONE_TRY(json_field<int64_t>(answer, "baseline_bytes"));
  for (const auto& output : HONE_TRY(json_field<Json>(answer, "outputs")))
    state->outputs.push_back(HONE_TRY(tensor_info_from_json(output)));
  return std::unique_ptr<Worker>(new Worker(std::move(state)));
}

double Worker::open_seconds() const { return state_->open_seconds; }
int Worker::pid() const { return state_->process.pid(); }
const std::vector<engine::TensorInfo>& Worker::outputs() const { return state_->outputs; }
bool Worker::fake_clock() const { return state_->fake_clock; }
size_t Worker::sample_count() const { return state_->samples; }

Status Worker::warm_up(double ms, int iterations) {
  HONE_TRY(state_->ask({{"op", "warm_up"}, {"ms", ms}, {"iterations", iterations}}));
  return {};
}

Result<BlockResult> Worker::block(const BlockRequest& request) {
  Json message = to_json(request);
  message["op"] = "block";
  return BlockResult::from_json(HONE_TRY(state_->ask(std::move(message))));
}

Status Worker::run_samples(const fs::path& folder, size_t limit) {
  HONE_TRY(state_->ask({{"op", "run_samples"}, {"folder", folder.string()}, {"limit", limit}, state_->alive_ms()}));
  return {};
}

Result<engine::RawProfile> Worker::profile(int iterations) {
  const Json answer = HONE_TRY(state_->ask({{"op", "profile"}, {"iterations", iterations}, state_->alive_ms()}));
  engine::RawProfile raw;
  for (const auto& file : HONE_TRY(json_field<std::vector<std::string>>(answer, "files"))) raw.files.emplace_back(file);
  raw.iterations = HONE_TRY(json_field<int>(answer, "iterations"));
  return raw;
}

Result<Memory> Worker::memory() {
  if (state_->dead) return fail(*state_->dead);
  if (const auto memory = process_memory(pid()))
    state_->peak_bytes = std::max(state_->peak_bytes, memory->peak_bytes);
  else
    return state_->ended_by_itself();
  return Memory{state_->peak_bytes, state_->baseline_bytes};
}

Status Worker::freeze() {
  if (state_->dead) return fail(*state_->dead);
  if (!state_->frozen && !state_->process.stop()) return state_->ended_by_itself();
  state_->frozen = true;
  return {};
}

Status Worker::thaw() {
  if (state_->dead) return fail(*state_->dead);
  if (state_->frozen && !state_->process.resume()) return state_->ended_by_itself();
  state_->frozen = false;
  return {};
}

Result<fs::path> worker_program() {
  if (const char* given = std::getenv("HONE_WORKER"); given != nullptr && *given != '\0') {
    if (::access(given, X_OK) == 0) return fs::path(given);
    return fail(bad_input("is not a program", given, "set HONE_WORKER to the hone-worker program, or unset it"));
  }
  std::error_code code;
  const fs::path here = fs::read_symlink("/proc/self/exe", code).parent_path();
  for (const fs::path& candidate : {here / "hone-worker", here / "../libexec/hone/hone-worker"})
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.lexically_normal();
  return fail(bad_input("hone-worker not found beside hone", here.string(), "reinstall, or set HONE_WORKER to it"));
}

}  // namespace hone::worker
