// ONNX Runtime's C++ API for this folder, and the border its exceptions do not cross.
//
// The API table is fetched by hand (ort_available) and not in a static initialiser: a library that is older than the
// headers is then a sentence of probe(), not a crash before main.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>

#include <string>
#include <type_traits>

#include "base/result.h"

namespace hone::engine::ort {

// Fetches the API table once; false when the library does not offer the headers' version.
bool ort_available();
std::string ort_version();
// The process's one environment: its logger writes warnings and errors to standard error.
Ort::Env& environment();

// "onnxruntime: " and the first meaningful line of a message about the model `where`, which is named once.
std::string message_of(const std::exception& e, const std::string& where);

// Runs `work`; ONNX Runtime's exceptions become a tool_failed Error with the first meaningful line of the message.
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
    return fail(tool_failed(message_of(e, where), where));
  }
}

}  // namespace hone::engine::ort
