// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/rewriting.h"

namespace {

using hone::model::Tensor;
using hone::test::compare_models_on;
using hone::test::expect_same_outputs;
using hone::test::model_of;
using hone::test::Rewritten;
using hone::test::rewritten;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kRule = {"fuse-attention"};

// Heads are split 2 x 4; `t` is the length of the keys.
const std::string kConstants =
    "<int64[4] heads = {0, 0, 2, 4}, int64[3] merged = {0, 0, 8}, float scale = {0.5}, float inverse = {2}, "
    "float root = {0.70710677}, float zero = {0}, float lowest = {-3.4028235e38}, float some = {-10000}, float one = "
    "{1}>";
const std::string kQueries = "q4 = Reshape(q, heads) qh = Transpose<perm = [0, 2, 1, 3]>(q4) ";
const std::string kKeys = "k4 = Reshape(k, heads) kt = Transpose<perm = [0, 2, 3, 1]>(k4) ";
const std::string kValues = "v4 = Reshape(v, heads) vh = Transpose<perm = [0, 2, 1, 3]>(v4) ";
const std::string kResult = "o = MatMul(p, vh) ot = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(ot, merged)";
const std::string kInputs = "float[b, s, 8] q, float[b, t, 8] k, float[b, t, 8] v";

std::string graph(const std::string& body, const std::string& more_inputs = "",
                  const std::string& output = "float[b, s, 8] y") {
  return "agraph (" + kInputs + more_inputs + ") => (" + output + ") " + kConstants + " { " + body + " }";
}
std::string plain(const std::string& scores) { return kQueries + kKeys + kValues + scores + kResult; }

// The same below opset 23, where MultiHeadAttention has to do.
Rewritten rewritten_at_17(const std::string& text) {
  Rewritten out{model_of(text, 17), model_of(text, 17), {}, 0, {}};
  auto options = hone::test::strict_options();
  options.raise_opset = false;
  const auto report = hone::change::rewrite(out.after, hone::test::rules_of(kRule), options);
  if (!report) throw std::runtime_error(report.error().line());
  out.fired = report->fired();
  out.lines = hone::test::graph_lines(out.after.graph());
  for (const auto& refusal : report->rules[0].refused) out.why.push_back(refusal.why);
  return out;
}

TEST(FuseAttention, PutsSplittingAndMergingOfHeadsInside) {
  const std::string text = graph(plain("s0 = MatMul(qh, kt) s1 = Mul(s0, scale) p = Softmax<axis = -1>(s1) "));
  const auto done = rewritten(kRule, text);
  EXPECT_EQ(done.lines, "y = Attention<kv_num_heads=2, q_num_heads=2, scale=0.5>(q, k, v)\n");
  EXPECT_THAT(done.why, IsEmpty());
  expect_same_outputs(done, kRule);
  const auto older = rewritten_at_17(text);
  EXPECT_EQ(older.lines, "y = com.microsoft.MultiHeadAttention<num_heads=2, scale=0.5>(q, k, v)\n");
  expect_same_outputs(older, kRule);
}

TEST(FuseAttention, FindsTheScaleWhereverItIs) {
  for (const char* scores : {
           "s0 = MatMul(qh, kt) s1 = Div(s0, inverse) p = Softmax<axis = -1>(s1) ",
           "qs = Mul(qh, scale) s0 = MatMul(qs, kt) p = Softmax<axis = 3>(s0) ",
           "qs = Mul(root, qh) ks = Mul(kt, root) s0 = MatMul(qs, ks) p = Softmax<axis = -1>(s0) ",
           // torch's SDPA computes it from the head size.
           "f = Shape(qh) g = Slice(f, three, four) h = Cast<to = 1>(g) i = Sqrt(h) j = Div(one, i) l = Sqrt(j) "
           "qs = Mul(qh, l) ks = Mul(kt, l) s0 = MatMul(qs, ks) p = Softmax<axis = -1>(s0) ",
       }) {
    std::string text = graph(plain(scores));
    text.replace(text.find("<int64[4]"), 1, "<int64[1] three = {3}, int64[1] four = {4}, ");
    const auto done = rewritten({"fuse-attention", "remove-dead-nodes"}, text, 23);
    EXPECT_EQ(done.lines, "y = Attention<kv_num_heads=2, q_num_heads=2, scale=0.5>(q, k, v)\n") << scores;
    expect_same_outputs(done, kRule);
  }
}

TEST(FuseAttention, ExpandsAMaskThatIsBroadcastToTheQueries) {
  const std::string text = graph(plain("s0 = MatMul(qh, kt) s1 = Mul(s0, scale) m1 = Sub(one, m) m2 = Mul(m1, some) s2 "
                                       "= Add(s1, m2) p = Softmax<axis = -1>(s2) "),
                                 ", float[b, 1, 1, t] m");
  const auto done = rewritten(kRule, text);
  EXPECT_EQ(done.lines,
            "%1 = Sub(1, m)\n"
            "%2 = Mul(%1, -10000)\n"
            "%3 = Shape(q)\n"
            "%4 = Gather(%3, int64{1})\n"
            "%5 = Shape(k)\n"
            "%6 = Gather(%5, int64{1})\n"
            "%7 = Concat<axis=0>(int64{1,1}, %4, %6)\n"
            "%8 = Expand(%2, %7)\n"
            "y = Attention<kv_num_heads=2, q_num_heads=2, scale=0.5>(q, k, v, %8)\n");
  expect_same_outputs(done, kRule);
  expect_same_outputs(rewritten_at_17(text), kRule);
}

TEST(FuseAttention, TakesAMaskOfTheRightShapeAsItIs) {
  const auto done = rewritten(
      kRule, graph(plain("s0 = MatMul(qh, kt) s1 = Add(m, s0) p = Softmax<axis = -1>(s1) "), ", float[b, 1, s, t] m"));
  EXPECT_EQ(done.lines,
            "%1 = Max(m, -1e+38)\n"
            "y = Attention<kv_num_heads=2, q_num_heads=2, scale=1>(q, k, v, %1)\n");
  expect_same_outputs(done, kRule);
}

TEST(FuseAttention, TakesAConstantCausalMask) {
  std::string text = "agraph (float[b, 3, 8] q, float[b, 3, 8] k, float[b, 3, 8] v) => (float[b, 3, 8] y) " +
                     kConstants + "{ " + plain("s0 = MatMul(qh, kt) s1 = Add(s0, m) p = Softmax<axis = -1>(s1) ") +
                     " }";
  text.replace(text.find("<int64[4]"), 1, "<float[3, 3] m = {0, -10000, -10000, 0, 0, -10000, 0, 0, 0}, ");
  const auto done = rewritten(kRule, text);
  EXPECT_EQ(done.lines,
            "%1 = Expand(float32[3,3], int64{1,1,3,3})\n"
            "y = Attention<kv_num_heads=2, q_num_heads=2, scale=1>(q, k, v, %1)\n");
  expect_same_outputs(done, kRule);
  expect_same_outputs(rewritten_at_17(text), kRule);
}

TEST(FuseAttention, AddsSeveralMasksAndTurnsConditionsIntoNumbers) {
  const std::string text =
      graph(plain("s0 = MatMul(qh, kt) s1 = Add(s0, bias) s2 = Where(keep, s1, lowest) p = Softmax<axis = -1>(s2) "),
            ", float[1, 2, s, t] bias, bool[b, 1, s, t] keep");
  const auto done = rewritten(kRule, text);
  EXPECT_EQ(done.fired, 1U) << testing::PrintToString(done.why);
  EXPECT_THAT(done.lines, testing::HasSubstr("Where(keep, 0, -1e+38)"));
  expect_same_outputs(done, kRule);
  expect_same_outputs(rewritten_at_17(text), kRule);
}

TEST(FuseAttention, FindsKeysTransposedInThreeDims) {
  const std::string transpose =
      "k4 = Reshape(k, heads) kh = Transpose<perm = [0, 2, 1, 3]>(k4) ks = Shape(kh) kl = Slice(ks, two, three) "
      "flat = Concat<axis = 0>(minus, kl, four) k3 = Reshape(kh, flat) k3t = Transpose<perm = [0, 2, 1]>(k3) "
      "lead = Slice(ks, nought, two) back = Concat<axis = 0>(lead, four, kl) kt = Reshape(k3t, back) ";
  std::string text =
      graph(kQueries + transpose + kValues + "s0 = MatMul(qh, kt) p = Softmax<axis = -1>(s0) " + kResult);
  text.replace(
      text.find("<int64[4]"), 1,
      "<int64[1] minus = {-1}, int64[1] nought = {0}, int64[1] two = {2}, int64[1] three = {3}, int64[1] four = {4}, ");
  const auto done = rewritten({"fuse-attention", "remove-dead-nodes"}, text, 23);
  EXPECT_EQ(done.lines, "y = Attention<kv_num_heads=2, q_num_heads=2, scale=1>(q, k, v)\n");
  expect_same_outputs(done, kRule);
}

// torch.bmm: batch and heads in one dim, as older exports have it.
TEST(FuseAttention, UnfoldsBatchAndHeads) {
  for (const bool open : {false, true}) {
    // With open lengths the targets are computed from the input's shape.
    const std::string sizes =
        open ? "sh = Shape(q) b = Slice(sh, nought, one1) n = Slice(sh, one1, two) bn = Mul(b, two) "
               "flat = Concat<axis = 0>(bn, n, four) scores4 = Concat<axis = 0>(b, two, n, n) "
               "scores3 = Concat<axis = 0>(bn, n, n) back = Concat<axis = 0>(b, two, n, four) "
             : "flat = Identity(flat_c) scores4 = Identity(scores4_c) scores3 = Identity(scores3_c) back = "
               "Identity(back_c) ";
    const std::string type = open ? "float[b, s, 8]" : "float[3, 5, 8]";
    std::string text =
        "agraph (" + type + " q, " + type + " k, " + type + " v, float" + (open ? "[b, 1, s, s]" : "[3, 1, 5, 5]") +
        " m) => (" + type + " y) " + kConstants + " { " + sizes + kQueries +
        "k4 = Reshape(k, heads) kh = Transpose<perm = [0, 2, 1, 3]>(k4) " + kValues +
        "qs = Mul(qh, scale) q3 = Reshape(qs, flat) k3 = Reshape(kh, flat) v3 = Reshape(vh, flat) "
        "kt = Transpose<perm = [0, 2, 1]>(k3) s3 = MatMul(q3, kt) s4 = Reshape(s3, scores4) s5 = Add(s4, m) "
        "s6 = Reshape(s5, scores3) p = Softmax<axis = -1>(s6) o3 = MatMul(p, v3) o = Reshape(o3, back) "
        "ot = Transpose<perm = [0, 2, 1, 3]>(o) y = Reshape(ot, merged) }";
    text.replace(text.find("<int64[4]"), 1,
                 "<int64[1] nought = {0}, int64[1] one1 = {1}, int64[1] two = {2}, int64[1] four = {4}, int64[3] "
                 "flat_c = {6, 5, 4}, "
                 "int64[4] scores4_c = {3, 2, 5, 5}, int64[3] scores3_c = {6, 5, 5}, int64[4] back_c = {3, 2, 5, 4}, ");
    const std::vector<std::string> rules = {"fold-constants", "fuse-attention", "remove-dead-nodes"};
    const auto done = rewritten(rules, text, 23);
    EXPECT_EQ(done.lines,
              "%1 = Max(m, -1e+38)\n"
              "y = Attention<kv_num_heads=2, q_num_heads=2, scale=0.5>(q, k, v, %1)\n")
        << testing::PrintToString(done.why);
    expect_same_outputs(done, kRule);
    expect_same_outputs(rewritten_at_17(text), kRule);
  }
}

TEST(FuseAttention, TakesGroupedHeadsUnrepeated) {
  const std::string text =
      "agraph (float[b, 4, s, 8] q, float[b, 2, t, 8] k, float[b, 2, t, 8] v) => (float[b, 4, s, 8] o) "
      "<int64[1] axis = {2}, int64[5] repeat = {1, 1, 2, 1, 1}, int64[4] all = {0, 4, -1, 8}> { "
      "k5 = Unsqueeze(k, axis) ke = Expand(k5, repeat) kr = Reshape(ke, all) kt = Transpose<perm = [0, 1, 3, 2]>(kr) "
      "v5 = Unsqueeze(v, axis) ve = Expand(v5, repeat) vr = Reshape(ve, all) "
      "s0 = MatMul(q, kt) p = Softmax<axis = -1>(s0) o = MatMul(p, vr) }";
  const auto done = rewritten({"fuse-attention", "remove-dead-nodes"}, text, 23);
  EXPECT_EQ(done.lines, "o = Attention<scale=1>(q, k, v)\n");
  expect_same_outputs(done, kRule);
  const auto older = rewritten_at_17(text);
  EXPECT_EQ(older.fired, 1U) << testing::PrintToString(older.why);
  expect_same_outputs(older, kRule);
}

TEST(FuseAttention, SplitsAProjectionToAllThree) {
  const std::string text =
      "agraph (float[b, s, 24] x) => (float[b, s, 8] y) <int64[5] five = {0, 0, 3, 2, 4}, int64[3] merged = {0, 0, 8}, "
      "int64 i = {0}, int64 j = {1}, int64 l = {-1}, float scale = {0.5}> { x5 = Reshape(x, five) "
      "all = Transpose<perm = [2, 0, 3, 1, 4]>(x5) qh = Gather(all, i) kh = Gather(all, j) vh = Gather(all, l) "
      "qs = Mul(qh, scale) kt = Transpose<perm = [0, 1, 3, 2]>(kh) s0 = MatMul(qs, kt) p = Softmax<axis = -1>(s0) " +
      kResult + " }";
  const auto done = rewritten({"fuse-attention", "remove-dead-nodes"}, text, 23);
  EXPECT_EQ(done.lines,
            "%1, %2, %3 = Split<axis=2>(x, int64{8,8,8})\n"
            "y = Attention<kv_num_heads=2, q_num_heads=2, scale=0.5>(%1, %2, %3)\n");
  expect_same_outputs(done, kRule);
  expect_same_outputs(rewritten_at_17(text), kRule);
}

TEST(FuseAttention, GivesTheResultBackInOtherShapes) {
  // A Shape of the result, and no Transpose behind it.
  const auto done =
      rewritten_at_17(graph(plain("s0 = MatMul(qh, kt) p = Softmax<axis = -1>(s0) ") + " n = Shape(o) r = Relu(o)", "",
                            "float[b, s, 8] y, int64[4] n, float[b, 2, s, 4] r"));
  EXPECT_EQ(done.fired, 1U);
  expect_same_outputs(done, kRule);
}

// Rows that are masked as a whole give what they gave before: zeros where the export cleaned NaN, else the mean.
TEST(FuseAttention, KeepsWhatRowsMaskedAsAWholeGive) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const bool cleaned : {true, false})
    for (const float masked : {-infinity, std::numeric_limits<float>::lowest()}) {
      if (!cleaned && masked == -infinity) continue;  // NaN
      const std::string text =
          graph(plain(std::string("s0 = MatMul(qh, kt) s1 = Add(s0, m) p0 = Softmax<axis = -1>(s1) ") +
                      (cleaned ? "n = IsNaN(p0) p = Where(n, zero, p0) " : "p = Identity(p0) ")),
                ", float[b, 1, s, t] m");
      std::vector<float> numbers(2 * 8 * 3), mask = {masked, masked, masked, 0, masked, masked};
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
      const Tensor q = Tensor::of<float>({1, 2, 8}, {numbers.begin(), numbers.begin() + 16});
      const Tensor k = Tensor::of<float>({1, 3, 8}, {numbers.begin(), numbers.begin() + 24});
      const Tensor v = Tensor::of<float>({1, 3, 8}, {numbers.begin() + 24, numbers.end()});
      const std::vector<hone::model::NamedTensors> samples = {
          {{"q", q}, {"k", k}, {"v", v}, {"m", Tensor::of<float>({1, 1, 2, 3}, mask)}}};
      for (const auto& done : {rewritten(kRule, text), rewritten_at_17(text)}) {
        ASSERT_EQ(done.fired, 1U) << testing::PrintToString(done.why);
        const auto comparison = compare_models_on(done.before, done.after, samples,
                                                  {.accuracy_class = hone::accuracy::Class::kReassociating});
        ASSERT_TRUE(comparison) << comparison.error().line();
        EXPECT_TRUE(comparison->same) << comparison->why << "\ncleaned " << cleaned << " masked " << masked << "\n"
                                      << done.lines;
      }
    }
}

std::vector<std::string> refusals(const std::string& text) {
  const auto done = rewritten(kRule, text, 23);
  EXPECT_EQ(done.fired, 0U);
  return done.why;
}

TEST(FuseAttention, SaysWhyNot) {
  const std::string scores = "s0 = MatMul(qh, kt) p = Softmax<axis = -1>(s0) ";
  EXPECT_THAT(refusals(graph(plain(scores), "", "float[b, s, 8] y, float[b, 2, s, t] p")),
              ElementsAre("Softmax -> p: the attention weights 'p' are a graph output"));
  EXPECT_THAT(
      refusals(graph(plain("s0 = MatMul(qh, kt) s1 = Add(s0, m) s2 = Mul(s1, scale) p = Softmax<axis = -1>(s2) "),
                     ", float[b, 1, s, t] m")),
      ElementsAre("Softmax -> p: Mul -> s2 scales the mask with the scores"));
  EXPECT_THAT(
      refusals(graph(plain("s0 = MatMul(qh, kt) s1 = Add(s0, m) p = Softmax<axis = -1>(s1) "), ", float[c, 1, s, t] m",
                     "float[c, s, 8] y")),
      ElementsAre("Softmax -> p: dim 0 of the mask the graph input 'm' (c) is not proven to be 1 or the batch (b)"));
  EXPECT_THAT(refusals(graph(plain(scores), "", "float[b, s, 8] y, float[b, 2, s, t] s0")),
              ElementsAre("Softmax -> p: MatMul -> s0 makes the graph output 's0'"));
}

TEST(FuseAttention, RefusesBatchesThatMayDiffer) {
  const std::string text = "agraph (float[b, s, 8] q, float[c, t, 8] k, float[c, t, 8] v) => (float[d, s, 8] y) " +
                           kConstants + "{ " + plain("s0 = MatMul(qh, kt) p = Softmax<axis = -1>(s0) ") + " }";
  EXPECT_THAT(refusals(text), ElementsAre("Softmax -> p: the batch of q (b) and k (c) are not proven to be the same"));
}

TEST(FuseAttention, IgnoresOtherSoftmaxes) {
  EXPECT_THAT(refusals("agraph (float[b, 4] x) => (float[b, 4] y) { y = Softmax<axis = -1>(x) }"), IsEmpty());
}

}  // namespace
