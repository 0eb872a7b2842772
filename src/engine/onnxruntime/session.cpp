// SPDX-License-Identifier: Apache-2.0
#include "engine/onnxruntime/session.h"

#include "engine/checks.h"
#include "engine/onnxruntime/options.h"
#include "engine/onnxruntime/value.h"
#include "engine/setting_value.h"

namespace hone::engine::ort {

namespace {

// Input shapes seen lately whose output buffers are kept; samples of a dataset usually come in a few sizes.
constexpr size_t kBufferSets = 8;

const Ort::MemoryInfo& cpu_memory() {
  static const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  return memory;
}

bool is_static(const TensorInfo& info) {
  if (!info.is_tensor || !info.rank_known || info.dtype == model::DType::kString) return false;
  return std::ranges::all_of(info.dims, [](int64_t dim) { return dim >= 0; });
}

}  // namespace

Result<std::unique_ptr<Session>> OrtSession::open(const fs::path& model, const Settings& settings,
                                                  const OpenOptions& options) {
  const Ort::SessionOptions session_settings = HONE_TRY(session_options(settings, options));
  std::unique_ptr<OrtSession> out(new OrtSession);
  out->run_options_ = HONE_TRY(run_options(settings));
  out->quiet_run_options_ = HONE_TRY(run_options(settings));
  out->quiet_run_options_.SetRunLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
  out->where_ = model.string();
  out->bind_outputs_ = setting_bool(settings, "output_binding", false);
  out->profiling_ = !options.profile_dir.empty();
  HONE_TRY(guard(out->where_, [&] {
    out->session_ = Ort::Session(environment(), model.c_str(), session_settings);
    out->read_signature();
    if (out->bind_outputs_) out->binding_ = Ort::IoBinding(out->session_);
  }));
  HONE_TRY(require_tensor_inputs(out->inputs_, model));
  return out;
}

void OrtSession::read_signature() {
  const Ort::AllocatorWithDefaultOptions allocator;
  for (size_t i = 0; i < session_.GetInputCount(); ++i)
    inputs_.push_back(tensor_info(session_.GetInputNameAllocated(i, allocator).get(), session_.GetInputTypeInfo(i)));
  for (size_t i = 0; i < session_.GetOutputCount(); ++i)
    outputs_.push_back(tensor_info(session_.GetOutputNameAllocated(i, allocator).get(), session_.GetOutputTypeInfo(i)));
  for (size_t i = 0; i < session_.GetOverridableInitializerCount(); ++i)
    overridable_.push_back(tensor_info(session_.GetOverridableInitializerNameAllocated(i, allocator).get(),
                                       session_.GetOverridableInitializerTypeInfo(i)));
  for (const auto& output : outputs_) output_names_.push_back(output.name.c_str());
  data_dependent_.assign(outputs_.size(), 0);
}

Status OrtSession::bind(const model::NamedTensors& sample) {
  HONE_TRY(check_sample(inputs_, sample));
  bound_ = false;
  HONE_TRY(guard(where_, [&] {
    bind_inputs(sample);
    results_.clear();
    if (!bind_outputs_) return;
    binding_.ClearBoundInputs();
    for (size_t i = 0; i < input_values_.size(); ++i) binding_.BindInput(input_names_[i], input_values_[i]);
    choose_buffers();
    binding_.ClearBoundOutputs();
    for (size_t i = 0; i < outputs_.size(); ++i) bind_output(i);
  }));
  bound_ = first_run_ = true;
  return {};
}

void OrtSession::bind_inputs(const model::NamedTensors& sample) {
  bound_tensors_.clear();
  input_names_.clear();
  input_values_.clear();
  const auto add = [&](const TensorInfo& info) {
    const model::Tensor* tensor = model::find_tensor(sample, info.name);
    if (tensor == nullptr) return;  // an initializer keeps its own value
    bound_tensors_.push_back(tensor->aligned());
    input_names_.push_back(info.name.c_str());
    input_values_.push_back(value_over(bound_tensors_.back()));
  };
  for (const auto& input : inputs_) add(input);
  for (const auto& initializer : overridable_) add(initializer);
}

void OrtSession::choose_buffers() {
  std::vector<std::vector<int64_t>> dims;
  for (const auto& tensor : bound_tensors_) dims.push_back(tensor.dims());
  const auto known = std::ranges::find(buffers_, dims, &Buffers::input_dims);
  if (known != buffers_.end()) {
    buffers_.splice(buffers_.begin(), buffers_, known);
    return;
  }
  if (buffers_.size() == kBufferSets) buffers_.pop_back();
  Buffers fresh{std::move(dims), {}, true};
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool now = is_static(outputs_[i]) && !data_dependent_[i];
    fresh.values.push_back(now ? allocated_value(outputs_[i].dtype, outputs_[i].dims) : Ort::Value(nullptr));
    fresh.complete &= now;
  }
  buffers_.push_front(std::move(fresh));
}

void OrtSession::bind_output(size_t index) {
  const Ort::Value& buffer = buffers_.front().values[index];
  if (buffer)
    binding_.BindOutput(output_names_[index], buffer);
  else
    binding_.BindOutput(output_names_[index], cpu_memory());
}

Status OrtSession::run() {
  if (!bound_) return fail(internal_error("run() before bind()", where_));
  auto done = guard(where_, [&] { run_bound(first_run_ && bind_outputs_ ? quiet_run_options_ : run_options_); });
  if (!done && bind_outputs_ && give_up_buffers()) done = guard(where_, [&] { run_bound(run_options_); });
  if (!done) return done;
  first_run_ = false;
  ++iterations_;
  if (bind_outputs_ && !buffers_.front().complete) return guard(where_, [&] { learn_buffers(); });
  return {};
}

void OrtSession::run_bound(const Ort::RunOptions& run_options) {
  if (bind_outputs_) {
    session_.Run(run_options, binding_);
    return;
  }
  results_.clear();  // first, so that the arena can hand the same memory out again
  results_ = session_.Run(run_options, input_names_.data(), input_values_.data(), input_values_.size(),
                          output_names_.data(), output_names_.size());
}

void OrtSession::learn_buffers() {
  Buffers& buffers = buffers_.front();
  buffers.complete = true;
  const std::vector<Ort::Value> results = binding_.GetOutputValues();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (buffers.values[i] || data_dependent_[i] || !outputs_[i].is_tensor) continue;
    if (outputs_[i].dtype == model::DType::kString) continue;
    // The result itself is not kept: it may share memory with an input (a model whose output is its input).
    const auto dims = results[i].GetTensorTypeAndShapeInfo().GetShape();
    Ort::Value buffer = allocated_value(outputs_[i].dtype, dims);
    const size_t bytes = model::packed_size(outputs_[i].dtype, model::element_count(dims));
    if (bytes > 0) std::memcpy(buffer.GetTensorMutableRawData(), results[i].GetTensorRawData(), bytes);
    buffers.values[i] = std::move(buffer);
    bind_output(i);
  }
}

bool OrtSession::give_up_buffers() {
  Buffers& buffers = buffers_.front();
  std::vector<size_t> had;
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (buffers.values[i]) had.push_back(i);
  // Which of them did not fit is not told in a form that can be read: all are given up.
  for (const size_t i : had) {
    for (auto& set : buffers_) set.values[i] = Ort::Value(nullptr);
    data_dependent_[i] = 1;
    bind_output(i);
  }
  return !had.empty();
}

Result<model::NamedTensors> OrtSession::fetch() {
  if (!bound_) return fail(internal_error("fetch() before bind() and run()", where_));
  return guard(where_, [&] {
    std::vector<Ort::Value> bound_results;
    if (bind_outputs_) bound_results = binding_.GetOutputValues();
    const auto& results = bind_outputs_ ? bound_results : results_;
    model::NamedTensors out;
    for (size_t i = 0; i < results.size(); ++i) copy_out(outputs_[i].name, results[i], out);
    return out;
  });
}

Result<RawProfile> OrtSession::end_profile() {
  if (!profiling_) return fail(internal_error("end_profile() of a session without profile_dir", where_));
  profiling_ = false;
  return guard(where_, [&] {
    const Ort::AllocatorWithDefaultOptions allocator;
    return RawProfile{{fs::path(session_.EndProfilingAllocated(allocator).get())}, iterations_};
  });
}

}  // namespace hone::engine::ort
