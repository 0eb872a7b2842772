// A Report as JSON and back. A number that JSON can't hold is null with the reason beside it (product.md): the reason's
// first word tells which infinity it was, so that nothing is lost on the way.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "accuracy/accuracy.h"

namespace hone::accuracy {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void put(Json& object, const std::string& key, double value, std::string_view why) {
  if (std::isfinite(value)) {
    object[key] = value;
    return;
  }
  object[key] = nullptr;
  const std::string kind = std::isnan(value) ? "not a number" : value > 0 ? "infinite" : "minus infinite";
  object[key + "_reason"] = kind + ": " + std::string(why);
}

void put(Json& object, const std::string& key, const std::optional<double>& value, std::string_view why_absent) {
  if (value) return put(object, key, *value, "");
  object[key] = nullptr;
  object[key + "_reason"] = why_absent;
}

Result<std::optional<double>> get(const Json& object, const std::string& key) {
  if (object.contains(key) && object[key].is_number()) return object[key].get<double>();
  if (!object.contains(key) || !object[key].is_null())
    return fail(bad_input("JSON field missing or of the wrong type: " + key));
  const auto reason = HONE_TRY(json_field<std::string>(object, (key + "_reason").c_str()));
  if (reason.starts_with("infinite")) return kInfinity;
  if (reason.starts_with("minus infinite")) return -kInfinity;
  if (reason.starts_with("not a number")) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

Result<double> number(const Json& object, const std::string& key) {
  const auto value = HONE_TRY(get(object, key));
  if (!value) return fail(bad_input("JSON field has no value: " + key));
  return *value;
}

Json to_json(const Metrics& m) {
  Json out{{"name", m.name}};
  put(out, "max_abs", m.max_abs, "out of range");
  put(out, "mean_abs", m.mean_abs, "out of range");
  put(out, "rmse", m.rmse, "out of range");
  put(out, "cosine", m.cosine, "out of range");
  put(out, "snr_db", m.snr_db, m.snr_db > 0 ? "no difference" : "the reference is all zero");
  put(out, "relative_max", m.relative_max, "the reference is all zero");
  put(out, "topk_match", m.topk_match, "the output has no classes");
  out["topk_rows"] = m.topk_rows;
  put(out, "equal_share", m.equal_share, "the output is floating");
  out["nan_mismatch"] = m.nan_mismatch;
  out["reference_nan"] = m.reference_nan;
  out["bitwise"] = m.bitwise;
  out["elements"] = m.elements;
  out["problem"] = m.problem;
  out["passed"] = m.passed;
  out["why"] = m.why;
  return out;
}

Result<Metrics> metrics_from_json(const Json& value) {
  Metrics m;
  m.name = HONE_TRY(json_field<std::string>(value, "name"));
  m.max_abs = HONE_TRY(number(value, "max_abs"));
  m.mean_abs = HONE_TRY(number(value, "mean_abs"));
  m.rmse = HONE_TRY(number(value, "rmse"));
  m.cosine = HONE_TRY(number(value, "cosine"));
  m.snr_db = HONE_TRY(number(value, "snr_db"));
  m.relative_max = HONE_TRY(number(value, "relative_max"));
  m.topk_match = HONE_TRY(get(value, "topk_match"));
  m.topk_rows = HONE_TRY(json_field<int64_t>(value, "topk_rows"));
  m.equal_share = HONE_TRY(get(value, "equal_share"));
  m.nan_mismatch = HONE_TRY(json_field<int64_t>(value, "nan_mismatch"));
  m.reference_nan = HONE_TRY(json_field<int64_t>(value, "reference_nan"));
  m.bitwise = HONE_TRY(json_field<bool>(value, "bitwise"));
  m.elements = HONE_TRY(json_field<int64_t>(value, "elements"));
  m.problem = HONE_TRY(json_field<std::string>(value, "problem"));
  m.passed = HONE_TRY(json_field<bool>(value, "passed"));
  m.why = HONE_TRY(json_field<std::string>(value, "why"));
  return m;
}

}  // namespace

Json Report::to_json() const {
  Json out{{"level", level}, {"passed", passed}, {"class", to_text(accuracy_class)}, {"why", why}};
  out["samples"] = samples;
  out["synthetic"] = synthetic;
  put(out, "quality", quality, "no quality command");
  put(out, "quality_reference", quality_reference, "no quality command");
  out["notes"] = notes;
  out["outputs"] = Json::array();
  for (const auto& output : outputs) out["outputs"].push_back(accuracy::to_json(output));
  return out;
}

Result<Report> Report::from_json(const Json& value) {
  Report report;
  report.level = HONE_TRY(json_field<std::string>(value, "level"));
  report.passed = HONE_TRY(json_field<bool>(value, "passed"));
  const auto word = HONE_TRY(json_field<std::string>(value, "class"));
  const auto accuracy_class = class_from_text(word);
  if (!accuracy_class) return fail(bad_input("unknown accuracy class: " + word));
  report.accuracy_class = *accuracy_class;
  report.why = HONE_TRY(json_field<std::string>(value, "why"));
  report.samples = HONE_TRY(json_field<int64_t>(value, "samples"));
  report.synthetic = HONE_TRY(json_field<bool>(value, "synthetic"));
  report.quality = HONE_TRY(get(value, "quality"));
  report.quality_reference = HONE_TRY(get(value, "quality_reference"));
  report.notes = HONE_TRY(json_field<std::vector<std::string>>(value, "notes"));
  for (const auto& output : HONE_TRY(json_field<Json>(value, "outputs")))
    report.outputs.push_back(HONE_TRY(metrics_from_json(output)));
  return report;
}

}  // namespace hone::accuracy
