// SPDX-License-Identifier: Apache-2.0
#include "report/load_snippet.h"

#include <fmt/format.h>

#include "report/assets.h"

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
  out.model = "model.onnx";
  if (record.protocol) out.shapes = record.protocol->shapes;
  return out;
}

// The settings as lines of code; those that need none are left out.
std::string setting_lines(const Loaded& what, bool python, std::string_view indent, bool run_options) {
  std::string out;
  engine::Settings settings = what.configuration.settings;
  if (what.configuration.engine == "openvino")  // hone's own defaults, where OpenVINO's could change results
    settings.insert({{"inference_precision", "f32"},
                     {"performance_hint", "latency"},
                     {"dynamic_quantization_group_size", "0"},
                     {"kv_cache_precision", "f32"}});
  for (const auto& [id, value] : settings) {
    const bool of_run = id == "arena_shrinkage" || id.starts_with("run_config.");
    if (of_run != run_options) continue;
    const auto code = what.configuration.engine == "openvino" ? openvino_setting_code(id, value)
                                                              : onnxruntime_setting_code(id, value);
    if (code) out += fmt::format("{}{}\n", indent, python ? code->python : code->cpp);
  }
  return out;
}

std::string openvino_shape_lines(const Loaded& what, bool python) {
  std::string items;
  for (const auto& [id, value] : what.configuration.settings) {
    if (!id.starts_with("shape.")) continue;
    std::string dims = value;
    for (size_t at = 0; (at = dims.find('x', at)) != std::string::npos; at += 2) dims.replace(at, 1, ", ");
    items += fmt::format(fmt::runtime(python ? "{}\"{}\": [{}]" : "{}{{\"{}\", ov::PartialShape{{{}}}}}"),
                         items.empty() ? "" : ", ", id.substr(6), dims);
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
                     environment_prefix(what.configuration.settings), setting_lines(what, true, "", false), what.model,
                     openvino ? openvino_shape_lines(what, true) : setting_lines(what, true, "", true));
}

std::string cpp_snippet(const run::Record& record) {
  const Loaded what = loaded(record);
  return fmt::format(fmt::runtime(what.configuration.engine == "openvino" ? openvino_cpp() : onnxruntime_cpp()),
                     environment_prefix(what.configuration.settings), setting_lines(what, false, "  ", false),
                     what.model, shape_map(what), setting_lines(what, false, "  ", true),
                     openvino_shape_lines(what, false));
}

}  // namespace hone::report
