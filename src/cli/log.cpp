// SPDX-License-Identifier: Apache-2.0
#include "cli/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>

#include "run/secrets.h"

namespace hone::cli {

namespace {

struct Log {
  std::unique_ptr<spdlog::logger> file;
  bool verbose = false;
};

Log& log() {
  static Log instance;
  return instance;
}

// Every line of the text is a line of the file, with its time.
void to_file(const std::string& masked) {
  if (!log().file) return;
  for (size_t at = 0; at <= masked.size();) {
    const size_t end = std::min(masked.find('\n', at), masked.size());
    if (end > at || end < masked.size()) log().file->info("{}", std::string_view(masked).substr(at, end - at));
    at = end + 1;
  }
}

void to_screen(const std::string& masked) {
  fmt::print(stderr, "{}\n", masked);
  std::fflush(stderr);
}

}  // namespace

Status open_log(const Global& global) {
  log().verbose = global.verbose;
  log().file.reset();
  if (global.log_file.empty()) return {};
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(global.log_file.string());
    auto logger = std::make_unique<spdlog::logger>("hone", std::move(sink));
    logger->set_formatter(
        std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc));
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);  // a log is read when something went wrong
    log().file = std::move(logger);
    return {};
  } catch (const spdlog::spdlog_ex& e) {
    return fail(io_error(std::string("can't write the log (") + e.what() + ")", global.log_file.string(),
                         "give --log-file a file that can be written"));
  }
}

void log_detail(const std::string& text) {
  if (!log().file && !log().verbose) return;
  const std::string masked = run::mask_secrets(text);
  to_file(masked);
  if (log().verbose) to_screen(masked);
}

void log_line(const std::string& text, bool enabled) {
  const std::string masked = run::mask_secrets(text);
  to_file(masked);
  if (enabled || log().verbose) to_screen(masked);
}

bool log_is_verbose() { return log().verbose; }

}  // namespace hone::cli
