// Polynomial: an exported formula read as a polynomial, so that the order in which an exporter wrote it does not
// matter.
//
// GELU is x·½·(1 + erf(x/√2)): exporters write ½·x·(1+e), x·(½·(1+e)), ½·x + ½·x·e, divide by √2 or multiply by 0.7071,
// write x³ as Pow, x·x·x or x·(x·x). Expanded in x and e all of these are the same: ½x + ½xe. read_polynomial() expands
// Add, Sub, Mul, Div by a constant, Neg, Pow with a small integer and Casts between floats down to the two values the
// caller names; everything else is a constant or makes it fail. Two floats per term are exact enough: literals of
// exporters have six digits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/graph.h"

namespace hone::change {

// (power of x, power of t) -> coefficient; no zero coefficients.
using Polynomial = std::map<std::pair<int, int>, double>;

struct ReadPolynomial {
  Polynomial terms;
  std::vector<model::NodeId> nodes;  // what was read, without the producers of x and t
};

// `value` as a polynomial in the values x and t (t may be kNoValue); nullopt when it is none, or larger than any
// activation needs (power above 4, more than 24 nodes).
std::optional<ReadPolynomial> read_polynomial(const model::Graph& graph, model::ValueId value, model::ValueId x,
                                              model::ValueId t);
// True when both have the same terms with coefficients that differ by at most `tolerance` of the larger.
bool near(const Polynomial& found, const Polynomial& expected, double tolerance);

// A formula in x around one function t of x, such as GELU around Erf: inner(x) is what t is taken of.
struct Formula {
  Polynomial inner, outer;
  double tolerance;
};

struct FormulaSite {
  model::ValueId x = model::kNoValue, result = model::kNoValue;
  std::vector<model::NodeId> nodes;  // from the node of `result` down to x, the function's node included
  std::string why;                   // when the formula is not complete: where it departs
};

// Looks for the formula around `function` (the Erf or Tanh node): down for an x with the inner polynomial, then up,
// reader by reader, until the outer one is complete. No site and no sentence: not even the inner part fits.
FormulaSite find_formula(const model::Graph& graph, model::NodeId function, const Formula& formula);

}  // namespace hone::change
