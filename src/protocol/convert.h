// Converts a sample's array to the dtype the model's input has, when no value changes by it. float64 data for a
// float32 input is refused when digits would go: what is measured and checked must be what the user has in the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/tensor.h"

namespace hone::protocol {

// nullopt when some value has no equal in `dtype` (or the dtypes have no relation: strings and numbers).
std::optional<model::Tensor> convert_lossless(const model::Tensor& tensor, model::DType dtype);

// The number nearest to each value (for JSON, whose decimals mean the nearest number of the input's dtype).
// nullopt for integers that don't fit and for dtypes that are no numbers.
std::optional<model::Tensor> from_numbers(const std::vector<double>& values, std::vector<int64_t> dims,
                                          model::DType dtype);
std::optional<model::Tensor> from_integers(const std::vector<int64_t>& values, std::vector<int64_t> dims,
                                           model::DType dtype);

}  // namespace hone::protocol
