// Diagnosis: looking things up, and the JSON form. SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnosis.h"

#include <algorithm>

namespace hone::diagnose {

std::string_view to_text(Priority priority) {
  return priority == Priority::kP0 ? "P0" : priority == Priority::kP1 ? "P1" : "P2";
}

const Finding* Diagnosis::find(std::string_view id) const {
  auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.id == id; });
  return found == findings.end() ? nullptr : &*found;
}

namespace {

Json to_json(const Finding& f) {
  return Json{{"id", f.id},
              {"title", f.title},
              {"priority", to_text(f.priority)},
              {"evidence", f.evidence},
              {"direction", f.direction},
              {"share", f.share},
              {"predicted_upper_bound", f.upper_bound},
              {"nodes", f.nodes}};
}

Result<Finding> finding_from(const Json& value) {
  Finding f;
  f.id = HONE_TRY(json_field<std::string>(value, "id"));
  f.title = HONE_TRY(json_field<std::string>(value, "title"));
  const auto priority = HONE_TRY(json_field<std::string>(value, "priority"));
  if (priority != "P0" && priority != "P1" && priority != "P2")
    return fail(bad_input("not a priority: " + priority, "finding " + f.id));
  f.priority = priority == "P0" ? Priority::kP0 : priority == "P1" ? Priority::kP1 : Priority::kP2;
  f.evidence = HONE_TRY(json_field<std::string>(value, "evidence"));
  f.direction = HONE_TRY(json_field<std::string>(value, "direction"));
  f.share = HONE_TRY(json_field<double>(value, "share"));
  f.upper_bound = HONE_TRY(json_field<double>(value, "predicted_upper_bound"));
  f.nodes = HONE_TRY(json_field<std::vector<std::string>>(value, "nodes"));
  return f;
}

Json to_json(const ClassTime& c) {
  return Json{{"class", c.name}, {"time_ms", c.ms}, {"share", c.share}, {"flops", c.flops}, {"bytes", c.bytes}};
}

Result<ClassTime> class_from(const Json& value) {
  ClassTime c;
  c.name = HONE_TRY(json_field<std::string>(value, "class"));
  c.ms = HONE_TRY(json_field<double>(value, "time_ms"));
  c.share = HONE_TRY(json_field<double>(value, "share"));
  c.flops = HONE_TRY(json_field<double>(value, "flops"));
  c.bytes = HONE_TRY(json_field<double>(value, "bytes"));
  return c;
}

Json to_json(const OperatorTime& o) {
  return Json{{"node", o.node},       {"type", o.type},
              {"class", o.klass},     {"time_ms", o.ms},
              {"share", o.share},     {"flops", o.flops},
              {"bytes", o.bytes},     {"weight_bytes", o.weight_bytes},
              {"roof_ms", o.roof_ms}, {"efficiency", o.efficiency},
              {"shapes", o.shapes}};
}

Result<OperatorTime> operator_from(const Json& value) {
  OperatorTime o;
  o.node = HONE_TRY(json_field<std::string>(value, "node"));
  o.type = HONE_TRY(json_field<std::string>(value, "type"));
  o.klass = HONE_TRY(json_field<std::string>(value, "class"));
  o.ms = HONE_TRY(json_field<double>(value, "time_ms"));
  o.share = HONE_TRY(json_field<double>(value, "share"));
  o.flops = HONE_TRY(json_field<double>(value, "flops"));
  o.bytes = HONE_TRY(json_field<double>(value, "bytes"));
  o.weight_bytes = HONE_TRY(json_field<double>(value, "weight_bytes"));
  o.roof_ms = HONE_TRY(json_field<double>(value, "roof_ms"));
  o.efficiency = HONE_TRY(json_field<double>(value, "efficiency"));
  o.shapes = HONE_TRY(json_field<std::string>(value, "shapes"));
  return o;
}

template <class T>
Json list_to_json(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

template <class T>
Status list_from_json(const Json& value, const char* key, Result<T> (*read)(const Json&), std::vector<T>& out) {
  for (const Json& item : HONE_TRY(json_field<Json>(value, key))) out.push_back(HONE_TRY(read(item)));
  return {};
}

}  // namespace

Json Diagnosis::to_json() const {
  return Json{{"latency_ms", latency_ms},
              {"kernel_ms", kernel_ms},
              {"outside_ms", outside_ms},
              {"profiled_ms", profiled_ms},
              {"inferences", inferences},
              {"mapped_share", mapped_share},
              {"flops", flops},
              {"bytes", bytes},
              {"weight_bytes", weight_bytes},
              {"roof_ms", roof_ms},
              {"classes", list_to_json(classes)},
              {"operators", list_to_json(operators)},
              {"findings", list_to_json(findings)},
              {"notes", notes},
              {"machine", machine.to_json()}};
}

Result<Diagnosis> Diagnosis::from_json(const Json& value) {
  Diagnosis d;
  d.latency_ms = HONE_TRY(json_field<double>(value, "latency_ms"));
  d.kernel_ms = HONE_TRY(json_field<double>(value, "kernel_ms"));
  d.outside_ms = HONE_TRY(json_field<double>(value, "outside_ms"));
  d.profiled_ms = HONE_TRY(json_field<double>(value, "profiled_ms"));
  d.inferences = HONE_TRY(json_field<int64_t>(value, "inferences"));
  d.mapped_share = HONE_TRY(json_field<double>(value, "mapped_share"));
  d.flops = HONE_TRY(json_field<double>(value, "flops"));
  d.bytes = HONE_TRY(json_field<double>(value, "bytes"));
  d.weight_bytes = HONE_TRY(json_field<double>(value, "weight_bytes"));
  d.roof_ms = HONE_TRY(json_field<double>(value, "roof_ms"));
  HONE_TRY(list_from_json(value, "classes", class_from, d.classes));
  HONE_TRY(list_from_json(value, "operators", operator_from, d.operators));
  HONE_TRY(list_from_json(value, "findings", finding_from, d.findings));
  d.notes = HONE_TRY(json_field<std::vector<std::string>>(value, "notes"));
  d.machine = HONE_TRY(Machine::from_json(HONE_TRY(json_field<Json>(value, "machine"))));
  return d;
}

}  // namespace hone::diagnose
