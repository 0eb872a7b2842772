// Classes: does an output hold scores of classes, and do two such outputs choose the same class?
//
// An output has classes when it is floating, has rank >= 2 and 2 .. 100,000 elements in its last dim (one row = the
// scores of one item), and looks like scores, which means one of:
//   - its name says so (logits, score, prob, softmax, class, label) ;
//   - its rows are probabilities: all in [0, 1] with a sum of 1;
//   - it has rank 2 and its name does not say embedding, hidden, state, pool or feature, and its rows do not all have
//     length 1 (a normalised embedding).
// So a hidden state of rank 3 has none: which of its numbers is largest means nothing.
//
// A row agrees when the tried output's best class is the reference's best, or is tied with it: within 1e-3 of the
// row's largest |score|, what the numeric gate lets any exact change move (product.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "accuracy/numbers.h"

namespace hone::accuracy {

bool has_classes(std::string_view name, const model::Tensor& reference);

struct Agreement {
  int64_t rows = 0;
  int64_t agreeing = 0;
};
// HONE_CHECKs that both have the same dims and at least rank 1.
Agreement top1_agreement(const model::Tensor& reference, const model::Tensor& tried);

}  // namespace hone::accuracy
