// SPDX-License-Identifier: Apache-2.0
#include "report/load_snippet.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "report/assets.h"
#include "run/best.h"

namespace hone::report {

namespace {

struct Loaded {  // what the snippets are made from
  engine::Configuration configuration;
  std::string model;  // file name in best/
  std::map<std::string, std::vector<int64_t>> shapes;
};

Loaded loaded(const run::Record& record) {
  Loaded out;
  if (const run::Trial* best = record.best()) out.configuration = best->configuration;
  out.model = record.best() != nullptr ? run::best_model_name(record) : "model.onnx";
  if (record.protocol) out.shapes = record.protocol->shapes;
  return out;
}

// The engine's settings with those defaults that hone gives it explicitly, because the engine's own would be others:
// every lossy one, and OpenVINO's hint.
engine::Settings explicit_settings(const engine::Configuration& configuration) {
  engine::Settings settings = configuration.settings;
  const auto engine = engine::find_engine(configuration.engine);
  if (!engine || configuration.engine != "openvino") return settings;
  for (const engine::SettingInfo& info : (*engine)->settings())
    if (info.lossy || info.id == "performance_hint") settings.insert({info.id, info.default_value});
  return settings;
}

// The settings as lines of code; those that need none are left out.
std::string setting_lines(const Loaded& what, bool python, std::string_view indent, bool run_options) {
  std::string out;
  for (const auto& [id, value] : explicit_settings(what.configuration)) {
    const bool of_run = id == "arena_shrinkage" || id.starts_with("run_config.");
    if (of_run != run_options) continue;
    const auto code = what.configuration.engine == "openvino" ? openvino_setting_code(id, value)
                                                              : onnxruntime_setting_code(id, value);
    if (code) out += fmt::format("{}{}\n", indent, python ? code->python : code->cpp);
  }
  return out;
}

// "1x?x3" -> "1, -1, 3", as OpenVINO's shapes are written in both languages; a scalar has no dims.
std::string openvino_dims(std::string_view text) {
  std::string out;
  if (text == "scalar" || text.empty()) return out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    int64_t dim = -1;  // ? and -1: stays dynamic
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, dim);
    const bool whole = error == std::errc() && stop == text.data() + end && dim >= 0;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", whole ? dim : -1);
    at = end + 1;
  }
  return out;
}

// The reshape to the shapes the model was compiled for; nothing where it was compiled for any shape.
std::string openvino_shape_lines(const Loaded& what, bool python) {
  const engine::Settings& settings = what.configuration.settings;
  const auto fixed = settings.find("static_shapes");
  if (fixed != settings.end() && !engine::setting_is_on(fixed->second)) return {};
  std::string items;
  for (const auto& [id, value] : settings) {
    if (!id.starts_with("shape.")) continue;
    items += fmt::format(fmt::runtime(python ? "{}{}: [{}]" : "{}{{{}, ov::PartialShape{{{}}}}}"),
                         items.empty() ? "" : ", ", literal(id.substr(6)), openvino_dims(value));
  }
  if (items.empty()) return {};
  return python ? fmt::format("model.reshape({{{}}})  # the shapes that were measured\n", items)
                : fmt::format(
                      "  model->reshape(std::map<std::string, ov::PartialShape>{{{}}});  // the shapes that were "
                      "measured\n",
                      items);
}

// The Protocol's shapes as a C++ initializer of a map by input name.
std::string shape_map(const Loaded& what) {
  std::string out;
  for (const auto& [name, dims] : what.shapes)
    out += fmt::format("{}{{{}, {{{}}}}}", out.empty() ? "" : ", ", literal(name), fmt::join(dims, ", "));
  return out;
}

}  // namespace

std::string python_snippet(const run::Record& record) {
  const Loaded what = loaded(record);
  const bool openvino = what.configuration.engine == "openvino";
  return fmt::format(fmt::runtime(openvino ? openvino_py() : onnxruntime_py()),
                     environment_prefix(what.configuration.settings), setting_lines(what, true, "", false),
                     literal(what.model),
                     openvino ? openvino_shape_lines(what, true) : setting_lines(what, true, "", true));
}

std::string cpp_snippet(const run::Record& record) {
  const Loaded what = loaded(record);
  return fmt::format(fmt::runtime(what.configuration.engine == "openvino" ? openvino_cpp() : onnxruntime_cpp()),
                     environment_prefix(what.configuration.settings), setting_lines(what, false, "  ", false),
                     literal(what.model), shape_map(what), setting_lines(what, false, "  ", true),
                     openvino_shape_lines(what, false));
}

}  // namespace hone::report
