// Settings of the onnxruntime engine, and what each does to Ort::SessionOptions and Ort::RunOptions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "engine/onnxruntime/ort.h"

namespace hone::engine::ort {

const std::vector<SettingInfo>& setting_table();
// `settings` are validated. Values ONNX Runtime itself refuses are Errors with its message.
Result<Ort::SessionOptions> session_options(const Settings& settings, const OpenOptions& options);
Result<Ort::RunOptions> run_options(const Settings& settings);

}  // namespace hone::engine::ort
