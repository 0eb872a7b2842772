// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace hone::change {

using model::Graph;
using model::kNoNode;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

struct Pattern::Impl {
  enum class Kind { kAny, kAbsent, kConstant, kScalar, kOp, kOutput, kOneOf } kind = Kind::kAny;
  std::string name;
  std::vector<ValueCondition> value_conditions;
  // kScalar
  std::optional<double> literal;
  double tolerance = kLiteralTolerance;
  // kOp
  std::vector<std::string> types;
  std::string domain;
  struct IntAttribute {
    std::string key;
    int64_t value, fallback;
  };
  std::vector<IntAttribute> attributes;
  std::vector<NodeCondition> node_conditions;
  bool more_inputs = false, ordered = false, shared = false, anchor = false;
  // kOp: inputs; kOneOf: alternatives; kOutput: the op
  std::vector<Pattern> parts;
  int slot = 0;
};

namespace {

using Impl = Pattern::Impl;

bool is_commutative(std::string_view type) {
  static constexpr std::array kTypes = {"Add", "Mul", "And",        "Or",        "Xor",       "Min",
                                        "Max", "Sum", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

size_t given_inputs(const Node& node) {
  size_t count = node.inputs.size();
  while (count > 0 && node.inputs[count - 1] == kNoValue) --count;
  return count;
}

std::string expected_words(const Impl& impl) {
  switch (impl.kind) {
    case Impl::Kind::kAny:
      return "a value";
    case Impl::Kind::kAbsent:
      return "no input";
    case Impl::Kind::kConstant:
      return "a constant";
    case Impl::Kind::kScalar:
      return impl.literal ? fmt::format("the constant {:g}", *impl.literal) : "a constant scalar";
    case Impl::Kind::kOp:
      return fmt::format("{}", fmt::join(impl.types, " or "));
    case Impl::Kind::kOutput:
      return fmt::format("output {} of {}", impl.slot, expected_words(impl.parts[0].impl()));
    case Impl::Kind::kOneOf:
      break;
  }
  std::vector<std::string> words;
  for (const Pattern& part : impl.parts) words.push_back(expected_words(part.impl()));
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return fmt::format("{}", fmt::join(words, " or "));
}

bool has_anchor(const Impl& impl) {
  return impl.anchor ||
         std::any_of(impl.parts.begin(), impl.parts.end(), [](const Pattern& part) { return has_anchor(part.impl()); });
}

// What has been decided on the way to a match. Copied at every choice, so that a choice can be taken back.
struct State {
  Bindings found;
  std::vector<NodeId> nodes, shared;
  std::vector<std::pair<const Impl*, int64_t>> identities;  // any/constant: value id, op: node id
  int ops = 0;
  bool anchored = false;

  std::optional<int64_t> identity(const Impl* impl) const {
    for (const auto& [known, id] : identities)
      if (known == impl) return id;
    return std::nullopt;
  }
};

// Where a value was found: "input 1 of Mul 'm'".
struct Place {
  NodeId reader = kNoNode;
  size_t slot = 0;
};

using Next = std::function<bool(const State&)>;

class Matcher {
 public:
  Matcher(const Graph& graph, const Pattern& pattern) : graph_(graph), needs_anchor_(has_anchor(pattern.impl())) {}

  bool match_root(const Pattern& pattern, NodeId root, const Next& next) {
    const Impl& impl = pattern.impl();
    if (impl.kind == Impl::Kind::kOneOf)
      return std::any_of(impl.parts.begin(), impl.parts.end(),
                         [&](const Pattern& part) { return match_root(part, root, next); });
    HONE_CHECK(impl.kind == Impl::Kind::kOp || impl.kind == Impl::Kind::kOutput, "a pattern's root must be an op");
    const Impl& op_impl = impl.kind == Impl::Kind::kOutput ? impl.parts[0].impl() : impl;
    if (!fits_type(op_impl, graph_.node(root))) return false;
    const ValueId value = graph_.node(root).output(impl.kind == Impl::Kind::kOutput ? size_t(impl.slot) : 0);
    return value != kNoValue && match_value(pattern, value, {}, State{}, next);
  }

  const std::string& why() const { return why_; }

 private:
  static bool fits_type(const Impl& impl, const Node& node) {
    return node.domain == impl.domain &&
           std::find(impl.types.begin(), impl.types.end(), node.op_type) != impl.types.end();
  }

  bool match_value(const Pattern& pattern, ValueId value, Place place, const State& state, const Next& next) {
    const Impl& impl = pattern.impl();
    if (impl.kind == Impl::Kind::kOneOf) return match_one_of(pattern, value, place, state, next);
    if (impl.kind == Impl::Kind::kAbsent)
      return value == kNoValue ? next(state) : refuse(state, [&] { return expectation(impl, value, place); });
    if (value == kNoValue) return refuse(state, [&] { return expectation(impl, value, place); });
    switch (impl.kind) {
      case Impl::Kind::kConstant:
        if (graph_.constant(value) == nullptr) return refuse(state, [&] { return expectation(impl, value, place); });
        [[fallthrough]];
      case Impl::Kind::kAny:
        return match_leaf(impl, value, place, state, next);
      case Impl::Kind::kScalar:
        return match_scalar(impl, value, place, state, next);
      default:
        return match_op(impl, value, place, state, next);
    }
  }

  bool match_one_of(const Pattern& pattern, ValueId value, Place place, const State& state, const Next& next) {
    // When no alternative fits even by its operator, one sentence names them all.
    const auto plausible = [&](const Pattern& part) {
      const Impl* impl = &part.impl();
      if (impl->kind == Impl::Kind::kOutput) impl = &impl->parts[0].impl();
      if (impl->kind != Impl::Kind::kOp) return true;
      const Node* node = value == kNoValue ? nullptr : graph_.producer(value);
      return node != nullptr && fits_type(*impl, *node);
    };
    bool any_plausible = false;
    for (const Pattern& part : pattern.impl().parts) {
      if (!plausible(part)) continue;
      any_plausible = true;
      if (match_value(part, value, place, state, next)) return true;
    }
    return any_plausible ? false : refuse(state, [&] { return expectation(pattern.impl(), value, place); });
  }

  bool match_leaf(const Impl& impl, ValueId value, Place place, const State& state, const Next& next) {
    if (const auto known = state.identity(&impl)) {
      if (*known == value) return next(state);
      return refuse(state, [&] {
        return fmt::format("{} is {}, expected {}", place_words(place), describe_value(graph_, value),
                           describe_value(graph_, static_cast<ValueId>(*known)));
      });
    }
    State more = state;
    more.identities.emplace_back(&impl, value);
    return bind_value(impl, value, place, more) && next(more);
  }

  bool match_scalar(const Impl& impl, ValueId value, Place place, const State& state, const Next& next) {
    const std::optional<double> number = scalar_constant(graph_, value);
    if (!number || (impl.literal && !near(*number, *impl.literal, impl.tolerance)))
      return refuse(state, [&] {
        return number ? fmt::format("{} is {:g}, expected {:g}", place_words(place), *number, *impl.literal)
                      : expectation(impl, value, place);
      });
    State more = state;
    if (!impl.name.empty()) {
      const auto known = more.found.numbers.find(impl.name);
      if (known != more.found.numbers.end() && !near(*number, known->second))
        return refuse(state, [&] {
          return fmt::format("{} is {:g}, expected {:g} as before", place_words(place), *number, known->second);
        });
      more.found.numbers.emplace(impl.name, *number);
      more.found.values.emplace(impl.name, value);
    }
    return check_conditions(impl, value, more) && next(more);
  }

  bool match_op(const Impl& impl, ValueId value, Place place, const State& state, const Next& next) {
    const bool is_output = impl.kind == Impl::Kind::kOutput;
    const Impl& op_impl = is_output ? impl.parts[0].impl() : impl;
    const int slot = is_output ? impl.slot : 0;
    const Node* node = graph_.producer(value);
    if (node == nullptr || !fits_type(op_impl, *node) || graph_.value(value).producer_slot != slot)
      return refuse(state, [&] { return expectation(impl, value, place); });
    const NodeId id = graph_.value(value).producer;
    if (const auto known = state.identity(&op_impl)) {
      if (*known != id)
        return refuse(state, [&] {
          return fmt::format("{} comes from {}, expected {}", place_words(place), describe(graph_, id),
                             describe(graph_, static_cast<NodeId>(*known)));
        });
      State more = state;
      return bind_value(impl, value, place, more) && next(more);
    }
    State more = state;
    more.identities.emplace_back(&op_impl, id);
    return enter_node(op_impl, id, more) && bind_value(impl, value, place, more) &&
           match_node_inputs(op_impl, id, more, next);
  }

  // Counts the node and checks what can be checked without its inputs.
  bool enter_node(const Impl& impl, NodeId id, State& state) {
    const Node& node = graph_.node(id);
    auto& list = impl.shared ? state.shared : state.nodes;
    if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
    ++state.ops;
    state.anchored = state.anchored || impl.anchor;
    if (!impl.name.empty()) {
      const auto [known, fresh] = state.found.nodes.emplace(impl.name, id);
      if (!fresh && known->second != id)
        return refuse(state, [&] {
          return fmt::format("{} and {} should be one node", describe(graph_, known->second), describe(graph_, id));
        });
    }
    for (const auto& [key, expected, fallback] : impl.attributes) {
      const int64_t found = node.attribute_int(key, fallback);
      if (found != expected)
        return refuse(state, [&, &key = key, &expected = expected] {
          return fmt::format("{} of {} is {}, expected {}", key, describe(graph_, id), found, expected);
        });
    }
    for (const NodeCondition& condition : impl.node_conditions) {
      std::string why = condition(graph_, id);
      if (!why.empty()) return refuse(state, [&] { return why; });
    }
    return true;
  }

  bool match_node_inputs(const Impl& impl, NodeId id, const State& state, const Next& next) {
    const Node& node = graph_.node(id);
    const size_t given = given_inputs(node);
    if (given > impl.parts.size() && !impl.more_inputs)
      return refuse(state, [&] {
        return fmt::format("{} has {} inputs, expected {}", describe(graph_, id), given, impl.parts.size());
      });
    std::vector<size_t> slots(impl.parts.size());
    for (size_t i = 0; i < slots.size(); ++i) slots[i] = i;
    if (match_inputs(impl, id, slots, 0, state, next)) return true;
    if (slots.size() != 2 || impl.ordered || !is_commutative(node.op_type)) return false;
    std::swap(slots[0], slots[1]);
    return match_inputs(impl, id, slots, 0, state, next);
  }

  bool match_inputs(const Impl& impl, NodeId id, const std::vector<size_t>& slots, size_t index, const State& state,
                    const Next& next) {
    if (index == slots.size()) return next(state);
    return match_value(impl.parts[index], graph_.node(id).input(slots[index]), {id, slots[index]}, state,
                       [&, index](const State& more) { return match_inputs(impl, id, slots, index + 1, more, next); });
  }

  bool bind_value(const Impl& impl, ValueId value, Place place, State& state) {
    if (!impl.name.empty()) {
      const auto [known, fresh] = state.found.values.emplace(impl.name, value);
      if (!fresh && known->second != value)
        return refuse(state, [&] {
          return fmt::format("{} is {}, expected {}", place_words(place), describe_value(graph_, value),
                             describe_value(graph_, known->second));
        });
    }
    return check_conditions(impl, value, state);
  }

  bool check_conditions(const Impl& impl, ValueId value, const State& state) {
    for (const ValueCondition& condition : impl.value_conditions) {
      std::string why = condition(graph_, value);
      if (!why.empty()) return refuse(state, [&] { return why; });
    }
    return true;
  }

  // Always false. Keeps the sentence when this attempt got further than those before.
  template <class Words>
  bool refuse(const State& state, Words words) {
    const bool worth_telling = needs_anchor_ ? state.anchored : state.ops >= 2;
    if (worth_telling && state.ops > furthest_) {
      furthest_ = state.ops;
      why_ = words();
    }
    return false;
  }

  std::string place_words(Place place) const {
    return place.reader == kNoNode ? "the result"
                                   : fmt::format("input {} of {}", place.slot, describe(graph_, place.reader));
  }

  std::string expectation(const Impl& impl, ValueId value, Place place) const {
    return fmt::format("{} is {}, expected {}", place_words(place), describe_value(graph_, value),
                       expected_words(impl));
  }

  const Graph& graph_;
  const bool needs_anchor_;
  int furthest_ = -1;
  std::string why_;
};

Pattern make(Impl impl) { return Pattern(std::make_shared<Impl>(std::move(impl))); }

}  // namespace

template <class Edit>
Pattern Pattern::edited(Edit edit) const {
  auto copy = std::make_shared<Impl>(*impl_);
  edit(*copy);
  return Pattern(std::move(copy));
}

Pattern Pattern::named(std::string name) const {
  return edited([&](Impl& impl) { impl.name = std::move(name); });
}
Pattern Pattern::where(ValueCondition condition) const {
  return edited([&](Impl& impl) { impl.value_conditions.push_back(std::move(condition)); });
}
Pattern Pattern::where_node(NodeCondition condition) const {
  HONE_CHECK(impl_->kind == Impl::Kind::kOp);
  return edited([&](Impl& impl) { impl.node_conditions.push_back(std::move(condition)); });
}
Pattern Pattern::domain(std::string domain) const {
  HONE_CHECK(impl_->kind == Impl::Kind::kOp);
  return edited([&](Impl& impl) { impl.domain = std::move(domain); });
}
Pattern Pattern::attribute(std::string key, int64_t value, int64_t fallback) const {
  HONE_CHECK(impl_->kind == Impl::Kind::kOp);
  return edited([&](Impl& impl) { impl.attributes.push_back({std::move(key), value, fallback}); });
}
Pattern Pattern::more_inputs() const {
  return edited([](Impl& impl) { impl.more_inputs = true; });
}
Pattern Pattern::ordered() const {
  return edited([](Impl& impl) { impl.ordered = true; });
}
Pattern Pattern::may_be_read_elsewhere() const {
  HONE_CHECK(impl_->kind == Impl::Kind::kOp);
  return edited([](Impl& impl) { impl.shared = true; });
}
Pattern Pattern::anchor() const {
  HONE_CHECK(impl_->kind == Impl::Kind::kOp);
  return edited([](Impl& impl) { impl.anchor = true; });
}

Pattern any(std::string name) { return make({.kind = Impl::Kind::kAny, .name = std::move(name)}); }
Pattern absent() { return make({.kind = Impl::Kind::kAbsent}); }
Pattern constant(std::string name) { return make({.kind = Impl::Kind::kConstant, .name = std::move(name)}); }
Pattern scalar(std::string name) { return make({.kind = Impl::Kind::kScalar, .name = std::move(name)}); }
Pattern literal(double value, double relative_tolerance, std::string name) {
  return make(
      {.kind = Impl::Kind::kScalar, .name = std::move(name), .literal = value, .tolerance = relative_tolerance});
}
Pattern op(std::string type, std::vector<Pattern> inputs) {
  return make({.kind = Impl::Kind::kOp, .types = {std::move(type)}, .parts = std::move(inputs)});
}
Pattern op(std::initializer_list<const char*> types, std::vector<Pattern> inputs) {
  return make({.kind = Impl::Kind::kOp, .types = {types.begin(), types.end()}, .parts = std::move(inputs)});
}
Pattern output_of(const Pattern& node, int slot) {
  HONE_CHECK(node.impl().kind == Impl::Kind::kOp);
  return make({.kind = Impl::Kind::kOutput, .parts = {node}, .slot = slot});
}
Pattern one_of(std::vector<Pattern> alternatives) {
  return make({.kind = Impl::Kind::kOneOf, .parts = std::move(alternatives)});
}
Pattern maybe_cast(const Pattern& inner) {
  return one_of({op("Cast", {inner}), op("Cast", {op("Cast", {inner})}), inner});
}
Pattern square(const Pattern& inner) { return one_of({op("Mul", {inner, inner}), op("Pow", {inner, literal(2)})}); }

Match Attempt::to_match() const {
  if (!matched) return why.empty() ? Match::no() : Match::refused(why);
  Match match = Match::yes();
  match.found = found;
  match.nodes = nodes;
  return match;
}

Attempt match_pattern(const Graph& graph, const Pattern& pattern, NodeId root) {
  Matcher matcher(graph, pattern);
  Attempt attempt;
  attempt.matched = matcher.match_root(pattern, root, [&](const State& state) {
    attempt.found = state.found;
    attempt.nodes = state.nodes;
    return true;
  });
  if (!attempt.matched) {
    attempt.why = matcher.why();
    return attempt;
  }
  std::string why = outside_reader(graph, attempt.nodes, graph.node(root).outputs);
  if (!why.empty()) {
    attempt = {};
    attempt.why = std::move(why);
  }
  return attempt;
}

}  // namespace hone::change
