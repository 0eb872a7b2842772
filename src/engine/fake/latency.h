// The fake engine's hidden latency model: how long a model "takes" under some settings. Pure; no clock, no files.
//
// Every node costs a fixed time by its operator, so fusing or removing nodes pays; every setting is a factor, so there
// is something to find, something that makes no difference, and something that makes it worse. The numbers are
// made up once and tests rely on them; they say nothing about any real engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "model/model.h"

namespace hone::engine::fake {

struct NodeCost {
  std::string name;  // as ONNX Runtime's profiler would say it: unnamed nodes are "<op>_<index>"
  std::string op;
  double us = 0;
  std::string input_types;  // JSON of the profile's input_type_shape; "" = not known
};

// In the order of execution.
std::vector<NodeCost> node_costs(const model::Graph& graph);
double total_us(const std::vector<NodeCost>& nodes);
// Time under `settings` over time under none: 1 / 1.2 with two threads.
double time_factor(const Settings& settings);
// Relative error of the outputs that `settings` add: 0 = exact.
double relative_error(const Settings& settings);

// Seeded noise, the same on every platform (SplitMix64 and Box-Muller).
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}
  double uniform();  // (0, 1]
  double normal();

 private:
  uint64_t state_;
};

}  // namespace hone::engine::fake
