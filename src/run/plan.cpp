// SPDX-License-Identifier: Apache-2.0
#include "run/plan.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace hone::run {

namespace {

// Splits "5ms" into 5 and "ms". False when there is no positive number in front.
bool split_number(std::string_view text, double* value, std::string* unit) {
  const std::string copy(text);
  char* end = nullptr;
  *value = std::strtod(copy.c_str(), &end);
  *unit = end;
  return end != copy.c_str() && std::isfinite(*value) && *value > 0;
}

std::string number(double value) { return fmt::format("{:.6g}", value); }

Error bad_goal(std::string_view text) {
  return usage_error("not a goal", std::string(text), "use latency=5ms, speedup=2x or memory=500MB");
}

Json gate_json(const accuracy::Gate& gate) {
  Json out = {{"level", gate.level}};
  if (gate.max_abs) out["max_abs"] = *gate.max_abs;
  if (gate.min_cosine) out["min_cosine"] = *gate.min_cosine;
  if (gate.topk) out["topk"] = *gate.topk;
  if (!gate.quality_command.empty()) out["quality_command"] = gate.quality_command;
  if (gate.quality_lower_is_better) out["quality_lower_is_better"] = true;
  if (gate.quality_reference) out["quality_reference"] = *gate.quality_reference;
  out["quality_loss"] = gate.quality_loss;
  return out;
}

accuracy::Gate gate_from(const Json& value) {
  accuracy::Gate gate;
  gate.level = value.value("level", gate.level);
  if (value.contains("max_abs")) gate.max_abs = value.at("max_abs").get<double>();
  if (value.contains("min_cosine")) gate.min_cosine = value.at("min_cosine").get<double>();
  if (value.contains("topk")) gate.topk = value.at("topk").get<double>();
  gate.quality_command = value.value("quality_command", std::string());
  gate.quality_lower_is_better = value.value("quality_lower_is_better", false);
  if (value.contains("quality_reference")) gate.quality_reference = value.at("quality_reference").get<double>();
  gate.quality_loss = value.value("quality_loss", gate.quality_loss);
  return gate;
}

}  // namespace

std::string Goal::text() const {
  switch (kind) {
    case Kind::kLatencyMs:
      return "latency=" + number(value) + "ms";
    case Kind::kSpeedup:
      return "speedup=" + number(value) + "x";
    case Kind::kMemoryBytes:
      break;
  }
  return "memory=" + number(value / 1e6) + "MB";
}

Result<Goal> Goal::parse(std::string_view text) {
  const size_t equals = text.find('=');
  double value = 0;
  std::string unit;
  if (equals == std::string_view::npos || !split_number(text.substr(equals + 1), &value, &unit))
    return fail(bad_goal(text));
  const std::string_view word = text.substr(0, equals);
  struct Form {
    std::string_view word, unit;
    Kind kind;
    double scale;
  };
  static constexpr Form kForms[] = {
      {"latency", "ms", Kind::kLatencyMs, 1},
      {"latency", "us", Kind::kLatencyMs, 1e-3},
      {"latency", "s", Kind::kLatencyMs, 1e3},
      {"speedup", "x", Kind::kSpeedup, 1},
      {"speedup", "", Kind::kSpeedup, 1},
      {"memory", "KB", Kind::kMemoryBytes, 1e3},
      {"memory", "MB", Kind::kMemoryBytes, 1e6},
      {"memory", "GB", Kind::kMemoryBytes, 1e9},
      {"memory", "MiB", Kind::kMemoryBytes, 1 << 20},
  };
  for (const Form& form : kForms)
    if (form.word == word && form.unit == unit) return Goal{form.kind, value * form.scale};
  return fail(bad_goal(text));
}

std::string_view to_text(Keep keep) {
  switch (keep) {
    case Keep::kBest:
      return "best";
    case Keep::kLogs:
      return "logs";
    case Keep::kAll:
      break;
  }
  return "all";
}

Result<Keep> keep_from(std::string_view text) {
  for (Keep keep : {Keep::kBest, Keep::kLogs, Keep::kAll})
    if (to_text(keep) == text) return keep;
  return fail(usage_error("unknown value of --keep", std::string(text), "known: best, logs, all"));
}

Json Plan::to_json() const {
  Json out = {{"model", model.string()},
              {"data", data.string()},
              {"shapes", shapes},
              {"engines", engines},
              {"goal", goal ? Json(goal->text()) : Json(nullptr)},
              {"budget_s", budget_s},
              {"max_trials", max_trials},
              {"accuracy", gate_json(gate)},
              {"only", only},
              {"skip", skip},
              {"seed", seed},
              {"threads", threads},
              {"sample_limit", sample_limit},
              {"keep", to_text(keep)},
              {"command_line", command_line}};
  return out;
}

Result<Plan> Plan::from_json(const Json& value) {
  try {
    Plan plan;
    plan.model = value.at("model").get<std::string>();
    plan.data = value.at("data").get<std::string>();
    plan.shapes = value.at("shapes").get<decltype(plan.shapes)>();
    plan.engines = value.at("engines").get<std::vector<std::string>>();
    if (!value.at("goal").is_null()) plan.goal = HONE_TRY(Goal::parse(value.at("goal").get<std::string>()));
    plan.budget_s = value.at("budget_s").get<double>();
    plan.max_trials = value.at("max_trials").get<int>();
    plan.gate = gate_from(value.at("accuracy"));
    plan.only = value.at("only").get<std::vector<std::string>>();
    plan.skip = value.at("skip").get<std::vector<std::string>>();
    plan.seed = value.at("seed").get<uint64_t>();
    plan.threads = value.at("threads").get<int>();
    plan.sample_limit = value.at("sample_limit").get<size_t>();
    plan.keep = HONE_TRY(keep_from(value.at("keep").get<std::string>()));
    plan.command_line = value.at("command_line").get<std::string>();
    return plan;
  } catch (const nlohmann::json::exception& e) {
    return fail(bad_input("not a plan", {}, e.what()));
  }
}

}  // namespace hone::run
