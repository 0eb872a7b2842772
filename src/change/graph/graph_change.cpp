// SPDX-License-Identifier: Apache-2.0
#include "change/graph/graph_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
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

std::vector<Proposal> GraphChange::propose(const Context& context, std::string* why_not) const {
  if (rules_.size() == 1 && rules_[0]->info().done_by_onnxruntime && context.best.engine == "onnxruntime") {
    *why_not = "ONNX Runtime does the same when it loads the model";
    return {};
  }
  if (rules_.size() == 1 && !rules_[0]->info().engine.empty() && rules_[0]->info().engine != context.best.engine) {
    *why_not = fmt::format("it is for {}", rules_[0]->info().engine);
    return {};
  }
  if (rules_.size() == 1 && !rules_[0]->info().only_when_named.empty()) {
    *why_not = std::string(rules_[0]->info().only_when_named);
    return {};
  }
  if (freeze_ && open_inputs(context) == 0) {
    *why_not = "every input has fixed dimensions";
    return {};
  }
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
  Proposal p;
  p.change = info_.id;
  p.accuracy = info_.accuracy;
  const size_t before = tried->report.nodes_before, after = tried->report.nodes_after;
  p.hypothesis = fmt::format("{}{}{} of {} nodes left", tried->frozen > 0 ? "fixed shapes; " : "",
                             fired_text(tried->report).empty() ? "" : fired_text(tried->report) + "; ", after, before);
  p.chance = chance_;
  p.cost_seconds = 10;
  // What a rewrite can gain is bounded by the time of what it touches; without a finding, by the share of nodes.
  double bound =
      before > 0 ? 1.0 + 0.5 * (static_cast<double>(before) - static_cast<double>(after)) / static_cast<double>(before)
                 : 1.0;
  for (const std::string& id : info_.findings)
    if (const diagnose::Finding* finding = context.diagnosis.find(id)) {
      bound = std::max(bound, finding->upper_bound);
      if (p.finding.empty()) p.finding = id;
    }
  p.upper_bound = std::max(bound, 1.04);
  p.predicted = 1.0 + 0.3 * (p.upper_bound - 1.0);
  return {p};
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

namespace {

// The findings a rule answers, by the noun in its id.
std::vector<std::string> findings_of(std::string_view id) {
  auto has = [&](std::string_view word) { return id.find(word) != std::string_view::npos; };
  if (has("attention") || has("qkv")) return {"unfused_attention"};
  if (has("norm")) return {"unfused_norm"};
  if (has("bn")) return {"unfused_batchnorm"};
  if (has("gelu") || has("swish") || has("silu") || has("activation")) return {"unfused_activation"};
  if (has("transpose") || has("reshape")) return {"side_effect_ops"};
  return {"constant_shape_arithmetic"};
}

}  // namespace

std::vector<const Change*> single_rule_changes() {
  static const std::vector<std::unique_ptr<GraphChange>> changes = [] {
    std::vector<std::unique_ptr<GraphChange>> list;
    for (const Rule* rule : all_rules()) {
      const RuleInfo& info = rule->info();
      // A clean-up alone is under the noise; clean-graph tries them together.
      if (info.accuracy == accuracy::Class::kExact) continue;
      list.push_back(std::make_unique<GraphChange>(
          ChangeInfo{std::string(info.id), Kind::kGraph, info.accuracy,
                     fmt::format("{} -> {}", info.before, info.after), findings_of(info.id)},
          std::vector<const Rule*>{rule}));
    }
    return list;
  }();
  std::vector<const Change*> out;
  for (const auto& change : changes) out.push_back(change.get());
  return out;
}

std::vector<const Rule*> exact_rules() {
  std::vector<const Rule*> out;
  for (const Rule* rule : all_rules())
    if (rule->info().accuracy == accuracy::Class::kExact) out.push_back(rule);
  return out;
}

}  // namespace hone::change
