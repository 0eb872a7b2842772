// hone: the command line. Declares every command's flags, parses, runs the one that was named, maps errors to exit
// status (product.md). The only catch-all of the program is here.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "base/text.h"
#include "cli/command.h"
#include "cli/log.h"

#ifndef HONE_VERSION
#define HONE_VERSION "unknown"
#endif

namespace hone::cli {
namespace {

void add_global_flags(CLI::App& app, Global& global) {
  app.add_flag("--json", global.json, "one machine-readable document on standard output");
  CLI::Option* quiet = app.add_flag("-q,--quiet", global.quiet, "no progress, only results and errors");
  app.add_flag("-v,--verbose", global.verbose, "every step and its numbers, on standard error")->excludes(quiet);
  app.add_option("--log-file", global.log_file, "keep every step there, with times in UTC (appended)")
      ->type_name("FILE");
  app.add_option("--threads", global.threads, "use that many cores (default: all)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

int report(const Error& error, const Global& global, const char* command) {
  log_line("hone: " + error.line());
  if (global.json) {
    Json document;
    document["error"] = {{"what", error.what}, {"where", error.where}, {"todo", error.todo}, {"line", error.line()}};
    document["exit_status"] = exit_status(error.kind);
    print_document(command, std::move(document));
  }
  return exit_status(error.kind);
}

// One line for what CLI11 could not parse, with the nearest flag or command.
std::string parse_error_line(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string line = error.what();
  const CLI::App* current = &app;
  for (const CLI::App* sub : app.get_subcommands()) current = sub;
  std::vector<std::string> known;
  for (const CLI::Option* option : current->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  if (current == &app)
    for (const Command& command : all_commands()) known.emplace_back(command.name);
  // Only these two can mean a word that nobody declared; every other error says itself what is wrong.
  const bool unknown_word = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || current == &app;
  for (int i = 1; unknown_word && i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    if (word.empty() || (word[0] != '-' && !(current == &app && i == 1))) continue;
    const std::string near = nearest(word, known);
    return near.empty() ? fmt::format("unknown argument {}; see `hone {}--help`", word,
                                      current == &app ? "" : current->get_name() + " ")
                        : fmt::format("unknown argument {}; did you mean {}?", word, near);
  }
  for (char& c : line)
    if (c == '\n') c = ' ';
  return line;
}

int run(int argc, char** argv) {
  CLI::App app{
      "hone makes neural-network inference faster and proves it: measure, profile, diagnose, change one thing,\n"
      "measure again beside the old version, check accuracy, keep or roll back."};
  app.set_version_flag("--version", std::string("hone ") + HONE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example: hone optimize model.onnx --data samples/ --budget 10m\n`hone COMMAND --help` explains a command.");
  Global global;
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : all_commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    Action action = command.declare(*sub, global);
    add_global_flags(*sub, global);
    sub->footer(std::string("Examples:\n") + command.example);
    actions.emplace_back(sub, std::move(action));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help and --version
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "hone: {}\n", parse_error_line(app, e, argc, argv));
    return 2;
  }
  for (auto& [sub, action] : actions) {
    if (!sub->parsed()) continue;
    global.command_line = command_line_of(argc, argv);
    if (Status opened = open_log(global); !opened) return report(opened.error(), global, sub->get_name().c_str());
    log_detail(global.command_line);
    Result<int> status = action();
    const int exit = status ? *status : report(status.error(), global, sub->get_name().c_str());
    log_detail(fmt::format("exit status {}", exit));
    return exit;
  }
  return 2;
}

}  // namespace
}  // namespace hone::cli

int main(int argc, char** argv) {
  hone::cli::watch_signals();
  try {
    return hone::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hone: out of memory\n");
    return 70;
  } catch (const std::exception& e) {
    fmt::print(stderr, "hone: internal error: {}; this is a bug in hone {}\n", e.what(), HONE_VERSION);
    return 70;
  }
}
