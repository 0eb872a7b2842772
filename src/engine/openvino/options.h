// Settings of the openvino engine, and the OpenVINO properties they become.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "engine/openvino/plugin.h"

namespace hone::engine::openvino {

const std::vector<SettingInfo>& setting_table();
// `settings` are validated. A shape that can't be read is an Error.
Result<OpenRequest> open_request(const fs::path& model, const Settings& settings, const OpenOptions& options);

}  // namespace hone::engine::openvino
