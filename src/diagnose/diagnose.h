// diagnose(): Profile + Graph + Machine -> Diagnosis. Pure: no clock, no files; reads weights where they are mapped
// (diagnose_file() is the same for a profile in a file).
//
// The steps: choose the inferences that count, map kernels to the model's nodes (mapping.h), cost and roofline per
// kernel (cost.h, roofline.h), class shares, then every finding of findings.def. Adding a finding is one file in
// finding/, one line in findings.def, one test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "diagnose/diagnosis.h"
#include "model/graph.h"
#include "model/model.h"
#include "profile/profile.h"

namespace hone::diagnose {

// What is known about how the profile was made.
struct Conditions {
  std::map<std::string, std::vector<int64_t>> shapes;  // input name -> dims, of the Protocol
  int threads = 0;                                     // that computed; 0 = all cores
  double latency_ms = 0;  // measured without the profiler; 0 = not known. The profiler slows small nodes down
};

// `graph` with types inferred; dims the shapes make known should be frozen in it (a clone is enough) for exact costs
// where the profile carries no shapes. Error when the profile has no kernels.
Result<Diagnosis> diagnose(const profile::Profile& profile, const model::Graph& graph, const Machine& machine,
                           const Conditions& conditions);

// The same from the file the engine's profiler wrote, for a model that ran with the shapes of `conditions`. They are
// frozen in a copy of it where they fit; a model whose inputs a Change has altered keeps its own.
Result<Diagnosis> diagnose_file(const fs::path& profile, const model::Model& model, const Machine& machine,
                                const Conditions& conditions);

struct FindingInfo {
  std::string_view id, title;
};
// All findings that exist, in the order of findings.def.
const std::vector<FindingInfo>& all_findings();

}  // namespace hone::diagnose
