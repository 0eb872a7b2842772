// SPDX-License-Identifier: Apache-2.0
#include "engine/openvino/session.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <type_traits>

#include "engine/checks.h"
#include "engine/message.h"
#include "engine/suggest.h"

namespace hone::engine::openvino {

namespace {

// Runs `work`; OpenVINO's exceptions become a tool_failed Error with the first meaningful line of the message.
template <class Work>
auto guard(const std::string& where, Work work) -> Result<std::invoke_result_t<Work>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const std::exception& e) {
    return fail(tool_failed("openvino: " + first_meaningful_line(e.what()), where));
  }
}

std::vector<TensorInfo> tensor_infos(const std::vector<Port>& ports) {
  std::vector<TensorInfo> out;
  for (const Port& port : ports)
    out.push_back({port.name, static_cast<model::DType>(port.dtype), port.dims, true, port.rank_known});
  return out;
}

Status require_known_types(const std::vector<TensorInfo>& ports, const char* kind, const std::string& where) {
  for (const auto& port : ports)
    if (port.dtype == model::DType::kUndefined)
      return fail(
          unsupported(fmt::format("openvino: {} {} has a type hone can't pass (strings and the like)", kind, port.name),
                      where, "use the engine onnxruntime"));
  return {};
}

// A name of shape.* that is no input would do nothing, silently.
Status require_known_shapes(const std::vector<TensorInfo>& inputs, const OpenRequest& request) {
  std::vector<std::string> names;
  for (const auto& input : inputs) names.push_back(input.name);
  for (const auto& [name, dims] : request.shapes)
    if (std::ranges::find(names, name) == names.end())
      return fail(usage_error("setting shape.* names no such input: " + name, request.model,
                              did_you_mean(name, names, fmt::format("inputs: {}", fmt::join(names, ", ")))));
  return {};
}

// OpenVINO drops a precision the CPU does not have without a word; here that is a refusal.
Status require_precision(const PluginSession& session, const OpenRequest& request) {
  constexpr const char* kName = "INFERENCE_PRECISION_HINT";
  const std::string& wanted = request.properties.at(kName);
  const std::string got = HONE_TRY(guard(request.model, [&] { return session.property(kName); }));
  if (got == wanted) return {};
  return fail(tool_failed(fmt::format("openvino: this CPU can't compute in {}, it would use {}", wanted, got),
                          request.model, "set inference_precision=f32"));
}

}  // namespace

Result<std::unique_ptr<Session>> OpenVinoSession::open(Plugin& plugin, const OpenRequest& request,
                                                       const OpenOptions& options) {
  std::unique_ptr<OpenVinoSession> out(new OpenVinoSession);
  out->where_ = request.model;
  out->session_ = HONE_TRY(guard(out->where_, [&] { return plugin.open(request); }));
  HONE_TRY(require_precision(*out->session_, request));
  out->inputs_ = tensor_infos(out->session_->inputs());
  out->outputs_ = tensor_infos(out->session_->outputs());
  HONE_TRY(require_known_shapes(out->inputs_, request));
  HONE_TRY(require_known_types(out->inputs_, "input", out->where_));
  HONE_TRY(require_known_types(out->outputs_, "output", out->where_));
  out->profile_dir_ = options.profile_dir;
  out->profile_.version = plugin.version();
  out->profile_.model = fs::path(request.model).filename().string();
  return out;
}

Status OpenVinoSession::bind(const model::NamedTensors& sample) {
  HONE_TRY(check_sample(inputs_, sample));
  std::vector<model::Tensor> tensors;
  std::vector<View> views;
  for (const auto& input : inputs_) {
    tensors.push_back(model::find_tensor(sample, input.name)->aligned());
    const auto& tensor = tensors.back();
    views.push_back({static_cast<int32_t>(tensor.dtype()), tensor.dims(), tensor.bytes().data(), tensor.byte_size()});
  }
  is_bound_ = false;
  HONE_TRY(guard(where_, [&] { session_->bind(views); }));
  bound_ = std::move(tensors);
  is_bound_ = true;
  return {};
}

Status OpenVinoSession::run() {
  if (!is_bound_) return fail(internal_error("run() before bind()", where_));
  if (!profile_dir_.empty()) return run_profiled();
  return guard(where_, [&] { session_->run(); });
}

Status OpenVinoSession::run_profiled() {
  return guard(where_, [&] {
    const int64_t start = steady_clock().now_ns();
    session_->run();
    profile_.wall_ns.push_back(steady_clock().now_ns() - start);
    if (profile_.wall_ns.size() == 1) profile_.after_first = session_->nodes();
  });
}

Result<model::NamedTensors> OpenVinoSession::fetch() {
  if (!is_bound_) return fail(internal_error("fetch() before bind() and run()", where_));
  return guard(where_, [&] {
    model::NamedTensors out;
    const auto views = session_->outputs_of_last_run();
    for (size_t i = 0; i < views.size(); ++i) {
      std::span<std::byte> bytes;
      auto tensor = model::Tensor::make(static_cast<model::DType>(views[i].dtype), views[i].dims, &bytes);
      if (!bytes.empty()) std::memcpy(bytes.data(), views[i].data, std::min(bytes.size(), views[i].bytes));
      out.emplace_back(outputs_[i].name, std::move(tensor));
    }
    return out;
  });
}

Result<RawProfile> OpenVinoSession::end_profile() {
  if (profile_dir_.empty()) return fail(internal_error("end_profile() of a session without profile_dir", where_));
  const fs::path path = profile_dir_ / fmt::format("openvino_profile_{}.json", getpid());
  profile_dir_.clear();
  if (!profile_.wall_ns.empty()) profile_.after_last = HONE_TRY(guard(where_, [&] { return session_->nodes(); }));
  HONE_TRY(write_profile(path, profile_));
  return RawProfile{{path}, static_cast<int>(profile_.wall_ns.size())};
}

}  // namespace hone::engine::openvino
