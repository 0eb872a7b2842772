// Session: a Run from its first or last state to its end, with any Lab. optimize() is this with the real one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "loop/lab.h"
#include "loop/optimize.h"
#include "run/plan.h"

namespace hone::loop {

using AtPoint = std::function<void(std::string_view)>;  // Run::at_point, for tests that crash there

Result<run::Record> start_run(const run::Plan& plan, const fs::path& out, Lab& lab, Listener& listener,
                              AtPoint at_point = {});
// A finished Run gives its Record. Another machine, core count or engine version, another model file: kUsage with what
// differs.
Result<run::Record> resume_run(const fs::path& folder, Lab& lab, Listener& listener, AtPoint at_point = {});
// Up to the ordered list of what would be tried; resume_run() goes on from there.
Result<run::Record> plan_run(const run::Plan& plan, const fs::path& out, Lab& lab, Listener& listener);

}  // namespace hone::loop
