// SPDX-License-Identifier: Apache-2.0
#include "engine/checks.h"

#include <fmt/format.h>
#include <unistd.h>

namespace hone::engine {

std::string dims_text(const std::vector<int64_t>& dims) {
  if (dims.empty()) return "scalar";
  std::string out;
  for (const int64_t dim : dims) out += (out.empty() ? "" : "x") + (dim < 0 ? std::string("?") : std::to_string(dim));
  return out;
}

namespace {

bool fits(const std::vector<int64_t>& dims, const std::vector<int64_t>& want) {
  if (dims.size() != want.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (want[i] >= 0 && want[i] != dims[i]) return false;
  return true;
}

}  // namespace

Status check_sample(const std::vector<TensorInfo>& inputs, const model::NamedTensors& sample) {
  for (const auto& input : inputs) {
    const model::Tensor* tensor = model::find_tensor(sample, input.name);
    if (tensor == nullptr) return fail(bad_input("the sample has no tensor for an input", input.name));
    if (tensor->dtype() != input.dtype)
      return fail(bad_input(fmt::format("wrong dtype {}, the model takes {}", model::dtype_name(tensor->dtype()),
                                        model::dtype_name(input.dtype)),
                            "input " + input.name));
    if (input.rank_known && !fits(tensor->dims(), input.dims))
      return fail(
          bad_input(fmt::format("wrong shape {}, the model takes {}", dims_text(tensor->dims()), dims_text(input.dims)),
                    "input " + input.name));
  }
  return {};
}

Status require_tensor_inputs(const std::vector<TensorInfo>& inputs, const fs::path& model) {
  for (const auto& input : inputs)
    if (!input.is_tensor)
      return fail(unsupported(
          "only tensors can be inputs; this one is a sequence, map or optional: input " + input.name, model.string()));
  return {};
}

Status require_files(const fs::path& model, const OpenOptions& options) {
  std::error_code error;
  if (!fs::exists(model, error)) return fail(bad_input("no such model file", model.string()));
  if (fs::is_directory(model, error)) return fail(bad_input("a folder, not a model file", model.string()));
  if (access(model.c_str(), R_OK) != 0) return fail(bad_input("the model file can't be read", model.string()));
  if (fs::file_size(model, error) == 0) return fail(bad_input("the model file is empty", model.string()));
  if (!options.profile_dir.empty() && !fs::is_directory(options.profile_dir, error))
    return fail(io_error("no such folder for the profile", options.profile_dir.string()));
  return {};
}

}  // namespace hone::engine
