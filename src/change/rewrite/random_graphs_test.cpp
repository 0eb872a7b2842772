// Property: all rules on random small valid graphs leave the outputs, the interface and the structure as they were.
//
// The generator makes what rules look for and what they must tell apart: identities and near-identities, duplicates,
// dead nodes, shape arithmetic on open and fixed dims, transposes and reshapes, Convs with BatchNormalization, Mul, Add
// and Pad around them, HardSwish chains, constant Ifs; values are read several times and become outputs at random.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "support/rewriting.h"

namespace {

// A value of the graph under construction: NCHW or [N, K], N open.
struct Tensor {
  std::string name;
  bool image = true;  // float[N,4,S,S], else float[N,K]
  int64_t size = 6;   // S or K
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string text() {
    values_.push_back({"x", true, 6});
    const int steps = 6 + static_cast<int>(below(12));
    for (int i = 0; i < steps; ++i) step();
    std::string outputs;
    for (size_t i = 0; i < 3; ++i) {
      const Tensor& value = i == 0 ? values_.back() : values_[below(values_.size())];
      const std::string name = fmt::format("out{}", i);
      // Half of the outputs are read from inside too, by an Identity or a Relu.
      nodes_ += fmt::format("  {} = {}({})\n", name, below(2) == 0 ? "Identity" : "Relu", value.name);
      outputs += fmt::format("{}float[{}] {}", i == 0 ? "" : ", ", value.image ? "N,4,?,?" : "N,?", name);
    }
    return fmt::format("agraph (float[N,4,6,6] x) => ({})\n  <{}> {{\n{}}}", outputs, constants_, nodes_);
  }

 private:
  size_t below(size_t count) { return random_() % count; }

  const Tensor& pick() { return values_[below(values_.size())]; }

  std::string fresh() { return fmt::format("v{}", ++count_); }

  std::string constant(std::string_view type, const std::vector<int64_t>& dims, const std::vector<double>& values) {
    const std::string name = fmt::format("c{}", ++count_);
    constants_ += fmt::format("{}{}{} {} = {{", constants_.empty() ? "" : ", ", type,
                              dims.empty() ? "" : fmt::format("[{}]", fmt::join(dims, ",")), name);
    std::string list;
    for (const double value : values)
      list +=
          fmt::format("{}{}", list.empty() ? "" : ",",
                      type == "float" ? fmt::format("{:.4f}", value) : fmt::format("{}", static_cast<int64_t>(value)));
    constants_ += list + "}";
    return name;
  }

  std::vector<double> numbers(size_t count) {
    std::vector<double> list;
    for (size_t i = 0; i < count; ++i) list.push_back((static_cast<double>(below(41)) - 20) / 16 + 0.01);
    return list;
  }

  std::string floats(const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    return constant("float", dims, numbers(static_cast<size_t>(count)));
  }

  std::string ints(const std::vector<int64_t>& values) {
    return constant("int64", {static_cast<int64_t>(values.size())}, std::vector<double>(values.begin(), values.end()));
  }

  const Tensor& emit(const Tensor& like, const std::string& expression) {
    Tensor made = like;
    made.name = fresh();
    nodes_ += fmt::format("  {} = {}\n", made.name, expression);
    values_.push_back(made);
    return values_.back();
  }

  void step() {
    const Tensor x = pick();
    switch (below(16)) {
      case 0:
        unary(x);
        break;
      case 1:
        almost_identity(x);
        break;
      case 2:
        emit(x, fmt::format("{}({}, {})", below(2) == 0 ? "Mul" : "Add", x.name, scalar_or_channel(x)));
        break;
      case 3:
        same_shape_pair(x);
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        convolution(x);
        break;
      case 8:
        transposes(x);
        break;
      case 9:
        reshapes(x);
        break;
      case 10:
        hard_swish(x);
        break;
      case 11:
        shape_arithmetic(x);
        break;
      case 12:
        duplicate(x);
        break;
      case 13:
        constant_if(x);
        break;
      case 14:
        emit(x, fmt::format("Div({}, {})", x.name, floats({})));
        break;
      default:
        slice_and_concat(x);
    }
  }

  void unary(const Tensor& x) {
    static const char* kOps[] = {"Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Softsign"};
    emit(x, fmt::format("{}({})", kOps[below(std::size(kOps))], x.name));
  }

  void almost_identity(const Tensor& x) {
    const std::string one = constant("float", {}, {1}), wide = constant("float", {1}, {1}),
                      nought = constant("float", {}, {0});
    switch (below(6)) {
      case 0:
        emit(x, fmt::format("Identity({})", x.name));
        break;
      case 1:
        emit(x, fmt::format("Mul({}, {})", x.name, below(2) == 0 ? one : wide));
        break;
      case 2:
        emit(x, fmt::format("Add({}, {})", nought, x.name));
        break;
      case 3:
        emit(x, fmt::format("Cast<to = 1>({})", x.name));
        break;
      case 4:
        emit(x, fmt::format("Dropout({})", x.name));
        break;
      default:
        emit(x, fmt::format("Sub({}, {})", x.name, nought));
    }
  }

  std::string scalar_or_channel(const Tensor& x) {
    if (!x.image || below(2) == 0) return floats({});
    return below(2) == 0 ? floats({4, 1, 1}) : floats({1, 4, 1, 1});
  }

  void same_shape_pair(const Tensor& x) {
    for (const Tensor& other : values_) {
      if (other.image != x.image || other.size != x.size || below(3) != 0) continue;
      emit(x, fmt::format("{}({}, {})", below(2) == 0 ? "Add" : "Mul", x.name, other.name));
      return;
    }
  }

  void convolution(const Tensor& x) {
    if (!x.image || x.size < 4) return;
    Tensor from = x;
    const int64_t kernel = below(2) == 0 ? 1 : 3;
    int64_t pad = kernel == 3 && below(2) == 0 ? 1 : 0;
    if (below(3) == 0) {
      from.size += 2;
      from = emit(from, fmt::format("Pad({}, {}, {})", from.name, ints({0, 0, 1, 1, 0, 0, 1, 1}),
                                    constant("float", {}, {below(3) == 0 ? 1.0 : 0.0})));
    }
    const bool depthwise = below(3) == 0;
    const std::string weight = floats({4, depthwise ? 1 : 4, kernel, kernel});
    Tensor made = from;
    made.size = from.size + 2 * pad - kernel + 1;
    const std::string bias = below(2) == 0 ? ", " + floats({4}) : "";
    const Tensor y = emit(made, fmt::format("Conv<pads = [{0},{0},{0},{0}], group = {1}>({2}, {3}{4})", pad,
                                            depthwise ? 4 : 1, from.name, weight, bias));
    if (below(2) == 0) {
      const std::vector<double> variance = {0.5, 1, 2, 0.25};
      emit(y, fmt::format("BatchNormalization({}, {}, {}, {}, {})", y.name, floats({4}), floats({4}), floats({4}),
                          constant("float", {4}, variance)));
    }
    if (below(2) == 0) emit(values_.back(), fmt::format("Mul({}, {})", values_.back().name, scalar_or_channel(y)));
    if (below(2) == 0) emit(values_.back(), fmt::format("Add({}, {})", values_.back().name, scalar_or_channel(y)));
  }

  void transposes(const Tensor& x) {
    if (!x.image) return;
    const Tensor a = emit(x, fmt::format("Transpose<perm = [0,2,3,1]>({})", x.name));
    values_.pop_back();  // not NCHW: nobody else may pick it
    const Tensor b = emit(x, fmt::format("Relu({})", a.name));
    values_.pop_back();
    const bool direct = below(2) == 0;
    emit(x, fmt::format("Transpose<perm = [0,3,1,2]>({})", direct ? a.name : b.name));
  }

  void reshapes(const Tensor& x) {
    Tensor flat = x;
    flat.image = false;
    if (x.image) flat.size = 4 * x.size * x.size;
    const Tensor y =
        emit(flat, fmt::format("Reshape({}, {})", x.name, ints({x.image && below(2) == 0 ? 0 : -1, flat.size})));
    if (y.size % 4 == 0) {
      Tensor third = y;
      third = emit(third, fmt::format("Reshape({}, {})", y.name, ints({-1, 4, y.size / 4})));
      values_.pop_back();
      emit(y, fmt::format("Reshape({}, {})", third.name, ints({-1, y.size})));
    }
  }

  void hard_swish(const Tensor& x) {
    const std::string three = constant("float", {}, {3}), nought = constant("float", {}, {0}),
                      six = constant("float", {}, {6});
    const Tensor a = emit(x, fmt::format("Add({}, {})", x.name, three));
    const Tensor b = emit(a, fmt::format("Clip({}, {}, {})", a.name, nought, six));
    if (below(2) == 0) {
      const Tensor c = emit(b, fmt::format("Mul({}, {})", x.name, b.name));
      emit(c, fmt::format("Div({}, {})", c.name, six));
    } else {
      emit(b, fmt::format("Div({}, {})", b.name, six));
    }
  }

  // Reshape to [dim 0 of x, -1] through Shape, Gather, Unsqueeze, Concat.
  void shape_arithmetic(const Tensor& x) {
    const std::string s = fresh(), d = fresh(), u = fresh(), t = fresh();
    nodes_ += fmt::format("  {} = Shape({})\n", s, x.name);
    nodes_ += fmt::format("  {} = Gather({}, {})\n", d, s, constant("int64", {}, {0}));
    nodes_ += fmt::format("  {} = Unsqueeze({}, {})\n", u, d, ints({0}));
    nodes_ += fmt::format("  {} = Concat<axis = 0>({}, {})\n", t, u, ints({-1}));
    Tensor flat = x;
    flat.image = false;
    if (x.image) flat.size = 4 * x.size * x.size;
    emit(flat, fmt::format("Reshape({}, {})", x.name, t));
  }

  void duplicate(const Tensor& x) {
    const Tensor a = emit(x, fmt::format("Sigmoid({})", x.name)), b = emit(x, fmt::format("Sigmoid({})", x.name));
    emit(x, fmt::format("Sub({}, {})", a.name, b.name));
  }

  void constant_if(const Tensor& x) {
    const std::string condition = constant("bool", {}, {static_cast<double>(below(2))});
    const std::string shape = x.image ? "N,4,?,?" : "N,?";
    emit(x, fmt::format("If({0}) <then_branch = yes () => (float[{1}] r) {{ t = Neg({2}) r = Abs(t) }},"
                        " else_branch = no () => (float[{1}] r) {{ t = Relu({2}) r = Identity(t) }}>",
                        condition, shape, x.name));
  }

  void slice_and_concat(const Tensor& x) {
    if (!x.image) return;
    const int64_t cut = static_cast<int64_t>(below(3));
    const Tensor a =
        emit(x, fmt::format("Slice({}, {}, {}, {})", x.name, ints({cut}), ints({cut == 0 ? 9 : 4}), ints({1})));
    values_.pop_back();
    const Tensor b = emit(x, fmt::format("Slice({}, {}, {}, {})", x.name, ints({0}), ints({cut}), ints({1})));
    values_.pop_back();
    emit(x, fmt::format("Concat<axis = 1>({}, {})", b.name, a.name));
  }

  std::mt19937_64 random_;
  std::vector<Tensor> values_;
  std::string constants_, nodes_;
  int count_ = 0;
};

TEST(RandomGraphs, GiveTheSameOutputsAfterAllRules) {
  size_t fired = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string text = Generator(seed).text();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    const auto done = hone::test::rewritten(hone::change::all_rules(), hone::test::model_of(text));
    fired += done.fired;
    const auto comparison =
        hone::test::compare_models(done.before, done.after, {seed, hone::accuracy::Class::kReassociating});
    ASSERT_TRUE(comparison.has_value()) << comparison.error().line();
    ASSERT_TRUE(comparison->same) << comparison->why << "\n" << done.lines;
  }
  EXPECT_GT(fired, 150U);
}

}  // namespace
