// Command: one word after `hone`. One file per command in command/, one line in commands.def.
//
// A command declares its flags on its own CLI11 app and returns the action that runs it. An action parses nothing,
// calls one room, prints, and returns the exit status of product.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"

namespace hone::cli {

// Flags every command has.
struct Global {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  fs::path log_file;
  int threads = 0;           // 0 = all cores
  std::string command_line;  // as it was given, quoted for a shell, secrets masked
};

using Action = std::function<Result<int>()>;

struct Command {
  const char* name;
  const char* summary;  // one line
  const char* example;  // shown below the help
  Action (*declare)(CLI::App& app, Global& global);
};

const std::vector<Command>& all_commands();

// The words of a command line as a shell would need them, secrets masked.
std::string command_line_of(int argc, const char* const* argv);

// Writes the document to standard output, with "schema": "hone.<command>/1" first.
void print_document(const char* command, Json document);

// "name:1x3x224x224" (repeatable --shape) -> dims by input name.
Result<std::map<std::string, std::vector<int64_t>>> parse_shapes(const std::vector<std::string>& texts);
// "id=value" (repeatable --set) -> settings.
Result<engine::Settings> parse_settings(const std::vector<std::string>& texts);
// "10m", "90s", "1.5h", "5" (seconds) -> seconds.
Result<double> parse_duration(const std::string& text);

// True once SIGINT or SIGTERM has come; the third one ends the program at once.
bool interrupted_by_signal();
void watch_signals();

}  // namespace hone::cli
