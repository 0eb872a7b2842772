// The differential test of a rewrite: original and rewritten model give the same outputs in ONNX Runtime, with its own
// graph optimizations off, on seeded random and on edge inputs (zeros, extremes, odd sizes, batch 1).
//
// How equal is decided by accuracy/: bitwise for exact rules, its numeric gate for others; never by the test.
// A sample that the original itself can't run (sizes that do not fit together) is left out; when it runs none, that is
// an error, so that a test can't pass by testing nothing. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "accuracy/accuracy.h"
#include "base/result.h"
#include "model/model.h"
#include "model/tensor.h"

namespace hone::test {

struct DifferentialOptions {
  uint64_t seed = 1;
  accuracy::Class accuracy_class = accuracy::Class::kExact;
};

struct Comparison {
  int samples = 0;  // that both ran
  bool same = true;
  std::string why;  // the first difference
};

// Makes the samples itself.
Result<Comparison> compare_models(const model::Model& original, const model::Model& changed,
                                  const DifferentialOptions& options = {});
// On these samples.
Result<Comparison> compare_models_on(const model::Model& original, const model::Model& changed,
                                     const std::vector<model::NamedTensors>& samples,
                                     const DifferentialOptions& options = {});

// Edge and random samples for the inputs of a model. Exact rewrites must hold for the largest numbers too; where
// rounding may differ, edges stay where it is still small: a softmax of scores near 1e8 turns the last bit into another
// answer.
std::vector<model::NamedTensors> differential_samples(const model::Graph& graph, const DifferentialOptions& options);

// One run in ONNX Runtime with optimizations off.
Result<model::NamedTensors> run_reference(const model::Model& model, const model::NamedTensors& sample);

}  // namespace hone::test
