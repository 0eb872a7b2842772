// Steps through a graph for findings that look for structures: producers, users, constants. They look cheaply and
// roughly: a finding only says where time could be saved; the exact conditions are the rewrite rules' affair.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "diagnose/facts.h"
#include "diagnose/mapping.h"

namespace hone::diagnose {

NodeRef producer(const NodeRef& node, size_t slot);
std::vector<NodeRef> users(const NodeRef& node);  // of its first output
// Also through nodes that only broadcast or convert a constant (exporters with free dimensions write Expand).
const model::Tensor* constant_input(const NodeRef& node, size_t slot);
std::optional<double> scalar_input(const NodeRef& node, size_t slot);  // a constant of one element
// The first constant input, -1 when there is none.
int constant_slot(const NodeRef& node);
bool is_any(const NodeRef& node, std::initializer_list<std::string_view> types);

// A group of nodes that one kernel could compute.
struct Site {
  std::vector<NodeRef> nodes;
};
// At least this many nodes of a site must run as kernels of their own to call it unfused.
inline constexpr size_t kSeparate = 2;
// The sites of which enough nodes run alone, as an observation: part = their time, saved = what is over the least time
// of the slowest single one (a fused kernel still reads and writes once). nullopt below kWorthMentioning.
std::optional<Observation> unfused(const Facts& facts, const std::vector<Site>& sites, std::string_view what);

}  // namespace hone::diagnose
