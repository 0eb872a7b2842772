// SPDX-License-Identifier: Apache-2.0
#include "change/rewrite/polynomial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "change/rewrite/pattern.h"

namespace hone::change {

using model::Graph;
using model::kNoValue;
using model::Node;
using model::NodeId;
using model::ValueId;

namespace {

constexpr int kHighestPower = 4;
constexpr size_t kMostNodes = 24;

Polynomial times(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [p, x] : a)
    for (const auto& [q, y] : b) out[{p.first + q.first, p.second + q.second}] += x * y;
  return out;
}

Polynomial plus(Polynomial a, const Polynomial& b, double sign) {
  for (const auto& [power, coefficient] : b) a[power] += sign * coefficient;
  return a;
}

bool is_small(const Polynomial& terms) {
  return std::all_of(terms.begin(), terms.end(), [](const auto& term) {
    return term.first.first <= kHighestPower && term.first.second <= 1 && std::isfinite(term.second);
  });
}

bool is_formula(const Node& node) {
  static const std::set<std::string_view> kOps = {"Add", "Sub", "Mul", "Div", "Neg", "Pow", "Cast"};
  return node.domain.empty() && kOps.contains(node.op_type);
}

class Reader {
 public:
  Reader(const Graph& graph, ValueId x, ValueId t) : graph_(graph), x_(x), t_(t) {}

  std::optional<Polynomial> read(ValueId value) {
    if (value == kNoValue) return std::nullopt;
    if (value == x_) return Polynomial{{{1, 0}, 1.0}};
    if (value == t_) return Polynomial{{{0, 1}, 1.0}};
    if (const auto number = scalar_constant(graph_, value)) {
      return *number == 0 ? Polynomial{} : Polynomial{{{0, 0}, *number}};
    }
    const Node* node = graph_.producer(value);
    if (node == nullptr || !is_formula(*node) || nodes_.size() >= kMostNodes) return std::nullopt;
    const NodeId id = graph_.value(value).producer;
    if (std::find(nodes_.begin(), nodes_.end(), id) == nodes_.end()) nodes_.push_back(id);
    auto out = read_node(*node);
    if (!out || !is_small(*out)) return std::nullopt;
    std::erase_if(*out, [](const auto& term) { return term.second == 0; });
    return out;
  }

  std::vector<NodeId> nodes() { return std::move(nodes_); }

 private:
  std::optional<Polynomial> read_node(const Node& node) {
    if (node.op_type == "Cast") {
      if (!model::is_floating(static_cast<model::DType>(node.attribute_int("to", 0)))) return std::nullopt;
      return read(node.input(0));
    }
    const auto a = read(node.input(0));
    if (!a) return std::nullopt;
    if (node.op_type == "Neg") return plus({}, *a, -1);
    const auto b = read(node.input(1));
    if (!b) return std::nullopt;
    if (node.op_type == "Add") return plus(*a, *b, 1);
    if (node.op_type == "Sub") return plus(*a, *b, -1);
    if (node.op_type == "Mul") return times(*a, *b);
    const bool constant = b->size() == 1 && b->begin()->first == std::pair{0, 0};
    if (!constant) return std::nullopt;
    const double number = b->begin()->second;
    if (node.op_type == "Div") return times(*a, {{{0, 0}, 1 / number}});
    if (number != 2 && number != 3) return std::nullopt;  // Pow
    const Polynomial square = times(*a, *a);
    return number == 2 ? square : times(square, *a);
  }

  const Graph& graph_;
  const ValueId x_, t_;
  std::vector<NodeId> nodes_;
};

// Every value a formula is made of, nearest first: one of them is its x.
std::vector<ValueId> candidates(const Graph& graph, ValueId value) {
  std::vector<ValueId> out = {value};
  for (size_t i = 0; i < out.size() && out.size() < kMostNodes; ++i) {
    const Node* node = graph.producer(out[i]);
    if (node == nullptr || !is_formula(*node)) continue;
    for (const ValueId input : node->inputs)
      if (input != kNoValue && graph.constant(input) == nullptr &&
          std::find(out.begin(), out.end(), input) == out.end())
        out.push_back(input);
  }
  return out;
}

}  // namespace

std::optional<ReadPolynomial> read_polynomial(const Graph& graph, ValueId value, ValueId x, ValueId t) {
  Reader reader(graph, x, t);
  auto terms = reader.read(value);
  if (!terms) return std::nullopt;
  return ReadPolynomial{std::move(*terms), reader.nodes()};
}

bool near(const Polynomial& found, const Polynomial& expected, double tolerance) {
  return found.size() == expected.size() &&
         std::equal(found.begin(), found.end(), expected.begin(), [&](const auto& a, const auto& b) {
           return a.first == b.first && near(a.second, b.second, tolerance);
         });
}

FormulaSite find_formula(const Graph& graph, NodeId function, const Formula& formula) {
  FormulaSite site;
  const ValueId argument = graph.node(function).input(0), t = graph.node(function).output(0);
  for (const ValueId x : candidates(graph, argument)) {
    const auto inner = read_polynomial(graph, argument, x, kNoValue);
    if (!inner || !near(inner->terms, formula.inner, formula.tolerance)) continue;
    site.x = x;
    site.nodes = inner->nodes;
    break;
  }
  if (site.x == kNoValue) return site;
  site.nodes.insert(site.nodes.begin(), function);
  constexpr int kMostSteps = 10;  // the longest exported form takes 5
  ValueId value = t;
  for (int step = 0; step < kMostSteps; ++step) {
    const NodeId reader = graph.only_user(value);
    if (reader == model::kNoNode) {
      site.why = fmt::format("{} is read more than once before the formula is complete", describe_value(graph, value));
      return site;
    }
    value = graph.node(reader).output(0);
    const auto outer = read_polynomial(graph, value, site.x, t);
    if (!outer) {
      site.why = fmt::format("{} is not part of the formula of {}", describe(graph, reader), describe(graph, function));
      return site;
    }
    if (!near(outer->terms, formula.outer, formula.tolerance)) continue;
    site.result = value;
    site.nodes.insert(site.nodes.begin(), outer->nodes.begin(), outer->nodes.end());
    return site;
  }
  site.why = fmt::format("the constants around {} are not those of the formula", describe(graph, function));
  return site;
}

}  // namespace hone::change
