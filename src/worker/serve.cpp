// SPDX-License-Identifier: Apache-2.0
#include "worker/serve.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/memory.h"
#include "protocol/data.h"
#include "worker/block.h"
#include "worker/channel.h"
#include "worker/wire.h"

namespace hone::worker {

namespace {

Result<std::vector<model::NamedTensors>> load_samples(const fs::path& path) {
  if (path.empty()) return std::vector<model::NamedTensors>(1);
  if (!fs::is_directory(path)) return std::vector<model::NamedTensors>{HONE_TRY(protocol::read_npz(path))};
  auto samples = HONE_TRY(protocol::read_samples(path));
  if (samples.empty()) return fail(bad_input("no samples in the folder", path.string()));
  return samples;
}

// Tells hone now and then that a long request goes on.
class SignOfLife {
 public:
  SignOfLife(Channel& channel, int64_t every_ms) : channel_(channel), every_ns_(every_ms * 1'000'000) {}
  Status give() {
    const int64_t now_ns = steady_clock().now_ns();
    if (now_ns - last_ns_ < every_ns_) return {};
    last_ns_ = now_ns;
    return channel_.send({{kAlive, true}});
  }

 private:
  Channel& channel_;
  const int64_t every_ns_;
  int64_t last_ns_ = steady_clock().now_ns();
};

class Server {
 public:
  Server(const Opener& opener, Channel& channel) : opener_(opener), channel_(channel) {}

  Result<Json> answer(const Json& request) {
    const auto op = HONE_TRY(json_field<std::string>(request, "op"));
    if (op == "open") return open(request);
    if (!bench_) return fail(internal_error("the worker has no session yet", op));
    if (op == "warm_up") return warm_up(request);
    if (op == "block") return bench_->block(HONE_TRY(block_request_from_json(request))).map(&BlockResult::to_json);
    if (op == "run_samples") return run_samples(request);
    if (op == "profile") return profile(request);
    return fail(internal_error("unknown request to the worker", op));
  }

 private:
  Result<Json> open(const Json& request) {
    const auto configuration =
        HONE_TRY(engine::Configuration::from_json(HONE_TRY(json_field<Json>(request, "configuration"))));
    engine::OpenOptions options;
    options.profile_dir = HONE_TRY(json_field<std::string>(request, "profile_dir"));
    options.instance_seed = HONE_TRY(json_field<uint64_t>(request, "instance_seed"));
    samples_ = HONE_TRY(load_samples(HONE_TRY(json_field<std::string>(request, "data"))));
    const auto memory = process_memory(::getpid());
    const int64_t start_ns = steady_clock().now_ns();
    session_ = HONE_TRY(opener_(configuration, options));
    const double seconds = static_cast<double>(steady_clock().now_ns() - start_ns) * 1e-9;
    bench_.emplace(*session_, samples_);
    HONE_TRY(bench_->bind(0));
    Json outputs = Json::array();
    for (const auto& output : session_->outputs()) outputs.push_back(to_json(output));
    return Json{{"outputs", outputs},
                {"open_seconds", seconds},
                {"fake_clock", bench_->fake_clock()},
                {"samples", samples_.size()},
                {"baseline_bytes", memory ? memory->resident_bytes : 0}};
  }

  Result<Json> warm_up(const Json& request) {
    const int done = HONE_TRY(
        bench_->run(HONE_TRY(json_field<double>(request, "ms")), HONE_TRY(json_field<int>(request, "iterations"))));
    return Json{{"iterations", done}};
  }

  Result<Json> run_samples(const Json& request) {
    const fs::path folder = HONE_TRY(json_field<std::string>(request, "folder"));
    const auto limit = HONE_TRY(json_field<size_t>(request, "limit"));
    const size_t count = limit == 0 ? samples_.size() : std::min(limit, samples_.size());
    HONE_TRY(make_directories(folder));
    SignOfLife alive(channel_, HONE_TRY(json_field<int64_t>(request, kAliveMs)));
    for (size_t i = 0; i < count; ++i) {
      HONE_TRY(bench_->bind(i));
      HONE_TRY(session_->run());
      HONE_TRY(protocol::write_npz(folder / protocol::sample_file_name(i), HONE_TRY(session_->fetch())));
      HONE_TRY(alive.give());
    }
    return Json{{"samples", count}};
  }

  Result<Json> profile(const Json& request) {
    const int iterations = HONE_TRY(json_field<int>(request, "iterations"));
    SignOfLife alive(channel_, HONE_TRY(json_field<int64_t>(request, kAliveMs)));
    for (int i = 0; i < iterations; ++i) {
      HONE_TRY(bench_->bind(static_cast<size_t>(i)));
      HONE_TRY(session_->run());
      HONE_TRY(alive.give());
    }
    const auto raw = HONE_TRY(session_->end_profile());
    Json files = Json::array();
    for (const auto& file : raw.files) files.push_back(file.string());
    return Json{{"files", files}, {"iterations", raw.iterations > 0 ? raw.iterations : iterations}};
  }

  const Opener& opener_;
  Channel& channel_;
  std::vector<model::NamedTensors> samples_;
  std::unique_ptr<engine::Session> session_;
  std::optional<Bench> bench_;
};

// What an engine throws past its own room is still only this request's failure.
Json answer_safely(Server& server, const Json& request) {
  try {
    auto answer = server.answer(request);
    return answer ? *answer : error_answer(answer.error());
  } catch (const std::bad_alloc&) {
    return error_answer(tool_failed("out of memory"));
  } catch (const std::exception& e) {
    return error_answer(tool_failed("the engine threw an exception", {}, e.what()));
  }
}

}  // namespace

Result<std::unique_ptr<engine::Session>> open_with_engine(const engine::Configuration& configuration,
                                                          const engine::OpenOptions& options) {
  const engine::Engine* engine = HONE_TRY(engine::find_engine(configuration.engine));
  HONE_TRY(engine::validate(*engine, configuration.settings));
  return engine->open(configuration.model, configuration.settings, options);
}

int serve(int descriptor, const Opener& opener) {
  Channel channel(descriptor);
  Server server(opener, channel);
  while (true) {
    const auto wait = channel.wait(std::chrono::hours(24));
    if (wait == Channel::Wait::kTimeout) continue;
    if (wait == Channel::Wait::kClosed) return 0;
    auto request = channel.take();
    if (!request) return 70;
    if (!channel.send(answer_safely(server, *request))) return 0;
  }
}

}  // namespace hone::worker
