// Configuration as JSON (journal, best/settings.json, the worker's first line), and the accuracy reference.
// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

namespace hone::engine {

Json Configuration::to_json() const {
  Json out = {{"engine", engine}, {"model", model.string()}, {"settings", Json::object()}};
  for (const auto& [id, value] : settings) out["settings"][id] = value;
  return out;
}

namespace {

// Settings may be written by hand: numbers and booleans are taken as their text.
Result<std::string> setting_text(const std::string& id, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "on" : "off");
  if (value.is_number()) return value.dump();
  return fail(bad_input("a setting must be text, a number or a boolean", id));
}

}  // namespace

Result<Configuration> Configuration::from_json(const Json& value) {
  Configuration out;
  out.engine = HONE_TRY(json_field<std::string>(value, "engine"));
  out.model = HONE_TRY(json_field<std::string>(value, "model"));
  const Json settings = value.value("settings", Json::object());
  if (!settings.is_object()) return fail(bad_input("JSON field of the wrong type: settings"));
  for (const auto& [id, setting] : settings.items()) out.settings[id] = HONE_TRY(setting_text(id, setting));
  return out;
}

Configuration accuracy_reference(const fs::path& model) {
  // Not only the purest level: two valid small models load in ONNX Runtime 1.32 at no other one.
  return {"onnxruntime", model, {{"graph_optimization", "disabled"}}};
}

}  // namespace hone::engine
