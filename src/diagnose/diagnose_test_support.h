// For this room's tests: models from text, profiles from a list of kernels, a machine with round peaks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "model/model.h"
#include "profile/profile.h"

namespace hone::diagnose {

// 100 GFLOP/s (1e8 FLOPs in 1 ms), bf16 and int8 four times that, 10 GB/s (1e7 bytes in 1 ms), no caches.
inline Machine round_machine() {
  Machine m;
  m.cpu = "test";
  m.cores = 2;
  m.gflops_f32 = 100, m.gflops_f32_one = 50, m.gflops_bf16 = 400, m.gops_int8 = 400;
  m.bandwidth_gbs = 10, m.bandwidth_gbs_one = 5;
  return m;
}

inline model::Model text_model(const std::string& graph) {
  auto model = model::Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph);
  EXPECT_TRUE(model) << (model ? "" : model.error().line());
  const Status inferred = model->infer_shapes();
  EXPECT_TRUE(inferred) << (inferred ? "" : inferred.error().line());
  return std::move(*model);
}

// "float[8,4] w = {0.5, ...}": an initializer for text_model.
inline std::string weight(const std::string& name, const std::vector<int64_t>& dims, double value = 0.5) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  std::vector<std::string> values(static_cast<size_t>(count), fmt::format("{}", value));
  return fmt::format("float[{}] {} = {{{}}}", fmt::join(dims, ","), name, fmt::join(values, ","));
}

// One kernel of an inference; `name` is a node's name or, for nodes without one, its output's.
struct Ran {
  std::string name, type;
  double us = 0;
  std::string shapes = "", dtypes = "", output_shapes = "", output_dtypes = "";
};

// Nine equal inferences of `wall_us`, kernels one after the other.
inline profile::Profile profile_of(const std::vector<Ran>& kernels, double wall_us) {
  profile::Profile p;
  p.format = "test";
  const auto wall = static_cast<int64_t>(wall_us * 1000);
  for (int32_t step = 0; step < 9; ++step) {
    int64_t at = step * (wall + 1000);
    p.steps.push_back({at, wall, 0, 0, step});
    for (const Ran& ran : kernels) {
      profile::Kernel k;
      k.start_ns = at;
      k.duration_ns = static_cast<int64_t>(ran.us * 1000);
      k.name = k.node = p.strings.intern(ran.name);
      k.type = p.strings.intern(ran.type);
      k.shapes = p.strings.intern(ran.shapes);
      k.dtypes = p.strings.intern(ran.dtypes);
      k.output_shapes = p.strings.intern(ran.output_shapes);
      k.output_dtypes = p.strings.intern(ran.output_dtypes);
      k.step = step;
      at += k.duration_ns;
      p.kernels.push_back(k);
    }
  }
  for (auto c : {profile::Capability::kTimeline, profile::Capability::kSteps}) p.add(c);
  mark_nested(p);
  return p;
}

inline Diagnosis diagnosed(const std::string& graph, const std::vector<Ran>& kernels, double wall_us,
                           const Conditions& conditions = {}, const Machine& machine = round_machine()) {
  const model::Model model = text_model(graph);
  auto diagnosis = diagnose(profile_of(kernels, wall_us), model.graph(), machine, conditions);
  EXPECT_TRUE(diagnosis) << (diagnosis ? "" : diagnosis.error().line());
  return std::move(*diagnosis);
}

}  // namespace hone::diagnose
