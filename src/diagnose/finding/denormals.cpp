// denormals: weights with subnormal numbers (|x| < 1.18e-38, not 0). x86 multiplies them by a microcode assist of about
// 150 cycles (Agner Fog, "The microarchitecture of Intel, AMD and VIA CPUs", denormal operands), so few are enough.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "diagnose/walk.h"

namespace hone::diagnose::finding {

namespace {

int64_t subnormals(const model::Tensor& tensor) {
  constexpr uint32_t kExponent = 0x7f800000, kMantissa = 0x007fffff;
  const auto bytes = tensor.bytes();
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + static_cast<size_t>(i) * 4, 4);
    count += (bits & kExponent) == 0 && (bits & kMantissa) != 0;
  }
  return count;
}

}  // namespace

std::optional<Finding> denormals(const Facts& facts) {
  constexpr double kShare = 0.001;                  // own choice: 0.1 % x 150 cycles is 15 % of an FMA a cycle
  constexpr int64_t kMostBytes = int64_t{1} << 30;  // own choice: reading more would take seconds
  std::vector<NodeRef> nodes;
  std::set<const std::byte*> seen_weights;
  int64_t scanned_bytes = 0, scanned = 0, found = 0;
  double part = 0, least = 0;
  for (size_t i = 0; i < facts.rows.size(); ++i) {
    const NodeRef& root = facts.rows[i].mapped.root;
    if (!root) continue;
    int64_t of_node = 0, elements = 0;
    for (size_t slot = 0; slot < root.node().inputs.size(); ++slot) {
      const model::Tensor* weight = constant_input(root, slot);
      if (weight == nullptr || weight->dtype() != model::DType::kFloat || scanned_bytes > kMostBytes) continue;
      scanned_bytes += static_cast<int64_t>(weight->byte_size());
      const int64_t count = subnormals(*weight);
      of_node += count;
      elements += weight->count();
      if (!seen_weights.insert(weight->bytes().data()).second) continue;
      scanned += weight->count();
      found += count;
    }
    if (of_node == 0 || static_cast<double>(of_node) < kShare * static_cast<double>(elements)) continue;
    nodes.push_back(root);
    part += facts.ms(i);
    least += facts.diagnosis.operators[i].roof_ms;
  }
  if (nodes.empty() || facts.share(part) < kWorthMentioning) return std::nullopt;
  Observation seen;
  seen.part_ms = part;
  seen.saved_ms = std::max(0.0, part - least);
  seen.evidence = fmt::format(
      "{} of {} float32 weights looked at are subnormal; {} nodes that read them take {:.3f} ms, {} "
      "of the latency (model, profile)",
      found, scanned, nodes.size(), part, percent(facts.share(part)));
  seen.direction = "treat subnormal numbers as zero, or set these weights to zero";
  seen.nodes = labels_of(nodes);
  return make_finding("denormals", facts, std::move(seen));
}

}  // namespace hone::diagnose::finding
