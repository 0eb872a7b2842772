// hone rewrite: apply graph rewrites to a model and write the result; list them; explain why a pattern did not match.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/rewrite/driver.h"
#include "cli/command.h"
#include "cli/log.h"

namespace hone::cli {

namespace {

struct Flags {
  std::string model, output, target = "onnxruntime", weights = "auto";
  std::vector<std::string> passes, shapes;
  bool list = false, explain = false;
};

int list_rules(const Global& global) {
  Json rules = Json::array();
  for (const change::Rule* rule : change::all_rules()) {
    const change::RuleInfo& info = rule->info();
    rules.push_back({{"id", info.id},
                     {"before", info.before},
                     {"after", info.after},
                     {"condition", info.condition},
                     {"class", accuracy::to_text(info.accuracy)},
                     {"finding", info.finding},
                     {"done_by_onnxruntime", info.done_by_onnxruntime},
                     {"engine", info.engine},
                     {"only_when_named", info.only_when_named}});
    if (global.json) continue;
    fmt::print("{}  ({}{})\n    {} -> {}\n", info.id, accuracy::to_text(info.accuracy),
               info.done_by_onnxruntime ? ", done by ONNX Runtime at load" : "", info.before, info.after);
    if (!info.condition.empty()) fmt::print("    if {}\n", info.condition);
    if (!info.engine.empty()) fmt::print("    for {}\n", info.engine);
    if (!info.only_when_named.empty()) fmt::print("    only with --pass: {}\n", info.only_when_named);
  }
  if (global.json) print_document("rewrite", {{"rules", rules}});
  return 0;
}

// The rules named by --pass, or those for the target when none is.
Result<std::vector<const change::Rule*>> chosen_rules(const Flags& flags) {
  std::vector<const change::Rule*> rules;
  for (const std::string& id : flags.passes) rules.push_back(HONE_TRY(change::find_rule(id)));
  if (!rules.empty()) return rules;
  return change::rules_for(flags.target);
}

void print_report(const change::RewriteReport& report, bool explain, const fs::path& output) {
  fmt::print("{} -> {} nodes\n", report.nodes_before, report.nodes_after);
  for (const change::RuleReport& rule : report.rules) {
    if (rule.fired > 0) fmt::print("  {} fired {}\n", rule.id, rule.fired);
    if (!explain) continue;
    for (const change::Refusal& refusal : rule.refused)
      fmt::print("  {} refused {}: {}\n", rule.id, refusal.node, refusal.why);
  }
  fmt::print("wrote {}\n", output.string());
}

void log_report(const change::RewriteReport& report) {
  for (const std::string& renamed : report.renamed_nodes) log_detail("renamed " + renamed);
  if (report.opset_after != report.opset_before)
    log_detail(fmt::format("opset {} -> {}", report.opset_before, report.opset_after));
  for (const change::RuleReport& rule : report.rules) {
    for (const std::string& site : rule.sites) log_detail(fmt::format("{} fired at {}", rule.id, site));
    for (const change::Refusal& refusal : rule.refused)
      log_detail(fmt::format("{} refused {}: {}", rule.id, refusal.node, refusal.why));
  }
}

Result<int> run(const Flags& flags, const Global& global) {
  if (flags.list) return list_rules(global);
  if (flags.model.empty()) return fail(usage_error("rewrite needs a model", {}, "hone rewrite model.onnx -o out.onnx"));
  if (flags.output.empty()) return fail(usage_error("rewrite needs -o OUT", {}, "hone rewrite model.onnx -o out.onnx"));
  if (flags.target != "onnxruntime")
    return fail(unsupported("no such target yet", flags.target, "this version rewrites for onnxruntime"));
  std::error_code code;
  if (fs::equivalent(flags.model, flags.output, code))
    return fail(usage_error("the output is the model itself", flags.output, "an original is never overwritten"));
  model::Model model = HONE_TRY(model::Model::load(flags.model));
  HONE_TRY(model.infer_shapes());
  const auto shapes = HONE_TRY(parse_shapes(flags.shapes));
  if (!shapes.empty()) HONE_TRY(model.freeze_shapes(shapes));
  change::RewriteOptions options;
  options.explain = flags.explain || global.json || global.verbose || !global.log_file.empty();
  const change::RewriteReport report = HONE_TRY(change::rewrite(model, HONE_TRY(chosen_rules(flags)), options));
  log_report(report);
  model::SaveOptions save;
  if (flags.weights == "inline") save.weights = model::SaveOptions::Weights::kInline;
  if (flags.weights == "external") save.weights = model::SaveOptions::Weights::kExternal;
  const auto files = HONE_TRY(model.save(flags.output, save));
  if (global.json) {
    Json document = report.to_json();
    document["checker"] = report.fired() > 0 ? "passed" : "not run: nothing fired";
    document["output"] = files.front().string();
    print_document("rewrite", std::move(document));
  } else if (!global.quiet) {
    print_report(report, flags.explain, files.front());
  }
  return 0;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  app.add_option("MODEL", flags->model, "an ONNX file");
  app.add_option("-o,--output", flags->output, "where the result goes")->type_name("OUT");
  app.add_option("--target", flags->target, "engine to rewrite for (default onnxruntime)")->type_name("NAME");
  app.add_option("--pass", flags->passes, "only this rewrite (repeatable, in this order)")->type_name("ID");
  app.add_option("--shape", flags->shapes, "fix an input's shape first (repeatable)")->type_name("name:1x3x224x224");
  app.add_option("--weights", flags->weights, "auto, inline or external")
      ->check(CLI::IsMember({"auto", "inline", "external"}));
  app.add_flag("--list", flags->list, "list the rewrites with their conditions");
  app.add_flag("--explain", flags->explain, "say why a pattern did not match where it nearly did");
  return [flags, &global]() { return run(*flags, global); };
}

}  // namespace

extern const Command rewrite_command;
const Command rewrite_command = {"rewrite", "apply graph rewrites to a model",
                                 "  hone rewrite model.onnx -o out.onnx\n"
                                 "  hone rewrite model.onnx -o out.onnx --pass fuse-attention --explain\n"
                                 "  hone rewrite --list",
                                 declare};

}  // namespace hone::cli
