// SPDX-License-Identifier: Apache-2.0
#include "change/graph/graph_change.h"

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "change/graph/expected_gain.h"
#include "change/setting/setting_change.h"
#include "change/setting/slow_fusions.h"

namespace hone::change {

namespace {

// Inputs whose dims the Protocol fixes while the model leaves them open.
size_t open_inputs(const Context& context) {
  size_t open = 0;
  const model::Graph& graph = context.model.graph();
  for (model::ValueId id : graph.inputs()) {
    const model::Value& value = graph.value(id);
    if (context.shapes.contains(value.name) && value.type.kind == model::TypeKind::kTensor && !value.type.dims())
      ++open;
  }
  return open;
}

std::string rewrite_log(const RewriteReport& report) {
  std::string log = fmt::format("nodes: {} -> {}\n", report.nodes_before, report.nodes_after);
  for (const RuleReport& rule : report.rules) {
    if (rule.fired > 0) log += fmt::format("{}: fired {}\n", rule.id, rule.fired);
    for (const std::string& site : rule.sites) log += fmt::format("  at {}\n", site);
    for (const Refusal& refusal : rule.refused)
      log += fmt::format("{}: refused {}: {}\n", rule.id, refusal.node, refusal.why);
  }
  return log;
}

std::string fired_text(const RewriteReport& report) {
  std::string out;
  for (const RuleReport& rule : report.rules)
    if (rule.fired > 0) out += fmt::format("{}{} x{}", out.empty() ? "" : ", ", rule.id, rule.fired);
  return out;
}

}  // namespace

Result<GraphChange::Rewritten> GraphChange::rewritten(const Context& context, const RewriteOptions& options) const {
  Rewritten out{context.model.clone(), {}, 0};
  if (freeze_) {
    out.frozen = open_inputs(context);
    HONE_TRY(out.model.freeze_shapes(context.shapes));
  }
  out.report = HONE_TRY(rewrite(out.model, rules_, options));
  return out;
}

std::string GraphChange::why_never(const Context& context) const {
  if (freeze_ && open_inputs(context) == 0) return "every input has fixed dimensions";
  if (rules_.size() != 1) return {};
  const RuleInfo& rule = rules_[0]->info();
  if (rule.done_by_onnxruntime && context.best.engine == "onnxruntime")
    return "ONNX Runtime does the same when it loads the model";
  if (!rule.engine.empty() && rule.engine != context.best.engine) return fmt::format("it is for {}", rule.engine);
  return std::string(rule.only_when_named);
}

std::vector<Proposal> GraphChange::propose(const Context& context, std::string* why_not) const {
  *why_not = why_never(context);
  if (!why_not->empty()) return {};
  RewriteOptions options;
  options.explain = !freeze_ && rules_.size() == 1;
  options.check_result = false;
  const Result<Rewritten> tried = rewritten(context, options);
  if (!tried) {
    *why_not = tried.error().line();
    return {};
  }
  if (tried->report.fired() == 0 && tried->frozen == 0) {
    const auto& rules = tried->report.rules;
    *why_not = !rules.empty() && !rules[0].refused.empty() ? rules[0].refused[0].node + ": " + rules[0].refused[0].why
                                                           : "the pattern does not occur";
    return {};
  }
  return {proposal_of(*tried, context)};
}

Proposal GraphChange::proposal_of(const Rewritten& tried, const Context& context) const {
  Proposal p;
  p.change = info_.id;
  p.accuracy = info_.accuracy;
  const std::string fired = fired_text(tried.report);
  p.hypothesis = fmt::format("{}{}{} of {} nodes left", tried.frozen > 0 ? "fixed shapes; " : "",
                             fired.empty() ? "" : fired + "; ", tried.report.nodes_after, tried.report.nodes_before);
  p.finding = finding_answered(tried, context.diagnosis);
  p.chance = chance_;
  p.cost_seconds = 10;
  Gain gain = expected_gain(context.model.graph(), tried.model.graph(), context.diagnosis);
  if (tried.frozen > 0) gain = with_fixed_shapes(gain);
  p.upper_bound = gain.upper_bound;
  p.predicted = gain.predicted;
  return p;
}

std::string GraphChange::finding_answered(const Rewritten& tried, const diagnose::Diagnosis& diagnosis) const {
  std::vector<const Rule*> fired;
  for (size_t i = 0; i < rules_.size(); ++i)
    if (tried.report.rules[i].fired > 0) fired.push_back(rules_[i]);
  std::vector<std::string> answered = findings_of(fired);
  if (tried.frozen > 0) answered.emplace_back("dynamic_shapes_fixed_data");
  const diagnose::Finding* largest = nullptr;
  for (const std::string& id : answered) {
    const diagnose::Finding* finding = diagnosis.find(id);
    if (finding != nullptr && (largest == nullptr || finding->upper_bound > largest->upper_bound)) largest = finding;
  }
  return largest == nullptr ? "" : largest->id;
}

namespace {

// Known shapes let ONNX Runtime make operators that are slower than their parts: a model must not lose by being
// clearer.
void stop_slow_fusions(const model::Graph& graph, Applied& applied) {
  const engine::Configuration before = applied.configuration;
  const std::string optimizers = slow_fusions_of(graph);
  if (before.engine != "onnxruntime" || optimizers.empty() || !setting_of(before, kDisabledOptimizers).empty()) return;
  applied.configuration.settings[kDisabledOptimizers] = optimizers;
  applied.patch += settings_diff(before, applied.configuration);
}

}  // namespace

Result<Applied> GraphChange::apply(const Proposal&, const Context& context, const fs::path& folder) const {
  Rewritten result = HONE_TRY(rewritten(context, {}));
  const auto files = HONE_TRY(result.model.save(folder / "model.onnx"));
  Applied applied;
  applied.configuration = context.best;
  applied.configuration.model = files.front();
  applied.nodes_before = static_cast<int64_t>(result.report.nodes_before);
  applied.nodes_after = static_cast<int64_t>(result.report.nodes_after);
  applied.summary = fmt::format("{}: {} -> {} nodes", info_.id, applied.nodes_before, applied.nodes_after);
  applied.export_log = rewrite_log(result.report);
  applied.patch =
      fmt::format("-{}\n+{}\n", counted(applied.nodes_before, "node"), counted(applied.nodes_after, "node"));
  for (const RuleReport& rule : result.report.rules)
    if (rule.fired > 0) applied.patch += fmt::format("+{} x{}\n", rule.id, rule.fired);
  stop_slow_fusions(result.model.graph(), applied);
  return applied;
}

std::vector<const Change*> single_rule_changes() {
  static const std::vector<std::unique_ptr<GraphChange>> changes = [] {
    std::vector<std::unique_ptr<GraphChange>> list;
    for (const Rule* rule : all_rules()) {
      const RuleInfo& info = rule->info();
      // A clean-up alone is under the noise; clean-graph tries them together.
      if (info.accuracy == accuracy::Class::kExact) continue;
      list.push_back(std::make_unique<GraphChange>(
          ChangeInfo{std::string(info.id), Kind::kGraph, info.accuracy,
                     fmt::format("{} -> {}", info.before, info.after), findings_of({rule})},
          std::vector<const Rule*>{rule}));
    }
    return list;
  }();
  std::vector<const Change*> out;
  for (const auto& change : changes) out.push_back(change.get());
  return out;
}

std::vector<const Rule*> exact_rules() {
  std::vector<const Rule*> rules = rules_for({});
  std::erase_if(rules, [](const Rule* rule) { return rule->info().accuracy != accuracy::Class::kExact; });
  return rules;
}

}  // namespace hone::change
