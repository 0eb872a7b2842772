// Wire: the JSON forms of what goes between hone and hone-worker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"
#include "worker/worker.h"

namespace hone::worker {

// {"alive": true} comes before the answer to a request with many inferences, every "alive_ms" of it and not more often:
// the limit of Limits::reply is for one inference, and a message after each would disturb what is profiled.
inline constexpr const char *kAlive = "alive", *kAliveMs = "alive_ms";

// {"error": {...}}: an Error as an answer; its kind survives.
Json error_answer(const Error& error);
// The answer itself, or the Error it carries.
Result<Json> answer_or_error(Json answer);

Json to_json(const BlockRequest& request);
Result<BlockRequest> block_request_from_json(const Json& value);
Json to_json(const engine::TensorInfo& info);
Result<engine::TensorInfo> tensor_info_from_json(const Json& value);

}  // namespace hone::worker
