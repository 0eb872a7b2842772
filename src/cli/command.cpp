// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "run/secrets.h"
#include "run/shell.h"

namespace hone::cli {

#define HONE_COMMAND(name) extern const Command name##_command;
#include "cli/commands.def"
#undef HONE_COMMAND

const std::vector<Command>& all_commands() {
#define HONE_COMMAND(name) name##_command,
  static const std::vector<Command> commands = {
#include "cli/commands.def"
  };
#undef HONE_COMMAND
  return commands;
}

std::string command_line_of(int argc, const char* const* argv) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  std::string out = "hone";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
    out += " " + (plain ? word : run::shell_quoted(word));
  }
  return run::mask_secrets(out);
}

void print_document(const char* command, Json document) {
  Json out;
  out["schema"] = fmt::format("hone.{}/1", command);
  for (auto& [key, value] : document.items()) out[key] = std::move(value);
  const std::string text = dump_json(out);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

namespace {

Result<int64_t> parse_dim(std::string_view text, const std::string& whole) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0)
    return fail(
        usage_error("--shape has a dimension that is not a whole number >= 0", whole, "write it as name:1x3x224x224"));
  return value;
}

}  // namespace

Result<std::map<std::string, std::vector<int64_t>>> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& text : texts) {
    const size_t colon = text.rfind(':');  // names may hold colons ("x:0"), dims can't
    if (colon == std::string::npos || colon == 0)
      return fail(usage_error("--shape needs an input name and dims", text, "write it as name:1x3x224x224"));
    const std::string name = text.substr(0, colon);
    std::vector<int64_t> dims;
    std::string_view rest = std::string_view(text).substr(colon + 1);
    while (!rest.empty()) {
      const size_t cross = rest.find('x');
      dims.push_back(HONE_TRY(parse_dim(rest.substr(0, cross), text)));
      if (cross == std::string_view::npos) break;
      rest.remove_prefix(cross + 1);
      if (rest.empty()) return fail(usage_error("--shape ends with an x", text, "write it as name:1x3x224x224"));
    }
    if (!shapes.emplace(name, std::move(dims)).second) return fail(usage_error("--shape names an input twice", name));
  }
  return shapes;
}

Result<engine::Settings> parse_settings(const std::vector<std::string>& texts) {
  engine::Settings settings;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(usage_error("--set needs id=value", text, "for example --set intra_op_threads=1"));
    settings[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return settings;
}

Result<double> parse_duration(const std::string& text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  double scale = 0;
  if (unit.empty() || unit == "s") scale = 1;
  if (unit == "ms") scale = 1e-3;
  if (unit == "m" || unit == "min") scale = 60;
  if (unit == "h") scale = 3600;
  if (code != std::errc() || scale == 0 || !std::isfinite(value) || value <= 0)
    return fail(usage_error("not a duration", text, "write it as 90s, 10m or 1h"));
  return value * scale;
}

namespace {

std::atomic<int> signal_count{0};

void on_signal(int) {
  if (++signal_count >= 3) _exit(130);
}

}  // namespace

bool interrupted_by_signal() { return signal_count.load() > 0; }

void watch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace hone::cli
