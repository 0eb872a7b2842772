// Accuracy: how far a Configuration's outputs are from the reference, and whether that passes the gate (product.md).
//
// All arithmetic is in double. NaN equals NaN and Inf equals Inf of the same sign; any other pair with a NaN or an Inf
// in it is a mismatch that no gate forgives. An output "has classes" when it looks like scores: classes.h says how.
// Integer, bool and string outputs are decisions (labels, token ids): beside the numbers their share of equal
// elements is kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/result.h"
#include "model/tensor.h"

namespace hone::accuracy {

// What a Change may do to results.
enum class Class {
  kExact,          // same operations in the same order
  kReassociating,  // same mathematics, other rounding
  kLossy,          // quantization, lower precision
};
std::string_view to_text(Class accuracy_class);
std::optional<Class> class_from_text(std::string_view text);

struct Metrics {  // of one output, worst over samples (cosine and snr: lowest)
  std::string name;
  double max_abs = 0, mean_abs = 0, rmse = 0;
  double cosine = 1;
  double snr_db = 0;                  // +infinity when equal
  double relative_max = 0;            // largest |difference| / largest |reference|
  std::optional<double> topk_match;   // share of rows with the same top-1; only where an output has classes
  int64_t topk_rows = 0;              // rows that share is over
  std::optional<double> equal_share;  // share of equal elements; only integer, bool and string outputs
  int64_t nan_mismatch = 0;           // elements NaN/Inf on one side only or of another kind
  int64_t reference_nan = 0;          // NaN or Inf in the reference: nothing can be proved about these elements
  bool bitwise = true;
  int64_t elements = 0;
  std::string problem;  // shape or dtype differ; empty = none
  bool passed = true;
  std::string why;  // the first gate that did not hold
};

struct Gate {
  std::string level = "numeric";                    // bitwise | numeric | quality
  std::optional<double> max_abs, min_cosine, topk;  // the user's --max-abs, --min-cosine, --topk; replace defaults
  // For level "quality": see quality.h.
  std::string quality_command;
  bool quality_lower_is_better = false;
  double quality_loss = 0.01;  // part of |reference's number| that may be lost; as top-1's 1 % in product.md
  std::optional<double> quality_reference;  // the reference's number when it is known; else the command is run for it
};

// What a class has to hold when the user gives nothing: product.md "Accuracy gate".
struct Thresholds {
  double relative_max, cosine;
  std::optional<double> topk;
};
Thresholds default_thresholds(Class accuracy_class);

struct Report {
  std::string level;
  Class accuracy_class = Class::kExact;
  std::vector<Metrics> outputs;
  int64_t samples = 0;
  bool synthetic = false;
  bool passed = true;
  std::string why;                 // first failure, one sentence
  std::vector<std::string> notes;  // NaN in the reference, ...
  std::optional<double> quality, quality_reference;
  Json to_json() const;
  static Result<Report> from_json(const Json& value);
};

// Compares two output sets of one sample, by name, in the reference's order. Used per sample; merge() takes the worst.
std::vector<Metrics> compare_outputs(const model::NamedTensors& reference, const model::NamedTensors& tried);
void merge(std::vector<Metrics>& worst, const std::vector<Metrics>& more);
// Applies the gate: product.md's default thresholds by class, the user's where given.
Report judge(std::vector<Metrics> outputs, const Gate& gate, Class accuracy_class, int64_t samples, bool synthetic);
// Reads folders of sample_NNNN.npz (as a Worker writes them), compares sample by sample, judges. Level "quality" runs
// the user's command for both folders.
Result<Report> compare_folders(const fs::path& reference, const fs::path& tried, const Gate& gate, Class accuracy_class,
                               bool synthetic);

}  // namespace hone::accuracy
