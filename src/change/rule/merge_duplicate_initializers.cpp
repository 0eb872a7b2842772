// two initializers with the same type, shape and bytes   ==>   one
//
// Exporters write the same constant once per use (weights tied between layers, scalars, axes). Safe: an initializer
// never changes; one that is a graph input is only a default and is left alone. Pays: memory, and other rules see that
// two values are one. All opsets. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "change/rewrite/rule.h"

namespace hone::change::rule {
namespace {

using model::Graph;
using model::Tensor;
using model::ValueId;

// A key that touches three short pieces only: weights lie in a mapped file, and reading all of it would cost its size
// in memory. Tensors of equal keys are compared in full.
constexpr size_t kPiece = 64;

std::string key_of(const Tensor& tensor) {
  std::string key = fmt::format("{}", static_cast<int>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) key += fmt::format(",{}", dim);
  const std::span<const std::byte> bytes = tensor.bytes();
  for (const size_t at : {size_t{0}, bytes.size() / 2, bytes.size() - std::min(bytes.size(), kPiece)}) {
    const std::span<const std::byte> piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    key.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return key;
}

class MergeDuplicateInitializers final : public Rule {
 public:
  const RuleInfo& info() const override {
    static const RuleInfo kInfo{"merge-duplicate-initializers",
                                "two initializers with equal type, shape and bytes",
                                "one of them, read by all",
                                "the one that goes is no graph input or output",
                                "weight_bandwidth_bound",
                                accuracy::Class::kExact,
                                true};
    return kInfo;
  }

  bool whole_graph() const override { return true; }

  Match match(const Graph& graph, model::NodeId /*root*/) const override {
    std::unordered_map<std::string, std::vector<ValueId>> seen;
    Match match = Match::yes();
    for (ValueId id = 0; static_cast<size_t>(id) < graph.value_limit(); ++id) {
      if (!graph.value_alive(id)) continue;
      const model::Value& value = graph.value(id);
      if (!value.initializer || value.is_input || value.initializer->dtype() == model::DType::kString) continue;
      std::vector<ValueId>& same_key = seen[key_of(*value.initializer)];
      const auto twin = std::find_if(same_key.begin(), same_key.end(), [&](ValueId other) {
        return *graph.value(other).initializer == *value.initializer;
      });
      if (twin == same_key.end() || value.is_output || value.uses.empty()) {
        same_key.push_back(id);
        continue;
      }
      match.values.insert(match.values.end(), {id, *twin});
      match.sites.push_back(fmt::format("initializer '{}'", value.name));
    }
    return match.values.empty() ? Match::no() : match;
  }

  void rewrite(Graph& graph, const Match& match) const override {
    for (size_t i = 0; i < match.values.size(); i += 2)
      HONE_CHECK(graph.replace_uses(match.values[i], match.values[i + 1]));
    graph.remove_unused_values();
  }
};

}  // namespace

const Rule& merge_duplicate_initializers() {
  static const MergeDuplicateInitializers kRule;
  return kRule;
}

}  // namespace hone::change::rule
