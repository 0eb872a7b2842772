// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rewriting.h"

namespace {

using hone::test::expect_same_outputs;
using hone::test::rewritten;
using testing::ElementsAre;

const std::vector<std::string> kRule = {"fold-constants"};

TEST(FoldConstants, ComputesShapeArithmeticOfConstants) {
  const auto done = rewritten(kRule, R"(agraph (float[6] x) => (float[?,?] y)
    <int64[1] two = {2}, int64 three = {3}, int64[1] axis = {0}> {
    a = Unsqueeze(three, axis)
    s = Concat<axis = 0>(two, a)
    y = Reshape(x, s) })");
  EXPECT_EQ(done.lines, "y = Reshape(x, int64{2,3})\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldConstants, TakesDimsThatAreNumbersInTheGraph) {
  const auto done = rewritten(kRule, R"(agraph (float[N,3,4] x) => (float[M] y) <int64 one = {1}, int64[1] axis = {0}> {
    s = Shape(x)
    c = Gather(s, one)
    u = Unsqueeze(c, axis)
    y = Tile(z, u)
    z = Constant<value = float[1] {2.5}>()
    })");
  EXPECT_EQ(done.lines, "y = Tile({2.5}, int64{3})\n");
}

TEST(FoldConstants, LeavesAnOpenDimOpen) {
  const auto done = rewritten(kRule, R"(agraph (float[N,2,3] x) => (float[N,6] y)
    <int64 zero = {0}, int64[1] axis = {0}, int64[1] six = {6}> {
    s = Shape(x)
    n = Gather<axis = 0>(s, zero)
    u = Unsqueeze(n, axis)
    sh = Concat<axis = 0>(u, six)
    y = Reshape(x, sh) })");
  EXPECT_EQ(done.fired, 0U);
  expect_same_outputs(done, kRule);
}

TEST(FoldConstants, TurnsConstantNodesIntoInitializers) {
  const auto done = rewritten(kRule, R"(agraph (float[2] x) => (float[2] y) {
    c = Constant<value_floats = [1.0, 2.0]>()
    y = Add(x, c) })");
  EXPECT_EQ(done.lines, "y = Add(x, {1,2})\n");
  EXPECT_EQ(done.fired, 1U);
}

TEST(FoldConstants, DoesNotInflateTheModel) {
  const auto done = rewritten(
      kRule, R"(agraph (float[1000,1000] x) => (float[1000,1000] y) <float[1,1] one = {1}, int64[2] s = {1000, 1000}> {
    e = Expand(one, s)
    y = Add(x, e) })");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Expand -> e: Expand -> e: its result would make the model larger"));
}

TEST(FoldConstants, LeavesGraphOutputsToTheirNodes) {
  const auto done = rewritten(kRule, "agraph (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { y = Add(a, a) }");
  EXPECT_EQ(done.fired, 0U);
  EXPECT_THAT(done.why, ElementsAre("Add -> y: Add -> y makes the graph output 'y'"));
}

TEST(FoldConstants, NeverTakesADefaultForAConstant) {
  // b is a graph input with a default value: a caller may feed another.
  const auto done =
      rewritten(kRule, "agraph (float[2] x, float[2] b = {1, 2}) => (float[2] y) { n = Neg(b) y = Add(x, n) }");
  EXPECT_EQ(done.lines, "%1 = Neg(b)\ny = Add(x, %1)\n");
}

TEST(FoldConstants, NeverFoldsRandomNumbers) {
  const auto done = rewritten(
      kRule, "agraph (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { r = RandomUniformLike(a) y = Add(x, r) }");
  EXPECT_EQ(done.fired, 0U);
}

TEST(FoldConstants, GivesTheBitsThatTheEngineGives) {
  // One node of each arithmetic kind; the sum of all reaches the output.
  const auto done = rewritten(kRule, R"(agraph (float[3] x) => (float[3] y)
    <float[3] a = {0.1, -2.7, 1e-40}, float[3] b = {3.3, 0.7, 7.1}, float two = {2}, float three = {3}, int64[1] first = {0}> {
    c = Add(a, b) d = Sub(a, b) e = Mul(a, b) f = Div(a, b) g = Sqrt(b) h = Pow(a, two) i = Pow(b, three)
    j = Reciprocal(b) k = Floor(a) l = Ceil(a) m = Abs(a) n = Neg(a) o = Max(a, b) p = Min(a, b)
    q = Less(a, b) r = Where(q, a, b) s = Cast<to = 10>(a) t = Cast<to = 1>(s) u = Cast<to = 6>(b) v = Cast<to = 1>(u)
    z = Sum(c, d, e, f, g, h, i, j, k, l, m, n, o, p, r, t, v)
    y = Add(x, z) })");
  EXPECT_EQ(done.lines,
            "%1 = Sum({3.4,-2,7.1}, {-3.2,-3.4,-7.1}, {0.33,-1.89,7.09996e-40}, {0.030303,-3.85714,1.40845e-41}, "
            "{1.81659,0.83666,2.66458}, {0.01,7.29,0}, {35.937,0.343,357.911}, {0.30303,1.42857,0.140845}, {0,-3,0}, "
            "{1,-2,1}, {0.1,2.7,9.99995e-41}, {-0.1,2.7,-9.99995e-41}, {3.3,0.7,7.1}, {0.1,-2.7,9.99995e-41}, "
            "{0.1,-2.7,9.99995e-41}, {0.0999756,-2.69922,0}, {3,0,7})\ny = Add(x, %1)\n");
  expect_same_outputs(done, kRule);
}

TEST(FoldConstants, MovesDataAsTheEngineDoes) {
  const auto done = rewritten(kRule, R"(agraph (float[4] x) => (float[?,?,?] y)
    <float[2,3] a = {1, 2, 3, 4, 5, 6}, int64[1] last = {-1}, int64[1] low = {-9223372036854775807}, int64[1] minus = {-1},
     int64[1] one = {1}, int64[2] reps = {2, 2}, int64[2] at = {1, -1}, int64[3] big = {2, 2, 3}> {
    b = Transpose(a)
    c = Slice(b, last, low, one, minus)
    d = Tile(c, reps)
    e = Gather<axis = 0>(d, at)
    f = Expand(a, big)
    g, h = Split<axis = 1>(e)
    i = Concat<axis = 1>(g, h)
    j = ReduceMax<axes = [0], keepdims = 0>(i)
    k = Add(x, j)
    l = Unsqueeze(k, big2)
    big2 = Constant<value = int64[2] {0, 1}>()
    m = Slice(f, zero, one, one)
    zero = Constant<value = int64[1] {0}>()
    n = ReduceSum<keepdims = 1>(m)
    y = Add(l, n) })");
  expect_same_outputs(done, kRule);
  EXPECT_GT(done.fired, 8U);
}

// Every kernel against ONNX Runtime, bit by bit: one node of constants, whose result an Identity hands out.
struct KernelCase {
  const char* name;
  const char* type;  // of the result
  const char* node;  // reads the constants below
};

void PrintTo(const KernelCase& kernel, std::ostream* out) { *out << kernel.node; }

class Kernel : public testing::TestWithParam<KernelCase> {};

TEST_P(Kernel, GivesTheBitsThatTheEngineGives) {
  const auto done = rewritten(kRule, fmt::format(R"(agraph (float[1] x) => ({} y, float[1] z)
    <float[2,3] f = {{0.5, -1.25, 3, -0.1, 1e-3, 7}}, float[2,1] g = {{2, -3}}, int64[2,3] i = {{5, -7, 0, 3, -2, 9}}, int64[3] j = {{2, 3, -4}},
     int32[3] k = {{-9, 4, 7}}, bool[3] b = {{1, 0, 1}}, bool[2,1] d = {{1, 0}}, int64[1] zero = {{0}}, int64[1] one = {{1}},
     int64[1] minus = {{-1}}, int64[3] shape = {{2, 0, 3}}, int64 s0 = {{1}}, int64 s1 = {{-5}}, int64 s2 = {{-2}}, float t0 = {{0.1}},
     float t1 = {{2.05}}, float t2 = {{0.3}}, float16[2] h = {{13652, 31743}}, double[2] w = {{0.1, -1e300}}, int64[2] pair = {{1, 2}}> {{
    z = Relu(x)
    c = {}
    y = Identity(c) }})",
                                                 GetParam().type, GetParam().node));
  EXPECT_EQ(done.lines.find("%1"), std::string::npos) << done.lines;  // no node is left between
  expect_same_outputs(done, kRule);
}

INSTANTIATE_TEST_SUITE_P(
    FoldConstants, Kernel,
    testing::Values(
        KernelCase{"add_ints", "int64[?,?]", "Add(i, j)"}, KernelCase{"sub_broadcast", "float[?,?]", "Sub(f, g)"},
        KernelCase{"mul_ints", "int32[?]", "Mul(k, k)"}, KernelCase{"div_floats", "float[?,?]", "Div(f, g)"},
        KernelCase{"div_ints_truncates", "int64[?,?]", "Div(i, j)"},
        KernelCase{"mod_like_python", "int64[?,?]", "Mod(i, j)"},
        KernelCase{"mod_like_c", "int64[?,?]", "Mod<fmod = 1>(i, j)"},
        KernelCase{"fmod", "float[?,?]", "Mod<fmod = 1>(f, g)"}, KernelCase{"add_halves", "float16[?]", "Add(h, h)"},
        KernelCase{"div_doubles", "double[?]", "Div(w, w)"}, KernelCase{"min_ints", "int64[?,?]", "Min(i, j)"},
        KernelCase{"max_floats", "float[?,?]", "Max(f, g)"}, KernelCase{"equal", "bool[?,?]", "Equal(i, j)"},
        KernelCase{"less_or_equal", "bool[?,?]", "LessOrEqual(f, g)"},
        KernelCase{"greater", "bool[?,?]", "Greater(f, g)"},
        KernelCase{"greater_or_equal", "bool[?,?]", "GreaterOrEqual(f, g)"},
        KernelCase{"and", "bool[?,?]", "And(b, d)"}, KernelCase{"or", "bool[?,?]", "Or(b, d)"},
        KernelCase{"xor", "bool[?,?]", "Xor(b, d)"}, KernelCase{"not", "bool[?]", "Not(b)"},
        KernelCase{"sign", "float[?,?]", "Sign(f)"}, KernelCase{"sign_ints", "int64[?,?]", "Sign(i)"},
        KernelCase{"abs_ints", "int64[?,?]", "Abs(i)"}, KernelCase{"neg_ints", "int32[?]", "Neg(k)"},
        KernelCase{"relu", "float[?,?]", "Relu(f)"}, KernelCase{"reciprocal", "float[?,?]", "Reciprocal(f)"},
        KernelCase{"range_down", "int64[?]", "Range(s0, s1, s2)"},
        KernelCase{"constant_of_shape", "float[?,?,?]", "ConstantOfShape(shape)"},
        KernelCase{"constant_of_shape_ints", "int64[?,?]", "ConstantOfShape<value = int64[1] {7}>(pair)"},
        KernelCase{"non_zero", "int64[?,?]", "NonZero(i)"}, KernelCase{"non_zero_bool", "int64[?,?]", "NonZero(b)"},
        KernelCase{"shape", "int64[?]", "Shape<start = -1>(f)"}, KernelCase{"size", "int64", "Size(i)"},
        KernelCase{"trilu_upper", "float[?,?]", "Trilu(f)"},
        KernelCase{"trilu_lower", "int64[?,?]", "Trilu<upper = 0>(i, s0)"},
        KernelCase{"cast_to_int", "int32[?,?]", "Cast<to = 6>(f)"},
        KernelCase{"cast_to_bool", "bool[?,?]", "Cast<to = 9>(i)"},
        KernelCase{"cast_from_bool", "float[?]", "Cast<to = 1>(b)"},
        KernelCase{"cast_to_bfloat16", "bfloat16[?,?]", "Cast<to = 16>(f)"},
        KernelCase{"cast_to_double", "double[?]", "Cast<to = 11>(h)"},
        KernelCase{"cast_to_half", "float16[?,?]", "Cast<to = 10>(f)"},
        KernelCase{"reduce_prod", "int64[?]", "ReduceProd<axes = [0], keepdims = 0>(i)"},
        KernelCase{"reduce_sum", "int64[?,?]", "ReduceSum(i, minus)"},
        KernelCase{"reduce_max_all", "float", "ReduceMax<keepdims = 0>(f)"},
        KernelCase{"reduce_min", "float[?,?]", "ReduceMin<axes = [-1]>(f)"},
        KernelCase{"cum_sum", "int64[?,?]", "CumSum(i, s0)"},
        KernelCase{"flatten", "float[?,?]", "Flatten<axis = 0>(f)"},
        KernelCase{"squeeze", "float[?]", "Squeeze(g, minus)"},
        KernelCase{"unsqueeze", "int64[?,?,?]", "Unsqueeze(j, pair)"},
        KernelCase{"reshape_open", "float[?,?]",
                   "Reshape(f, minus_two)  minus_two = Constant<value = int64[2] {3, -1}>()"},
        KernelCase{"where", "float[?,?]", "Where(b, f, g)"},
        KernelCase{"gather_columns", "float[?,?]", "Gather<axis = 1>(f, pair)"},
        KernelCase{"concat_rows", "int64[?]", "Concat<axis = -1>(j, one, shape)"},
        KernelCase{"slice_steps", "int64[?,?]", "Slice(i, minus, zero, one, minus)"},
        KernelCase{"expand_up", "float[?,?,?]", "Expand(g, up)  up = Constant<value = int64[3] {3, 1, 2}>()"},
        KernelCase{"transpose", "int64[?,?]", "Transpose(i)"}, KernelCase{"tile", "bool[?]", "Tile(b, one)"},
        KernelCase{"pow_square", "int32[?]", "Pow(k, s3)  s3 = Constant<value = int32 {2}>()"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FoldConstants, LeavesWhatEnginesDoNotAgreeOn) {
  for (const char* node :
       {"Cast<to = 6>(big)", "Div(one, zero)", "Range(zero_f, one_s, one_s)", "Exp(one_f)", "ReduceSum(one_f)"}) {
    const auto done = rewritten(kRule, fmt::format(R"(agraph (float[1] x) => (float[1] y)
      <float[1] big = {{3e10}}, int64[1] one = {{1}}, int64[1] zero = {{0}}, float[1] one_f = {{1}}, float zero_f = {{0}}, float one_s = {{1}}> {{
      c = {} d = Cast<to = 1>(c) y = Add(x, d) }})",
                                                   node));
    EXPECT_EQ(done.fired, 0U) << node;
  }
}

}  // namespace
