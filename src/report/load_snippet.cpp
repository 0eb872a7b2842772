// SPDX-License-Identifier: Apache-2.0
#include "report/load_snippet.h"

#include <fmt/format.h>

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
  for (const auto& [id, value] : what.configuration.settings) {
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

constexpr std::string_view kPythonHead = R"(#!/usr/bin/env python3
"""Loads the model of this folder with the settings that won, runs it on INPUTS.npz, prints and saves the outputs.
usage: {}python3 load.py INPUTS.npz [OUTPUTS.npz]     (pip install {} numpy)
"""
import pathlib
import sys

import numpy as np
import {}

path = pathlib.Path(__file__).resolve().parent / "{}"
)";

constexpr std::string_view kPythonOnnxRuntime = R"(options = ort.SessionOptions()
{}run_options = ort.RunOptions()
{}session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
inputs = dict(np.load(sys.argv[1]))
names = [output.name for output in session.get_outputs()]
values = session.run(names, inputs, run_options)
)";

constexpr std::string_view kPythonOpenVino = R"(config = {{}}
{}config.setdefault("INFERENCE_PRECISION_HINT", "f32")  # OpenVINO's own default may be bf16
core = ov.Core()
model = core.read_model(str(path))
{}compiled = core.compile_model(model, "CPU", config)
inputs = dict(np.load(sys.argv[1]))
request = compiled.create_infer_request()
request.infer({{port.any_name: np.ascontiguousarray(inputs[port.any_name]) for port in compiled.inputs}})
names = [port.any_name for port in compiled.outputs]
values = [request.get_output_tensor(i).data for i in range(len(names))]
)";

constexpr std::string_view kPythonTail = R"(for name, value in zip(names, values):
    print(name, value.dtype, value.shape)
if len(sys.argv) > 2:
    np.savez(sys.argv[2], **dict(zip(names, values)))
)";

constexpr std::string_view kCppOnnxRuntime =
    R"(// Loads the model of a folder with the settings that won and runs it once.
// usage: {0}./load FOLDER INPUT.bin...   one file of raw values per input, in the model's order; writes output_0.bin, ...
// build: g++ -std=c++17 load.cpp -I INCLUDE_OF_ONNXRUNTIME -L LIB_OF_ONNXRUNTIME -lonnxruntime -o load
#include <onnxruntime_cxx_api.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

int main(int argc, char** argv) try {{
  if (argc < 2) return std::cerr << "usage: load FOLDER INPUT.bin...\n", 2;
  Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "load");
  Ort::SessionOptions options;
{1}  Ort::Session session(env, (std::string(argv[1]) + "/{2}").c_str(), options);
  Ort::AllocatorWithDefaultOptions allocator;
  Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const std::map<std::string, std::vector<int64_t>> shapes = {{{3}}};
  std::vector<std::vector<char>> buffers;
  std::vector<Ort::Value> inputs;
  std::vector<std::string> names;
  for (size_t i = 0; i < session.GetInputCount(); ++i) {{
    if (static_cast<int>(i) + 2 >= argc) return std::cerr << "the model has more inputs than files were given\n", 2;
    std::ifstream file(argv[i + 2], std::ios::binary);
    buffers.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    names.emplace_back(session.GetInputNameAllocated(i, allocator).get());
  }}
  std::vector<const char*> input_names, output_names;
  for (size_t i = 0; i < names.size(); ++i) {{
    const auto type = session.GetInputTypeInfo(i).GetTensorTypeAndShapeInfo().GetElementType();
    const std::vector<int64_t>& dims = shapes.at(names[i]);
    inputs.push_back(Ort::Value::CreateTensor(memory, buffers[i].data(), buffers[i].size(), dims.data(), dims.size(), type));
    input_names.push_back(names[i].c_str());
  }}
  std::vector<std::string> outputs;
  for (size_t i = 0; i < session.GetOutputCount(); ++i) outputs.emplace_back(session.GetOutputNameAllocated(i, allocator).get());
  for (const std::string& name : outputs) output_names.push_back(name.c_str());
  Ort::RunOptions run_options;
{4}  auto values = session.Run(run_options, input_names.data(), inputs.data(), inputs.size(), output_names.data(), output_names.size());
  for (size_t i = 0; i < values.size(); ++i) {{
    const size_t count = values[i].GetTensorTypeAndShapeInfo().GetElementCount();
    std::cout << outputs[i] << ": " << count << " elements\n";
    std::ofstream("output_" + std::to_string(i) + ".bin", std::ios::binary)
        .write(static_cast<const char*>(values[i].GetTensorRawData()), static_cast<std::streamsize>(values[i].GetTensorSizeInBytes()));
  }}
}} catch (const std::exception& e) {{
  std::cerr << e.what() << "\n";
  return 1;
}}
)";

constexpr std::string_view kCppOpenVino = R"(// Loads the model of a folder with the settings that won and runs it once.
// usage: {0}./load FOLDER INPUT.bin...   one file of raw values per input, in the model's order; writes output_0.bin, ...
// build: g++ -std=c++17 load.cpp -I INCLUDE_OF_OPENVINO -L LIB_OF_OPENVINO -lopenvino -o load
#include <openvino/openvino.hpp>

#include <fstream>
#include <iostream>
#include <map>
#include <string>

int main(int argc, char** argv) try {{
  if (argc < 2) return std::cerr << "usage: load FOLDER INPUT.bin...\n", 2;
  ov::AnyMap config;
{1}  config.emplace("INFERENCE_PRECISION_HINT", "f32");  // OpenVINO's own default may be bf16
  ov::Core core;
  std::shared_ptr<ov::Model> model = core.read_model(std::string(argv[1]) + "/{2}");
{5}  ov::CompiledModel compiled = core.compile_model(model, "CPU", config);
  ov::InferRequest request = compiled.create_infer_request();
  const std::map<std::string, ov::Shape> shapes = {{{3}}};
  for (size_t i = 0; i < compiled.inputs().size(); ++i) {{
    if (static_cast<int>(i) + 2 >= argc) return std::cerr << "the model has more inputs than files were given\n", 2;
    ov::Tensor tensor(compiled.input(i).get_element_type(), shapes.at(compiled.input(i).get_any_name()));
    std::ifstream(argv[i + 2], std::ios::binary).read(static_cast<char*>(tensor.data()), static_cast<std::streamsize>(tensor.get_byte_size()));
    request.set_input_tensor(i, tensor);
  }}
  request.infer();
  for (size_t i = 0; i < compiled.outputs().size(); ++i) {{
    const ov::Tensor tensor = request.get_output_tensor(i);
    std::cout << compiled.output(i).get_any_name() << ": " << tensor.get_size() << " elements\n";
    std::ofstream("output_" + std::to_string(i) + ".bin", std::ios::binary)
        .write(static_cast<const char*>(tensor.data()), static_cast<std::streamsize>(tensor.get_byte_size()));
  }}
}} catch (const std::exception& e) {{
  std::cerr << e.what() << "\n";
  return 1;
}}
)";

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
  const std::string prefix = environment_prefix(what.configuration.settings);
  if (what.configuration.engine == "openvino")
    return fmt::format(kPythonHead, prefix, "openvino", "openvino as ov", what.model) +
           fmt::format(kPythonOpenVino, setting_lines(what, true, "", false), openvino_shape_lines(what, true)) +
           std::string(kPythonTail);
  return fmt::format(kPythonHead, prefix, "onnxruntime", "onnxruntime as ort", what.model) +
         fmt::format(kPythonOnnxRuntime, setting_lines(what, true, "", false), setting_lines(what, true, "", true)) +
         std::string(kPythonTail);
}

std::string cpp_snippet(const run::Record& record) {
  const Loaded what = loaded(record);
  return fmt::format(fmt::runtime(what.configuration.engine == "openvino" ? kCppOpenVino : kCppOnnxRuntime),
                     environment_prefix(what.configuration.settings), setting_lines(what, false, "  ", false),
                     what.model, shape_map(what), setting_lines(what, false, "  ", true),
                     openvino_shape_lines(what, false));
}

}  // namespace hone::report
