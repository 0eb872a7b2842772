// Dims: what is known about dimensions and about integers computed from them, without running the model.
//
// Exporters of dynamic models write head splits as Reshape(x, Concat(Shape(x)[0], Shape(x)[1], -1, 64)): a fusion must
// know that this keeps the first two dims and that -1 is 12. ONNX's own inference gives up there, or invents a fresh
// symbol. Dims follows the values backwards and gives every dim the *names* it is known by; two dims are the same when
// they share a number or a name. Names are: symbols of the model ("s:batch"), the place a dim first appears ("v17:0"),
// and simple arithmetic of those ("(s:past+s:seq)").
//
// Example: x is float[batch, seq, 32]; r = Reshape(x, Concat(Shape(x)[0:1], [-1], [4], [8])). shape(r) is
// [s:batch, s:seq, 4, 8]: the -1 is what is left of batch*seq*32 after batch, 4 and 8.
//
// It only answers what follows for every input the model accepts; it never assumes that an unknown dim is not 1.
// Looking costs a walk towards the inputs, so a Dims keeps its answers: make one per match() and drop it before the
// graph changes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/graph.h"

namespace hone::change {

// A dim, or an integer computed from dims.
struct KnownDim {
  int64_t value = -1;              // meaningful when is_number
  bool is_number = false;          // integers may be negative: a Reshape target's -1
  std::vector<std::string> names;  // sorted; empty for a number
  static KnownDim number(int64_t value) { return {value, true, {}}; }
  static KnownDim named(std::string name) { return {-1, false, {std::move(name)}}; }
  bool is(int64_t number) const { return is_number && value == number; }
  bool operator==(const KnownDim&) const = default;
};
using KnownDims = std::vector<KnownDim>;

// True when the two are the same number in every run of the model.
bool same(const KnownDim& a, const KnownDim& b);
bool same(const KnownDims& a, const KnownDims& b);
// True when it can't be negative: sizes of tensors, not results of arithmetic ("(seq-past)").
bool is_size(const KnownDim& dim);
// a+b, a-b, a*b or a/b; without number and names when nothing can be said.
KnownDim combined(char operation, const KnownDim& a, const KnownDim& b);
// "12", "batch", or "?".
std::string to_text(const KnownDim& dim);
std::string to_text(const KnownDims& dims);

class Dims {
 public:
  explicit Dims(const model::Graph& graph) : graph_(graph) {}
  Dims(const Dims&) = delete;
  // nullopt when the rank is not known.
  std::optional<KnownDims> shape(model::ValueId value);
  // The elements of an integer tensor of rank 0 or 1; nullopt when their number is not known.
  std::optional<KnownDims> elements(model::ValueId value);
  // The only element of a floating or integer tensor, when it is the same in every run ("1/sqrt(head size)").
  std::optional<double> number(model::ValueId value);
  int rank(model::ValueId value);  // -1: not known
  // One dim, counted from the end when negative; a dim without number and names when nothing is known.
  KnownDim dim(model::ValueId value, int axis);

 private:
  // Walks further back than this are given up (a named dim of its own): keeps the stack small on deep models.
  static constexpr int kMaxDepth = 400;

  static std::optional<int64_t> axis_in(int64_t axis, size_t rank);  // counted from 0; nullopt when outside
  static KnownDim both(const KnownDim& a, const KnownDim& b);        // two facts about one dim
  std::optional<KnownDims> compute_shape(model::ValueId value);
  std::optional<KnownDims> structural_shape(const model::Node& node, int slot);
  std::optional<KnownDims> reshape(const model::Node& node);
  std::optional<KnownDims> broadcast(const model::Node& node);
  std::optional<KnownDims> matmul(const model::Node& node);
  std::optional<KnownDims> concat(const model::Node& node);
  std::optional<KnownDims> gather(const model::Node& node);
  std::optional<KnownDims> slice(const model::Node& node);
  std::optional<KnownDims> split(const model::Node& node, int slot);
  std::optional<KnownDims> squeeze(const model::Node& node);
  std::optional<KnownDims> unsqueeze(const model::Node& node);
  std::optional<KnownDims> reduce(const model::Node& node);
  std::optional<KnownDims> transpose(const model::Node& node);
  std::optional<KnownDims> resize(const model::Node& node);
  std::optional<KnownDims> attention(const model::Node& node);
  std::optional<KnownDims> compute_elements(model::ValueId value);
  std::optional<KnownDims> structural_elements(const model::Node& node);
  std::optional<KnownDims> gather_elements(const model::Node& node);
  std::optional<KnownDims> slice_elements(const model::Node& node);
  std::optional<KnownDims> where_elements(const model::Node& node);
  std::optional<KnownDims> arithmetic_elements(const model::Node& node);
  std::optional<KnownDims> shape_op_elements(const model::Node& node);
  KnownDim broadcast_dim(const KnownDim& a, const KnownDim& b) const;
  std::optional<KnownDims> broadcast_shapes(const std::optional<KnownDims>& a, const std::optional<KnownDims>& b) const;
  std::optional<double> compute_number(model::ValueId value);

  const model::Graph& graph_;
  int depth_ = 0;
  std::unordered_map<model::ValueId, std::optional<KnownDims>> shapes_, elements_;
};

}  // namespace hone::change
