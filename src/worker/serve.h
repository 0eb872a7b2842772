// serve(): the inside of the hone-worker process. Answers requests, one JSON line each, until the other end closes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "engine/engine.h"

namespace hone::worker {

// Makes the session; the program's is open_with_engine(), tests have their own.
using Opener =
    std::function<Result<std::unique_ptr<engine::Session>>(const engine::Configuration&, const engine::OpenOptions&)>;

Result<std::unique_ptr<engine::Session>> open_with_engine(const engine::Configuration& configuration,
                                                          const engine::OpenOptions& options);

// Returns the exit status of the process.
int serve(int descriptor, const Opener& opener);

}  // namespace hone::worker
