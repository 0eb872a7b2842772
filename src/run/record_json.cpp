// The document of `hone optimize --json` (product.md), made from a Record.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "run/best.h"
#include "run/checklist.h"
#include "run/record.h"

namespace hone::run {

namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

Json interval_json(const std::optional<measure::Interval>& interval) {
  if (!interval) return nullptr;
  return {{"estimate", number(interval->estimate)}, {"low", number(interval->low)}, {"high", number(interval->high)}};
}

Json accuracy_json(const accuracy::Report& report) {
  Json outputs = Json::array();
  for (const accuracy::Metrics& m : report.outputs)
    outputs.push_back({{"name", m.name},
                       {"max_abs", number(m.max_abs)},
                       {"mean_abs", number(m.mean_abs)},
                       {"rmse", number(m.rmse)},
                       {"cosine", number(m.cosine)},
                       // Infinite when both are equal: JSON has no infinity, so null, and `bitwise` says why.
                       {"snr_db", number(m.snr_db)},
                       {"topk_match", number(m.topk_match)},
                       {"bitwise", m.bitwise}});
  return {{"level", report.level},     {"passed", report.passed},       {"why", report.why},
          {"samples", report.samples}, {"synthetic", report.synthetic}, {"outputs", std::move(outputs)}};
}

// Accuracy of the final best; of the baseline when nothing was kept.
Json best_accuracy(const Record& record) {
  const Trial* best = record.best();
  return best != nullptr && best->accuracy ? accuracy_json(*best->accuracy) : Json(nullptr);
}

Json trial_json(const Trial& t) {
  return {{"number", t.number},
          {"parent", t.parent},
          {"stage", to_text(t.stage)},
          {"change", t.title()},
          {"class", accuracy::to_text(t.proposal.accuracy)},
          {"finding", t.proposal.finding.empty() ? Json(nullptr) : Json(t.proposal.finding)},
          {"hypothesis", t.proposal.hypothesis},
          {"predicted", number(t.proposal.predicted)},
          {"speedup", t.comparison ? interval_json(t.comparison->speedup) : Json(nullptr)},
          {"vs_original", interval_json(t.vs_original)},
          {"verdict", t.verdict ? Json(verdict::to_text(t.verdict->kind)) : Json(nullptr)},
          {"reason", t.verdict ? Json(t.verdict->reason) : Json(nullptr)},
          {"seconds", number(t.seconds)},
          {"dir", t.dir}};
}

Json stop_json(const Record& record) {
  if (record.stops.empty()) return nullptr;
  Json also = Json::array();
  for (size_t i = 1; i < record.stops.size(); ++i)
    also.push_back({{"reason", record.stops[i].reason}, {"evidence", record.stops[i].evidence}});
  return {{"reason", record.stops[0].reason}, {"evidence", record.stops[0].evidence}, {"also", std::move(also)}};
}

Json planned_json(const Record& record) {
  Json out = Json::array();
  for (const Planned& p : record.planned)
    out.push_back({{"change", p.proposal.key()},
                   {"kind", p.kind},
                   {"class", accuracy::to_text(p.proposal.accuracy)},
                   {"finding", p.proposal.finding.empty() ? Json(nullptr) : Json(p.proposal.finding)},
                   {"hypothesis", p.proposal.hypothesis},
                   {"predicted", number(p.proposal.predicted)},
                   {"upper_bound", number(p.proposal.upper_bound)},
                   {"chance", number(p.chance)},
                   {"cost_s", number(p.proposal.cost_seconds)},
                   {"note", p.note}});
  return out;
}

Json best_json(const Record& record) {
  const Trial* best = record.best();
  if (best == nullptr) return nullptr;
  Json chain = Json::array();
  for (const Trial* t : record.chain(best->number)) chain.push_back(t->title());
  const bool published = record.progress == Progress::kFinished;
  return {{"trial", best->number},
          {"model", published ? Json("best/" + best_model_name(record)) : Json(nullptr)},
          {"engine", best->configuration.engine},
          {"settings", published ? Json("best/settings.json") : Json(nullptr)},
          {"values", best->configuration.settings},
          {"changes", std::move(chain)}};
}

Json machine_json(const Record& record) {
  const ProfileRow* profile = record.profile_of(0);
  if (profile == nullptr) return nullptr;
  return {{"cpu", profile->diagnosis.machine.cpu}, {"cores", profile->diagnosis.machine.cores}};
}

}  // namespace

Json Record::to_json() const {
  Json rows = Json::array();
  for (const Trial& t : trials) rows.push_back(trial_json(t));
  Json checks = Json::array();
  for (const Check& c : checklist(*this))
    if (!c.passed) checks.push_back({{"list", c.list}, {"item", c.item}, {"note", c.note}});
  Json out = {
      {"schema", "hone.optimize/1"},
      {"run_dir", folder.string()},
      {"run_id", id},
      {"finished", progress == Progress::kFinished},
      {"speedup", interval_json(speedup())},
      {"baseline_ms", number(baseline_ms())},
      {"best_ms", number(best_ms())},
      {"accuracy", best_accuracy(*this)},
      {"stop", stop_json(*this)},
      {"best", best_json(*this)},
      {"trials", std::move(rows)},
      {"checks_failed", std::move(checks)},
      {"protocol_hash", protocol ? Json(protocol->hash()) : Json(nullptr)},
      {"data", {{"source", data_source}, {"notes", data_notes}, {"synthetic", protocol && protocol->synthetic}}},
      {"noise", noise ? Json({{"sd", number(noise->sd)},
                              {"smallest_provable", measure::smallest_provable(*noise)
                                                        ? number(*measure::smallest_provable(*noise))
                                                        : Json(nullptr)}})
                      : Json(nullptr)},
      {"machine", machine_json(*this)},
      {"seconds", number(elapsed_s)}};
  if (!planned.empty()) out["planned"] = planned_json(*this);
  return out;
}

}  // namespace hone::run
