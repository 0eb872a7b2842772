// The list of all Changes, from changes.def and from the rewrite rules; and what a Proposal is called.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "change/graph/graph_change.h"

namespace hone::change {

#define HONE_CHANGE(function) const Change& function();
#include "change/changes.def"
#undef HONE_CHANGE

const std::vector<const Change*>& all_changes() {
  static const std::vector<const Change*> changes = [] {
    std::vector<const Change*> list = {
#define HONE_CHANGE(function) &function(),
#include "change/changes.def"
#undef HONE_CHANGE
    };
    for (const Change* rule : single_rule_changes()) list.push_back(rule);
    return list;
  }();
  return changes;
}

Result<const Change*> find_change(std::string_view id) {
  std::vector<std::string> known;
  for (const Change* change : all_changes()) {
    if (change->info().id == id) return change;
    known.push_back(change->info().id);
  }
  const std::string near = nearest(id, known);
  return fail(usage_error(fmt::format("no change is called {}", id), {},
                          near.empty() ? "`hone optimize --dry-run` lists them" : "did you mean " + near + "?"));
}

std::string_view to_text(Kind kind) {
  switch (kind) {
    case Kind::kSetting:
      return "setting";
    case Kind::kEngine:
      return "engine";
    case Kind::kGraph:
      return "graph";
    case Kind::kQuantize:
      return "quantize";
  }
  return "unknown";
}

std::string Proposal::key() const {
  std::string out = change;
  std::string inner;
  for (const auto& [id, value] : params) inner += fmt::format("{}{}={}", inner.empty() ? "" : ",", id, value);
  return inner.empty() ? out : out + "[" + inner + "]";
}

Json Proposal::to_json() const {
  return {{"change", change},
          {"params", params},
          {"hypothesis", hypothesis},
          {"finding", finding},
          {"predicted", predicted},
          {"upper_bound", upper_bound},
          {"chance", chance},
          {"cost_seconds", cost_seconds},
          {"class", accuracy::to_text(accuracy)}};
}

Result<Proposal> Proposal::from_json(const Json& value) {
  Proposal p;
  p.change = HONE_TRY(json_field<std::string>(value, "change"));
  p.params = HONE_TRY((json_field<std::map<std::string, std::string>>(value, "params")));
  p.hypothesis = HONE_TRY(json_field<std::string>(value, "hypothesis"));
  p.finding = HONE_TRY(json_field<std::string>(value, "finding"));
  p.predicted = HONE_TRY(json_field<double>(value, "predicted"));
  p.upper_bound = HONE_TRY(json_field<double>(value, "upper_bound"));
  p.chance = HONE_TRY(json_field<double>(value, "chance"));
  p.cost_seconds = HONE_TRY(json_field<double>(value, "cost_seconds"));
  const std::string text = HONE_TRY(json_field<std::string>(value, "class"));
  const std::optional<accuracy::Class> known = accuracy::class_from_text(text);
  if (!known) return fail(bad_input("not an accuracy class", text));
  p.accuracy = *known;
  return p;
}

}  // namespace hone::change
