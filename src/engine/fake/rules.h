// Scripted trouble for the fake engine: "with these settings, behave as if those were set, too".
//
//   {"latency_us": 5000,                                            instead of the sum over the model's nodes
//    "rules": [{"if": {"intra_op_threads": "2"}, "set": {"fake.crash": "run"}}]}
//
// Read from `<model>.fake.json` beside the model, else from the file that $HONE_FAKE_RULES names (which then holds for
// every model, the rewritten ones of a Run included); neither = no rules. So a test of the loop says which Change
// crashes, hangs, lies or is fast, without the loop knowing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/json.h"
#include "engine/engine.h"

namespace hone::engine::fake {

struct Rules {
  std::optional<double> latency_us;
  std::vector<std::pair<Settings, Settings>> rules;  // if all of first, then add second

  // The settings with what the matching rules add; later rules see what earlier ones added.
  Settings applied_to(Settings settings) const;
};

Result<Rules> parse_rules(const Json& document);
Result<Rules> read_rules(const fs::path& model);

}  // namespace hone::engine::fake
