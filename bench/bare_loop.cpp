// bare_loop: the loop anybody would write with ONNX Runtime's C++ API: default session, inputs in memory, Run() and a
// clock. What `hone bench` reports is compared with its median by bench/overhead. Prints one number, milliseconds.
//
//   bare_loop model.onnx samples/ [seconds]
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "model/model.h"
#include "protocol/data.h"

namespace {

using namespace hone;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<Ort::Value> values_of(model::NamedTensors& sample, const Ort::MemoryInfo& memory) {
  std::vector<Ort::Value> values;
  for (auto& [name, tensor] : sample) {
    const auto bytes = tensor.bytes();
    // DType has ONNX's own numbers, and so has ONNXTensorElementDataType.
    values.push_back(Ort::Value::CreateTensor(memory, const_cast<std::byte*>(bytes.data()), bytes.size(),
                                              tensor.dims().data(), tensor.dims().size(),
                                              static_cast<ONNXTensorElementDataType>(tensor.dtype())));
  }
  return values;
}

Status run(const fs::path& path, const fs::path& data, double seconds) {
  const model::Model model = HONE_TRY(model::Model::load(path));
  protocol::Dataset dataset = HONE_TRY(protocol::load_data(data, model.graph(), {}));
  const Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "bare_loop");
  Ort::Session session(env, path.c_str(), Ort::SessionOptions());
  const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  std::vector<std::vector<Ort::Value>> samples;
  for (model::NamedTensors& sample : dataset.samples) samples.push_back(values_of(sample, memory));
  std::vector<const char*> inputs, outputs;
  for (const auto& [name, tensor] : dataset.samples.front()) inputs.push_back(name.c_str());
  Ort::AllocatorWithDefaultOptions allocator;
  std::vector<std::string> output_names;
  for (size_t i = 0; i < session.GetOutputCount(); ++i)
    output_names.emplace_back(session.GetOutputNameAllocated(i, allocator).get());
  for (const std::string& name : output_names) outputs.push_back(name.c_str());
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  for (size_t i = 0; ms_since(begin) < 1000 * seconds || i < 2 * samples.size(); ++i) {
    const std::vector<Ort::Value>& sample = samples[i % samples.size()];
    const Clock::time_point start = Clock::now();
    const auto results =
        session.Run(Ort::RunOptions(), inputs.data(), sample.data(), sample.size(), outputs.data(), outputs.size());
    const double ms = ms_since(start);
    if (ms_since(begin) > 200 * seconds && i >= samples.size()) times.push_back(ms);  // the first fifth warms up
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  fmt::print("{:.6f}\n", times[times.size() / 2]);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bare_loop model.onnx samples/ [seconds]\n");
    return 2;
  }
  const auto status = run(argv[1], argv[2], argc > 3 ? std::stod(argv[3]) : 2.0);
  if (!status) fmt::print(stderr, "{}\n", status.error().line());
  return status ? 0 : 1;
}
