// SPDX-License-Identifier: Apache-2.0
#include "protocol/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>

namespace hone::protocol {

using model::Graph;
using model::Node;
using model::NodeId;
using model::Tensor;
using model::Use;
using model::ValueId;

namespace {

// What the walk from an input has seen.
struct Evidence {
  std::optional<int64_t> lowest, limit;  // of the input's own values
  std::string why;
  std::vector<int64_t> compared_with;
  bool other_use = false;   // it went into something else than comparisons
  bool one_minus = false;   // 1 - x: a mask of ones and zeros
  bool true_hides = false;  // Where(x, -inf, scores)
  bool true_keeps = false;  // Where(x, scores, -inf)
};

// A value that equals the input plus `offset`.
struct Place {
  const Graph* graph;
  ValueId value;
  int64_t offset;
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<double> constant_scalar(const Graph& graph, ValueId id) {
  if (id == model::kNoValue) return std::nullopt;
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr || tensor->count() != 1 || tensor->dtype() == model::DType::kString) return std::nullopt;
  const auto values = tensor->to_doubles();
  return values ? std::optional(values->front()) : std::nullopt;
}

std::optional<int64_t> known_dim(const Graph& graph, ValueId id, int64_t axis) {
  if (id == model::kNoValue) return std::nullopt;
  if (const Tensor* tensor = graph.constant(id); tensor != nullptr) {
    if (axis < 0) axis += tensor->rank();
    return axis >= 0 && axis < tensor->rank() ? std::optional(tensor->dims()[static_cast<size_t>(axis)]) : std::nullopt;
  }
  const auto& shape = graph.value(id).type.shape;
  if (!shape) return std::nullopt;
  if (axis < 0) axis += static_cast<int64_t>(shape->size());
  if (axis < 0 || axis >= static_cast<int64_t>(shape->size())) return std::nullopt;
  const auto& dim = (*shape)[static_cast<size_t>(axis)];
  return dim.known() ? std::optional(dim.value) : std::nullopt;
}

class Walk {
 public:
  explicit Walk(Evidence& evidence) : evidence_(evidence) {}

  void from(const Graph& graph, ValueId input) {
    push(graph, input, 0);
    while (!open_.empty() && seen_.size() < kMaxPlaces) {
      const Place place = open_.front();
      open_.pop_front();
      for (const Use& use : place.graph->value(place.value).uses) look_at(place, use);
    }
  }

 private:
  // More places than any index passes through; a walk this long has lost its way.
  static constexpr size_t kMaxPlaces = 1000;

  void push(const Graph& graph, ValueId value, int64_t offset) {
    if (value == model::kNoValue || !seen_.insert({&graph, value}).second) return;
    open_.push_back({&graph, value, offset});
  }
  void pass_on(const Place& place, const Node& node) {
    for (const ValueId output : node.outputs) push(*place.graph, output, place.offset);
  }
  void index_into(const Place& place, ValueId table, int64_t axis) {
    const auto rows = known_dim(*place.graph, table, axis);
    if (!rows || *rows <= 0) return;
    set_range(std::max<int64_t>(0, -place.offset), std::max<int64_t>(1, *rows - place.offset),
              fmt::format("rows of '{}'", place.graph->value(table).name));
  }
  // The narrowest range seen wins.
  void set_range(int64_t lowest, int64_t limit, const std::string& why) {
    if (evidence_.limit && *evidence_.limit <= limit) return;
    evidence_.lowest = lowest, evidence_.limit = limit, evidence_.why = why;
  }

  void look_at(const Place& place, const Use& use) {
    const Node& node = place.graph->node(use.node);
    if (use.slot == model::kCaptured) return look_into(place, use.node);
    if (look_for_index(place, node, use.slot) || look_for_mask(place, node, use.slot) ||
        look_for_shift(place, node, use.slot))
      return;
    if (one_of(node.op_type, {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"}))
      return compare(place, node, node.input(use.slot == 0 ? 1 : 0));
    if (passes(node, use.slot)) return pass_on(place, node);
    evidence_.other_use = true;
  }

  // x == 16000: a choice; x == [0, 1, ..., 256]: a one-hot coding, so x is one of these.
  void compare(const Place& place, const Node& node, ValueId other) {
    const Tensor* constant = other == model::kNoValue ? nullptr : place.graph->constant(other);
    const auto values =
        constant == nullptr ? Result<std::vector<int64_t>>(std::vector<int64_t>{}) : constant->to_int64s();
    if (node.op_type != "Equal" || !values || values->empty()) return;
    if (values->size() == 1) {
      evidence_.compared_with.push_back(values->front() - place.offset);
      return;
    }
    const auto [least, most] = std::minmax_element(values->begin(), values->end());
    set_range(*least - place.offset, *most + 1 - place.offset, "a one-hot coding");
  }

  static bool passes(const Node& node, int slot) {
    if (one_of(node.op_type, {"Concat", "Max", "Min"})) return true;
    if (node.op_type == "Where") return slot != 0;
    return slot == 0 && one_of(node.op_type, {"Cast", "Reshape", "Unsqueeze", "Squeeze", "Identity", "Flatten",
                                              "Transpose", "Expand", "Slice", "Split", "Tile", "Clip", "Gather"});
  }

  void look_into(const Place& place, NodeId node) {
    const std::string& name = place.graph->value(place.value).name;
    for (const auto& sub : place.graph->subgraphs(node))
      if (const ValueId inner = sub->find_value(name); inner != model::kNoValue) push(*sub, inner, place.offset);
  }

  bool look_for_index(const Place& place, const Node& node, int slot) {
    if (one_of(node.op_type, {"Gather", "GatherElements"}) && slot == 1) {
      index_into(place, node.input(0), node.attribute_int("axis", 0));
    } else if (node.op_type == "GatherBlockQuantized" && slot == 1) {
      index_into(place, node.input(0), node.attribute_int("gather_axis", 0));
    } else if (node.op_type == "GatherND" && slot == 1) {
      index_into(place, node.input(0), node.attribute_int("batch_dims", 0));
    } else if (node.op_type == "OneHot" && slot == 0) {
      const auto depth = constant_scalar(*place.graph, node.input(1));
      if (depth) set_range(0, static_cast<int64_t>(*depth) - place.offset, "a one-hot coding");
    } else if (node.op_type == "EmbedLayerNormalization" && slot < 2) {
      index_into(place, node.input(slot == 0 ? 2 : 4), 0);
    } else {
      return false;
    }
    evidence_.other_use = true;
    return true;
  }

  bool look_for_mask(const Place& place, const Node& node, int slot) {
    if (node.op_type == "Where" && slot == 0) {
      // Anything from -1e4 down (float16's usual "minus infinity") stands for "hidden".
      const auto hides = [&](size_t branch) {
        const auto value = constant_scalar(*place.graph, node.input(branch));
        return value && *value <= -1e4;
      };
      evidence_.true_hides = evidence_.true_hides || hides(1);
      evidence_.true_keeps = evidence_.true_keeps || hides(2);
    } else if (node.op_type == "Sub" && slot == 1 && constant_scalar(*place.graph, node.input(0)) == 1.0) {
      evidence_.one_minus = true;
    } else if (node.op_type == "EmbedLayerNormalization" && slot == 7) {
      evidence_.one_minus = true;
    } else {
      return false;
    }
    evidence_.other_use = true;
    return true;
  }

  bool look_for_shift(const Place& place, const Node& node, int slot) {
    const bool add = node.op_type == "Add", subtract = node.op_type == "Sub" && slot == 0;
    if (!add && !subtract) return false;
    const auto other = constant_scalar(*place.graph, node.input(slot == 0 ? 1 : 0));
    // A shift past int32 is no shift of an index.
    if (!other || std::abs(*other) > std::numeric_limits<int32_t>::max()) return false;
    const auto shift = static_cast<int64_t>(*other);
    push(*place.graph, node.output(0), place.offset + (add ? shift : -shift));
    return true;
  }

  Evidence& evidence_;
  std::deque<Place> open_;
  std::set<std::pair<const Graph*, ValueId>> seen_;
};

bool says(const std::string& name, std::initializer_list<std::string_view> words) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

Role mask_role(const Evidence& seen, std::string why) {
  const bool hides = seen.true_hides && !seen.true_keeps;
  return {Role::Kind::kMask, 0, 0, hides ? 0 : 1, std::move(why)};
}

Role integer_role(const std::string& name, const model::Type& type, const Evidence& seen) {
  using enum Role::Kind;
  if (says(name, {"mask"})) return mask_role(seen, "by its name");
  if (seen.one_minus || seen.true_hides || seen.true_keeps) return mask_role(seen, "the graph uses it as a mask");
  if (says(name, {"position", "pos_id"})) return {kPosition, 0, seen.limit.value_or(0), 0, "by its name"};
  if (seen.limit) return {kIndex, std::min(seen.lowest.value_or(0), *seen.limit - 1), *seen.limit, 0, seen.why};
  if (says(name, {"length", "_len", "len_", "seqlen"}) && type.rank() <= 1) return {kLength, 0, 0, 0, "by its name"};
  if (!seen.compared_with.empty() && !seen.other_use)
    return {kChoice, 0, 0, seen.compared_with.front(), "the graph compares it with this"};
  if (says(name, {"timestep", "time_step"})) return {kTimestep, 0, 0, 0, "by its name"};
  return {};
}

}  // namespace

std::optional<ImageLayout> image_layout(const std::string& name, const model::Type& type) {
  const bool pixels = model::is_floating(type.dtype) || type.dtype == model::DType::kUint8;
  if (type.rank() != 4 || !pixels || says(name, {"past", "cache", "key", "value"})) return std::nullopt;
  const auto& shape = *type.shape;
  const auto channels = [&](size_t at) { return shape[at].value == 1 || shape[at].value == 3; };
  const auto side = [&](size_t at) { return !shape[at].known() || shape[at].value >= 8; };
  if (channels(1) && side(2) && side(3)) return ImageLayout{2, 3};
  if (channels(3) && side(1) && side(2)) return ImageLayout{1, 2};
  return std::nullopt;
}

Role role_of(const Graph& graph, ValueId input) {
  const model::Value& value = graph.value(input);
  Evidence seen;
  Walk(seen).from(graph, input);
  if (value.type.dtype == model::DType::kBool) return mask_role(seen, "bool");
  if (image_layout(value.name, value.type)) return {Role::Kind::kImage, 0, 0, 0, "rank 4 with 1 or 3 channels"};
  if (model::is_integer(value.type.dtype)) return integer_role(value.name, value.type, seen);
  if (model::is_floating(value.type.dtype)) {
    if (says(value.name, {"mask"})) return mask_role(seen, "by its name");
    if (says(value.name, {"timestep", "time_step"})) return {Role::Kind::kTimestep, 0, 0, 0, "by its name"};
  }
  return {};
}

}  // namespace hone::protocol
