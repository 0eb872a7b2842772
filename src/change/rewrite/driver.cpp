// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_set>

#include "change/rewrite/pattern.h"
#include "change/rewrite/structure.h"

namespace hone::change {

using model::Graph;
using model::NodeId;
using model::ValueId;

size_t count_nodes(const Graph& graph) {
  size_t count = graph.node_count();
  for (const NodeId id : graph.order())
    for (const auto& body : graph.subgraphs(id)) count += count_nodes(*body);
  return count;
}

size_t RewriteReport::fired() const {
  size_t sum = 0;
  for (const RuleReport& rule : rules) sum += rule.fired;
  return sum;
}

Json RewriteReport::to_json() const {
  Json list = Json::array();
  for (const RuleReport& rule : rules) {
    Json refused = Json::array();
    for (const Refusal& refusal : rule.refused) refused.push_back({{"node", refusal.node}, {"why", refusal.why}});
    list.push_back({{"id", rule.id}, {"fired", rule.fired}, {"sites", rule.sites}, {"refused", std::move(refused)}});
  }
  return {{"rules", std::move(list)},       {"nodes_before", nodes_before}, {"nodes_after", nodes_after},
          {"renamed_nodes", renamed_nodes}, {"opset_before", opset_before}, {"opset_after", opset_after}};
}

namespace {

// A rule's passes over one graph stop here: each pass must shrink or normalise something, so a rule that needs more is
// undoing its own work.
constexpr int kMaxPasses = 1000;

void for_each_graph(Graph& graph, const std::function<void(Graph&)>& visit) {
  visit(graph);
  for (const NodeId id : std::vector<NodeId>(graph.order())) {
    if (!graph.alive(id)) continue;
    for (const auto& body : graph.subgraphs(id)) for_each_graph(*body, visit);
  }
}

// Gives nodes that share a name within a graph names of their own.
void rename_duplicates(Graph& graph, std::vector<std::string>& renamed) {
  std::unordered_set<std::string> taken;
  for (const NodeId id : graph.order()) {
    const model::Node& node = graph.node(id);
    if (node.name.empty() || taken.insert(node.name).second) continue;
    const std::string old = node.name;
    const auto output =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId value) { return value != model::kNoValue; });
    const std::string made = output == node.outputs.end() ? "nothing" : graph.value(*output).name;
    renamed.push_back(fmt::format("{} -> {} ({}, makes {})", old, graph.rename_node(id, old), node.op_type, made));
  }
}

// Applies one rule once to every node of one graph. Returns the sites it changed.
std::vector<std::string> one_pass(Graph& graph, const Rule& rule, bool explain, std::vector<Refusal>& refused) {
  std::vector<std::string> sites;
  const auto visit = [&](NodeId root) {
    const Match match = rule.match(graph, root);
    const std::string label = root == model::kNoNode ? "graph" : graph.node(root).label(graph);
    if (match.state == Match::State::kRefused && explain) refused.push_back({label, match.why});
    if (match.state != Match::State::kYes) return;
    rule.rewrite(graph, match);
    if (match.sites.empty()) {
      sites.push_back(label);
    } else {
      sites.insert(sites.end(), match.sites.begin(), match.sites.end());
    }
  };
  if (rule.whole_graph()) {
    visit(model::kNoNode);
    return sites;
  }
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order)
    if (graph.alive(id)) visit(id);
  return sites;
}

// Both types can describe one value.
bool compatible(const model::Type& a, const model::Type& b) {
  if (a.kind == model::TypeKind::kUnknown || b.kind == model::TypeKind::kUnknown) return true;
  if (a.kind != b.kind || a.dtype != b.dtype) return false;
  if (!a.shape || !b.shape) return true;
  if (a.shape->size() != b.shape->size()) return false;
  for (size_t i = 0; i < a.shape->size(); ++i)
    if ((*a.shape)[i].known() && (*b.shape)[i].known() && (*a.shape)[i].value != (*b.shape)[i].value) return false;
  return true;
}

class Driver {
 public:
  Driver(model::Model& model, const std::vector<const Rule*>& rules, const RewriteOptions& options)
      : model_(model), rules_(rules), options_(options), before_(Interface::of(model.graph())) {
    for (const Rule* rule : rules) report_.rules.push_back({std::string(rule->info().id), 0, {}, {}});
  }

  Result<RewriteReport> run() {
    report_.nodes_before = count_nodes(model_.graph());
    for_each_graph(model_.graph(), [&](Graph& graph) { rename_duplicates(graph, report_.renamed_nodes); });
    model_.graph().remove_unused_values();
    HONE_TRY(infer());
    for (bool changed = true; changed;) {
      if (++report_.rounds > options_.max_rounds)
        return fail(internal_error(fmt::format("rewrites do not settle after {} rounds", options_.max_rounds),
                                   last_fired_, "leave that rule out, and report this"));
      changed = HONE_TRY(round());
      if (changed) HONE_TRY(infer());
    }
    HONE_TRY(check_structure(model_.graph(), before_, last_fired_));
    if (options_.check_result && report_.fired() > 0) {
      Status checked = model_.check();
      if (!checked) return fail(std::move(checked).error().with("checking the graph after " + last_fired_));
    }
    report_.nodes_after = count_nodes(model_.graph());
    return std::move(report_);
  }

 private:
  Status infer() {
    HONE_TRY(model_.infer_shapes());
    restore_output_types();
    return {};
  }

  // Inference may sharpen the declared types of the outputs, and a value that takes over an output's name brings its
  // own inferred type: the interface stays what it was. A type that contradicts it stays, for the gate to see.
  void restore_output_types() {
    Graph& graph = model_.graph();
    for (size_t i = 0; i < graph.outputs().size() && i < before_.outputs.size(); ++i) {
      const model::Type& declared = before_.outputs[i].second;
      if (compatible(graph.value(graph.outputs()[i]).type, declared)) graph.set_type(graph.outputs()[i], declared);
    }
  }

  Result<bool> round() {
    bool changed = false;
    for (size_t i = 0; i < rules_.size(); ++i) {
      const size_t fired_before = report_.rules[i].fired;
      HONE_TRY(apply(*rules_[i], report_.rules[i]));
      if (report_.rules[i].fired == fired_before) continue;
      changed = true;
      last_fired_ = report_.rules[i].id;
      remove_dead(model_.graph());
      restore_output_types();
      if (options_.check_each_rule) HONE_TRY(check_structure(model_.graph(), before_, last_fired_));
    }
    return changed;
  }

  Status apply(const Rule& rule, RuleReport& report) {
    report.refused.clear();
    bool settled = true;
    for_each_graph(model_.graph(), [&](Graph& graph) {
      for (int pass = 0;; ++pass) {
        std::vector<Refusal> refused;
        const std::vector<std::string> sites = one_pass(graph, rule, options_.explain, refused);
        report.fired += sites.size();
        report.sites.insert(report.sites.end(), sites.begin(), sites.end());
        settled = settled && pass < kMaxPasses;
        if (!sites.empty() && pass < kMaxPasses) continue;
        report.refused.insert(report.refused.end(), refused.begin(), refused.end());
        return;
      }
    });
    if (settled) return {};
    return fail(internal_error("a rewrite does not settle", report.id, "leave it out, and report this"));
  }

  model::Model& model_;
  const std::vector<const Rule*>& rules_;
  const RewriteOptions& options_;
  const Interface before_;
  RewriteReport report_;
  std::string last_fired_ = "no rule";
};

}  // namespace

namespace {

// The newest opset that a rule needs which may have a site in the graph.
int64_t wanted_opset(const Graph& graph, const std::vector<const Rule*>& rules) {
  std::unordered_set<std::string_view> types;
  for (const NodeId id : graph.order()) types.insert(graph.node(id).op_type);
  int64_t wanted = graph.opset();
  for (const Rule* rule : rules)
    if (types.contains(rule->info().anchor)) wanted = std::max(wanted, rule->info().opset);
  return wanted;
}

// A rule that could not have fired, or not as well, at the old opset did.
bool paid_off(const RewriteReport& report, const std::vector<const Rule*>& rules, int64_t old_opset) {
  for (size_t i = 0; i < rules.size(); ++i)
    if (rules[i]->info().opset > old_opset && report.rules[i].fired > 0) return true;
  return false;
}

// A copy of the model at a newer opset; nothing when the converter refuses it or makes of it what is no valid model.
std::optional<model::Model> converted(const model::Model& model, int64_t opset, bool check) {
  model::Model raised = model.clone();
  if (!raised.convert_opset(opset) || !raised.infer_shapes() || (check && !raised.check())) return std::nullopt;
  return raised;
}

}  // namespace

Result<RewriteReport> rewrite(model::Model& model, const std::vector<const Rule*>& rules,
                              const RewriteOptions& options) {
  const int64_t opset = model.opset(), wanted = wanted_opset(model.graph(), rules);
  const size_t nodes = count_nodes(model.graph());
  // The converter leaves the bodies of If, Loop, Scan and functions as they are.
  const bool plain = nodes == model.graph().node_count() && model.function_names().empty();
  if (options.raise_opset && wanted > opset && opset > 0 && plain) {
    if (std::optional<model::Model> raised = converted(model, wanted, options.check_result)) {
      // A rule that breaks the converted graph is an error here too: the old opset would hide it.
      RewriteReport report = HONE_TRY(Driver(*raised, rules, options).run());
      if (paid_off(report, rules, opset)) {
        report.nodes_before = nodes;
        report.opset_before = opset;
        report.opset_after = wanted;
        model = std::move(*raised);
        return report;
      }
    }
  }
  Result<RewriteReport> report = Driver(model, rules, options).run();
  if (report) report->opset_before = report->opset_after = opset;
  return report;
}

}  // namespace hone::change
