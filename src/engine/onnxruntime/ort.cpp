// SPDX-License-Identifier: Apache-2.0
#include "engine/onnxruntime/ort.h"

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

}  // namespace hone::engine::ort
