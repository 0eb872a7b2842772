// Layerwise alignment: where does a rewritten model B begin to depart from the original A?
//
// Tensors that both models have (by name: rewrites keep the names of what they don't replace) are made extra outputs of
// both, chunk by chunk in A's topological order; the caller runs both models; the first tensor that does not hold the
// gate is the departure. Being first, all shared tensors before it hold: what went wrong lies in the nodes between.
//
//   A: x -> MatMul -> a -> Erf -> ... -> b -> MatMul -> y       a holds, b departs:
//   B: x -> MatMul -> a -> Gelu ---------> b -> MatMul -> y     Gelu is to blame
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "model/model.h"

namespace hone::accuracy {

struct SharedTensor {
  std::string name;
  int64_t bytes = 0;  // of one sample; 0 when a dim is not known
};
// What nodes of both main graphs produce under one name and one dtype, in A's topological order. Both graphs need
// inferred types. Tensors that are constant in either are left out.
std::vector<SharedTensor> shared_tensors(const model::Graph& a, const model::Graph& b);

// Consecutive groups that stay under both limits (a single tensor may pass the first).
std::vector<std::vector<std::string>> chunks_of(const std::vector<SharedTensor>& tensors, int64_t byte_limit,
                                                size_t count_limit);

struct Departure {
  std::string tensor;
  std::string node;                // A's node that produces it
  std::string rule;                // what B has there instead: "Gelu in place of Mul"
  std::vector<std::string> nodes;  // B's nodes between the tensors that still hold and this one
  Metrics metrics;                 // of the tensor; why = the gate it does not hold
  double input_error = 0;          // largest relative_max among the shared tensors it is made of
  Json to_json() const;
  std::string sentence() const;
};

// `metrics`: of shared tensors, in A's topological order. Tensors that can't be compared (`problem`) are passed over.
std::optional<Departure> first_departure(const model::Graph& a, const model::Graph& b,
                                         const std::vector<Metrics>& metrics, const Gate& gate, Class accuracy_class);

// Runs the model file over all samples and writes sample_NNNN.npz to the folder. Each side may have an engine of its
// own.
enum class Side { kA, kB };
using RunModel = std::function<Status(Side side, const fs::path& model, const fs::path& outputs)>;
// The whole search; `scratch` takes models and outputs, which are removed again. Stops at the first chunk with a
// departure; nullopt: every shared tensor holds.
Result<std::optional<Departure>> find_departure(const model::Model& a, const model::Model& b, const Gate& gate,
                                                Class accuracy_class, const fs::path& scratch, const RunModel& run);

}  // namespace hone::accuracy
