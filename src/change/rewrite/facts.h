// Facts about a graph that rules ask for, and how they are said: constants, shapes, axes, who reads what.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/graph.h"

namespace hone::change {

// Relative tolerance of literals: exporters round 0.7978845608 to 0.79788 (fusion_catalog.md section 2).
inline constexpr double kLiteralTolerance = 2e-4;

// The only element of a constant, as a number.
std::optional<double> scalar_constant(const model::Graph& graph, model::ValueId value);
// All elements of an integer constant.
std::optional<std::vector<int64_t>> int_constants(const model::Graph& graph, model::ValueId value);
bool near(double found, double expected, double relative_tolerance = kLiteralTolerance);
// Axes of ReduceX, Squeeze, Unsqueeze, Softmax-like nodes: from attribute "axes" or the input in `slot`, normalised
// with the rank of input 0 (for Unsqueeze: of output 0) and sorted. nullopt when not constant or the rank is not known
// and an axis needs it.
std::optional<std::vector<int64_t>> node_axes(const model::Graph& graph, model::NodeId node, size_t slot = 1);
// All dims of a value when they are known.
std::optional<std::vector<int64_t>> static_dims(const model::Graph& graph, model::ValueId value);
// The last dim of a value; -1 when not known.
int64_t last_dim(const model::Graph& graph, model::ValueId value);
// Rank; -1 when not known.
int rank_of(const model::Graph& graph, model::ValueId value);
model::DType dtype_of_value(const model::Graph& graph, model::ValueId value);
// True when both values have the same known rank and in each dim the same number or the same (non-empty) symbol.
bool same_shape(const model::Graph& graph, model::ValueId a, model::ValueId b);

// Empty when everything that the matched nodes make, except the values in `kept`, is read by matched nodes only; else a
// sentence that names the value, its producer and a reader outside.
std::string outside_reader(const model::Graph& graph, const std::vector<model::NodeId>& nodes,
                           const std::vector<model::ValueId>& kept);

// "Mul 'scores'" for messages: operator and label of a node; "'name'" of a value with what makes it.
std::string describe(const model::Graph& graph, model::NodeId node);
std::string describe_value(const model::Graph& graph, model::ValueId value);

// True when replace_uses(from, to) will work: `from` is no graph output, or `to` can take over its name (it is made by
// a node and is no graph output itself).
bool can_replace(const model::Graph& graph, model::ValueId from, model::ValueId to);

// Lets every reader of `from` read `to`, then removes the nodes of a match (those nothing reads any more). When the
// graph output's name can't move to `to`, an Identity keeps it.
void replace_match(model::Graph& graph, const std::vector<model::NodeId>& nodes, model::ValueId from,
                   model::ValueId to);

}  // namespace hone::change
