// Plan: what the user asked a Run to do. Fixed when the Run begins, kept in its journal, read back by --resume.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "base/file.h"
#include "base/json.h"
#include "base/result.h"

namespace hone::run {

struct Goal {
  enum class Kind { kLatencyMs, kSpeedup, kMemoryBytes };
  Kind kind = Kind::kSpeedup;
  double value = 0;
  std::string text() const;  // "latency=5ms", "speedup=2x", "memory=500MB": what the command line takes
  static Result<Goal> parse(std::string_view text);
  bool operator==(const Goal&) const = default;
};

// Which models stay on disk; configurations and logs always do.
enum class Keep {
  kBest,  // best/ and the Trials it is made of
  kLogs,  // best/ only
  kAll,   // every Trial's model
};
std::string_view to_text(Keep keep);
Result<Keep> keep_from(std::string_view text);

struct Plan {
  fs::path model;  // absolute
  fs::path data;   // absolute; empty = synthetic
  std::map<std::string, std::vector<int64_t>> shapes;
  std::vector<std::string> engines;  // the first is the baseline's
  std::optional<Goal> goal;
  double budget_s = 0;  // 0 = none
  int max_trials = 0;   // 0 = no limit
  accuracy::Gate gate;
  std::vector<std::string> only, skip;  // change ids
  uint64_t seed = 42;
  int threads = 0;           // 0 = all cores
  size_t sample_limit = 64;  // most samples taken from the data; 0 = all
  Keep keep = Keep::kBest;
  std::string command_line;  // for manifest.txt; secrets removed
  Json to_json() const;
  static Result<Plan> from_json(const Json& value);
};

}  // namespace hone::run
