// Finds and loads hone-openvino.so (plugin.h), once per process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "engine/openvino/plugin.h"

namespace hone::engine::openvino {

// Looks at $HONE_OPENVINO_PLUGIN, beside the program, and in ../lib/hone of it. The Error says why it is not there or
// does not load, and how to get it.
Result<Plugin*> load_plugin();

}  // namespace hone::engine::openvino
