// SPDX-License-Identifier: Apache-2.0
#include "engine/onnxruntime/ort.h"

#include "engine/message.h"

namespace hone::engine::ort {

bool ort_available() {
  static const bool available = [] {
    Ort::InitApi(OrtGetApiBase()->GetApi(ORT_API_VERSION));
    return Ort::Global<void>::api_ != nullptr;
  }();
  return available;
}

std::string ort_version() { return OrtGetApiBase()->GetVersionString(); }

Ort::Env& environment() {
  // Never destroyed: a session held by a static may end after it would.
  static Ort::Env* env = new Ort::Env(ORT_LOGGING_LEVEL_WARNING, "hone");
  return *env;
}

std::string message_of(const std::exception& e, const std::string& where) {
  std::string_view text = e.what();
  const std::string prefix = "Load model from " + where + " failed:";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return "onnxruntime: " + first_meaningful_line(text);
}

}  // namespace hone::engine::ort
