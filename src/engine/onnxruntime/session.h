// One ONNX Runtime session.
//
// Output binding. With output_binding=on, outputs are written into buffers that are allocated once: at bind() where
// the model's type fixes the shape, else after the first inference with inputs of these shapes has shown it. A shape
// that then differs after all (it depends on the data: NonZero) makes ONNX Runtime refuse the buffer; the inference is
// done again and that output is allocated by each inference from then on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>

#include "engine/engine.h"
#include "engine/onnxruntime/ort.h"

namespace hone::engine::ort {

class OrtSession final : public Session {
 public:
  static Result<std::unique_ptr<Session>> open(const fs::path& model, const Settings& settings,
                                               const OpenOptions& options);
  const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  const std::vector<TensorInfo>& outputs() const override { return outputs_; }
  Status bind(const model::NamedTensors& sample) override;
  Status run() override;
  Result<model::NamedTensors> fetch() override;
  Result<RawProfile> end_profile() override;

 private:
  // Preallocated outputs for inputs of certain shapes; a null value = ONNX Runtime allocates that output.
  struct Buffers {
    std::vector<std::vector<int64_t>> input_dims;
    std::vector<Ort::Value> values;
    bool complete = false;  // nothing is left to learn
  };

  OrtSession() = default;
  void read_signature();
  void bind_inputs(const model::NamedTensors& sample);
  void choose_buffers();
  void bind_output(size_t index);
  // Runs with the outputs as they are bound.
  void run_bound(const Ort::RunOptions& run_options);
  // Gives buffers to outputs whose shape the last inference has shown, with its data.
  void learn_buffers();
  // Finds the outputs whose buffers did not fit and gives them up; false when none had a buffer.
  bool give_up_buffers();

  std::string where_;
  Ort::Session session_{nullptr};
  Ort::RunOptions run_options_{nullptr};
  Ort::RunOptions quiet_run_options_{nullptr};  // logs nothing: for an inference that may be done again
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<TensorInfo> overridable_;  // initializers that are also inputs: a sample may set them
  std::vector<const char*> output_names_;
  std::vector<char> data_dependent_;  // by output: its shape is not a function of the input shapes

  bool bind_outputs_ = true;
  bool profiling_ = false;
  bool bound_ = false;
  bool first_run_ = true;  // since bind()
  int iterations_ = 0;
  std::vector<model::Tensor> bound_tensors_;  // keep the bytes that input_values_ point to
  std::vector<const char*> input_names_;
  std::vector<Ort::Value> input_values_;
  Ort::IoBinding binding_{nullptr};
  std::list<Buffers> buffers_;       // most recent first
  std::vector<Ort::Value> results_;  // with output_binding=off
};

}  // namespace hone::engine::ort
