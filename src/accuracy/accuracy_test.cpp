// SPDX-License-Identifier: Apache-2.0
#include "accuracy/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "accuracy/classes.h"
#include "accuracy/quality.h"
#include "protocol/data.h"

namespace hone::accuracy {
namespace {

using model::DType;
using model::NamedTensors;
using model::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Metrics compared(const Tensor& reference, const Tensor& tried, const std::string& name = "y") {
  const auto metrics = compare_outputs({{name, reference}}, {{name, tried}});
  EXPECT_EQ(metrics.size(), 1u);
  return metrics.front();
}
Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}
Report judged(const Metrics& metrics, Class accuracy_class, const Gate& gate = {}) {
  return judge({metrics}, gate, accuracy_class, 1, false);
}

TEST(Metrics, AreThoseOfTheTextbook) {
  const Metrics m = compared(floats({3, 0, -4}), floats({3, 0.5, -3}));
  EXPECT_DOUBLE_EQ(m.max_abs, 1);
  EXPECT_DOUBLE_EQ(m.mean_abs, 0.5);
  EXPECT_DOUBLE_EQ(m.rmse, std::sqrt(1.25 / 3));
  EXPECT_DOUBLE_EQ(m.cosine, 21 / (5 * std::sqrt(18.25)));
  EXPECT_DOUBLE_EQ(m.snr_db, 10 * std::log10(25 / 1.25));
  EXPECT_DOUBLE_EQ(m.relative_max, 0.25);
  EXPECT_FALSE(m.bitwise);
  EXPECT_EQ(m.elements, 3);
}

TEST(Metrics, EqualOutputsAreBitwiseEqualWithInfiniteSnr) {
  const Metrics m = compared(floats({1, -2, 0}), floats({1, -2, 0}));
  EXPECT_TRUE(m.bitwise);
  EXPECT_EQ(m.cosine, 1);
  EXPECT_EQ(m.relative_max, 0);
  EXPECT_TRUE(std::isinf(m.snr_db) && m.snr_db > 0);
  EXPECT_FALSE(compared(floats({0.0f}), floats({-0.0f})).bitwise);
}

TEST(Metrics, AgreeWithAPlainLoopForEverySizeAroundABlock) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const size_t size : {1u, 3u, 4u, 5u, 1023u, 1024u, 1025u, 4099u}) {
    std::vector<float> r(size), t(size);
    double abs = 0, rt = 0, rr = 0, tt = 0, largest = 0;
    for (size_t i = 0; i < size; ++i) {
      r[i] = normal(random), t[i] = r[i] + 0.1f * normal(random);
      const double d = std::fabs(static_cast<double>(r[i]) - t[i]);
      abs += d, largest = std::max(largest, d);
      rt += static_cast<double>(r[i]) * t[i], rr += static_cast<double>(r[i]) * r[i],
          tt += static_cast<double>(t[i]) * t[i];
    }
    const Metrics m = compared(floats(r), floats(t));
    EXPECT_NEAR(m.mean_abs, abs / static_cast<double>(size), 1e-12) << size;
    EXPECT_NEAR(m.cosine, rt / std::sqrt(rr * tt), 1e-12) << size;
    EXPECT_EQ(m.max_abs, largest) << size;
    EXPECT_EQ(m.elements, static_cast<int64_t>(size));
  }
}

TEST(Metrics, NanEqualsNanAndInfEqualsInfOfItsSign) {
  const Metrics same = compared(floats({kNan, kInf, -kInf, 1}), floats({kNan, kInf, -kInf, 1}));
  EXPECT_EQ(same.nan_mismatch, 0);
  EXPECT_EQ(same.reference_nan, 3);
  EXPECT_EQ(same.max_abs, 0);
  EXPECT_TRUE(judged(same, Class::kExact).passed);
  EXPECT_THAT(judged(same, Class::kExact).notes,
              ElementsAre(HasSubstr("reference output 'y' has NaN or Inf in 3 of 4")));

  const Metrics other = compared(floats({kNan, kInf, 1, 2}), floats({1, -kInf, kNan, 2}));
  EXPECT_EQ(other.nan_mismatch, 3);
  EXPECT_EQ(other.max_abs, 0) << "the rest is equal";
  EXPECT_FALSE(judged(other, Class::kLossy).passed);
  EXPECT_THAT(judged(other, Class::kLossy).why,
              HasSubstr("output 'y': 3 of 4 elements are NaN or Inf on one side only"));
}

TEST(Metrics, ZeroReferenceIsWithinTheGateOnlyWhenTheOtherIsZeroToo) {
  EXPECT_TRUE(judged(compared(floats({0, 0}), floats({0, 0})), Class::kExact).passed);
  const Metrics m = compared(floats({0, 0}), floats({0, 1e-6f}));
  EXPECT_TRUE(std::isinf(m.relative_max));
  EXPECT_EQ(m.cosine, 0);
  EXPECT_FALSE(judged(m, Class::kLossy).passed);
}

TEST(Metrics, NumbersNearTheEndsOfDoubleKeepTheirCosine) {
  for (const double scale : {1e200, 1e-200, 1e-320}) {
    const Metrics m =
        compared(Tensor::of<double>({2}, {3 * scale, 4 * scale}), Tensor::of<double>({2}, {-3 * scale, 4 * scale}));
    EXPECT_NEAR(m.cosine, 7.0 / 25, 1e-3) << scale;
    EXPECT_NEAR(m.relative_max, 6.0 / 4, 1e-3) << scale;
    EXPECT_NEAR(m.max_abs / scale, 6, 1e-2) << scale;
  }
}

TEST(Metrics, EveryNumericDtypeIsRead) {
  for (const DType dtype :
       {DType::kFloat, DType::kDouble, DType::kFloat16, DType::kBfloat16, DType::kInt8, DType::kUint8, DType::kInt16,
        DType::kUint16, DType::kInt32, DType::kUint32, DType::kInt64, DType::kUint64}) {
    const auto a = Tensor::from_doubles(dtype, {4}, std::vector<double>{1, 2, 4, 8}),
               b = Tensor::from_doubles(dtype, {4}, std::vector<double>{1, 2, 4, 7});
    ASSERT_TRUE(a && b) << model::dtype_name(dtype);
    const Metrics m = compared(*a, *b);
    EXPECT_EQ(m.max_abs, 1) << model::dtype_name(dtype);
    EXPECT_EQ(m.relative_max, 1.0 / 8) << model::dtype_name(dtype);
    EXPECT_EQ(m.equal_share.has_value(), model::is_integer(dtype)) << model::dtype_name(dtype);
  }
  const auto bytes = [](std::vector<uint8_t> codes) {
    auto owner = std::make_shared<std::vector<uint8_t>>(std::move(codes));
    return Tensor(DType::kFloat8E4M3FN, {4}, std::as_bytes(std::span(*owner)), owner);
  };
  EXPECT_EQ(compared(bytes({0x38, 0x40, 0x48, 0x50}), bytes({0x38, 0x40, 0x48, 0x4e})).max_abs, 1) << "1 2 4 8 and 7";
  const Metrics flags =
      compared(Tensor::of<bool>({4}, {true, false, true, true}), Tensor::of<bool>({4}, {true, true, true, true}));
  EXPECT_EQ(flags.equal_share, 0.75);
}

TEST(Metrics, SubnormalAndInfiniteFloat16AreRight) {
  const std::vector<double> values = {0x1p-24, 0x1p-14, 65504, -65504};
  const auto half = Tensor::from_doubles(DType::kFloat16, {4}, values).value();
  const auto same = Tensor::from_doubles(DType::kFloat, {4}, values).value();
  EXPECT_EQ(half.to_doubles().value(), values);
  const Metrics m =
      compared(half, Tensor::from_doubles(DType::kFloat16, {4}, std::vector<double>{0, 0x1p-14, 65504, 65504}).value());
  EXPECT_EQ(m.max_abs, 2 * 65504.0);
  EXPECT_EQ(m.mean_abs, (0x1p-24 + 2 * 65504.0) / 4);
}

TEST(Metrics, StringsAreComparedAsDecisions) {
  const Metrics m = compared(Tensor({4}, {"a", "b", "c", "d"}), Tensor({4}, {"a", "x", "c", "d"}));
  EXPECT_EQ(m.equal_share, 0.75);
  EXPECT_FALSE(judged(m, Class::kExact).passed);
  EXPECT_TRUE(judged(compared(Tensor({1}, {"a"}), Tensor({1}, {"a"})), Class::kExact).passed);
}

TEST(Metrics, ShapeDtypeAndMissingOutputsAreProblems) {
  EXPECT_EQ(compared(floats({1, 2}), floats({1})).problem, "is float32[1], the reference is float32[2]");
  EXPECT_THAT(compared(floats({1}), Tensor::of<double>({1}, {1})).problem, HasSubstr("is float64[1]"));
  const auto missing = compare_outputs({{"y", floats({1})}}, {});
  EXPECT_EQ(missing[0].problem, "the output is missing");
  EXPECT_EQ(judged(missing[0], Class::kLossy).why, "output 'y': the output is missing");
  EXPECT_TRUE(judged(compared(floats({}), floats({})), Class::kExact).passed);
}

TEST(Merge, TakesTheWorstOfEachNumberAndWeighsShares) {
  auto worst = compare_outputs({{"p", Tensor::of<float>({1, 2}, {0.9f, 0.1f})}},
                               {{"p", Tensor::of<float>({1, 2}, {0.1f, 0.9f})}});
  merge(worst, compare_outputs({{"p", Tensor::of<float>({3, 2}, {0.9f, 0.1f, 0.9f, 0.1f, 0.9f, 0.1f})}},
                               {{"p", Tensor::of<float>({3, 2}, {0.9f, 0.1f, 0.9f, 0.1f, 0.9f, 0.1f})}}));
  ASSERT_EQ(worst.size(), 1u);
  EXPECT_EQ(worst[0].topk_match, 0.75);
  EXPECT_EQ(worst[0].elements, 8);
  EXPECT_NEAR(worst[0].max_abs, 0.8, 1e-6);
  EXPECT_FALSE(worst[0].bitwise);
}

TEST(Classes, AreTheRowsThatLookLikeScores) {
  EXPECT_TRUE(has_classes("out", Tensor::of<float>({1, 2, 2}, {0.5, 0.5, 0.25, 0.75}))) << "probabilities";
  EXPECT_TRUE(has_classes("out", Tensor::of<float>({2, 3}, {5, 1, -3, 2, 2, 9}))) << "rank 2";
  EXPECT_TRUE(has_classes("logits", Tensor::of<float>({1, 2, 2}, {5, 1, -3, 2})));
  EXPECT_FALSE(has_classes("last_hidden_state", Tensor::of<float>({1, 2, 2}, {5, 1, -3, 2})));
  EXPECT_FALSE(has_classes("out", Tensor::of<float>({1, 1, 2, 2}, {5, 1, -3, 2}))) << "an image";
  EXPECT_FALSE(has_classes("out", Tensor::of<float>({1, 2}, {0.6f, 0.8f}))) << "a normalised embedding";
  EXPECT_FALSE(has_classes("pooler_output", Tensor::of<float>({1, 2}, {6, 8})));
  EXPECT_FALSE(has_classes("logits", Tensor::of<float>({2, 1}, {6, 8}))) << "one class";
  EXPECT_FALSE(has_classes("logits", Tensor::of<int64_t>({1, 2}, {6, 8})));
}

TEST(Classes, TiesCountAsAgreement) {
  const Agreement a = top1_agreement(Tensor::of<float>({3, 2}, {10, 9.995f, 10, 9, kNan, 1}),
                                     Tensor::of<float>({3, 2}, {1, 2, 1, 2, kNan, 1}));
  EXPECT_EQ(a.rows, 3);
  EXPECT_EQ(a.agreeing, 2);
}

TEST(Classes, TheBestClassIsFoundWhereverItIs) {
  for (size_t best = 0; best < 19; ++best) {
    std::vector<float> row(19, -5), other(19, -5);
    row[best] = -1, other[best] = -2, other[(best + 7) % 19] = kNan;
    const Agreement a = top1_agreement(Tensor::of<float>({1, 19}, row), Tensor::of<float>({1, 19}, other));
    EXPECT_EQ(a.agreeing, 1) << best;
    other[(best + 3) % 19] = 0;
    EXPECT_EQ(top1_agreement(Tensor::of<float>({1, 19}, row), Tensor::of<float>({1, 19}, other)).agreeing, 0) << best;
  }
}

TEST(Gate, DefaultsAreThoseOfTheProductByClass) {
  const auto off = [](float by) { return compared(floats({100, 1}), floats({100 + by, 1})); };
  for (const auto c : {Class::kExact, Class::kReassociating}) {
    EXPECT_TRUE(judged(off(0.099f), c).passed);
    EXPECT_FALSE(judged(off(0.11f), c).passed);
  }
  EXPECT_TRUE(judged(off(4.9f), Class::kLossy).passed);
  EXPECT_FALSE(judged(off(5.1f), Class::kLossy).passed);
  EXPECT_EQ(judged(off(5.1f), Class::kLossy).why,
            "output 'y': largest difference is 0.051 of the largest reference > 0.05");
  Metrics m = compared(floats({1}), floats({1}));
  m.cosine = 0.9989;
  EXPECT_THAT(judged(m, Class::kLossy).why, HasSubstr("cosine 0.9989 < 0.999"));
  m.cosine = 0.99998;
  EXPECT_FALSE(judged(m, Class::kReassociating).passed);
  m.cosine = 1, m.topk_match = 0.98, m.topk_rows = 100;
  EXPECT_THAT(judged(m, Class::kLossy).why, HasSubstr("top-1 agreement 0.98 < 0.99"));
  EXPECT_TRUE(judged(m, Class::kExact).passed) << "only lossy changes are held to it";
}

TEST(Gate, IntegerOutputsOfLossyChangesPassAsDecisions) {
  std::vector<int64_t> ids(200, 5), tried = ids;
  tried[3] = 30000;
  const Metrics m = compared(Tensor::of<int64_t>({200}, ids), Tensor::of<int64_t>({200}, tried));
  EXPECT_TRUE(judged(m, Class::kLossy).passed);
  EXPECT_FALSE(judged(m, Class::kReassociating).passed);
}

TEST(Gate, TheUsersThresholdsReplaceTheDefaults) {
  const Metrics m = compared(floats({100, 1}), floats({150, 1}));
  Gate gate;
  gate.max_abs = 60;
  EXPECT_TRUE(judged(m, Class::kExact, gate).passed);
  gate.max_abs = 40;
  EXPECT_EQ(judged(m, Class::kExact, gate).why, "output 'y': largest difference 50 > 40");
  gate.max_abs = 60, gate.min_cosine = 0.9999999;
  EXPECT_THAT(judged(m, Class::kExact, gate).why, HasSubstr("cosine"));
}

TEST(Gate, BitwiseMeansEveryByte) {
  Gate gate;
  gate.level = "bitwise";
  EXPECT_TRUE(judged(compared(floats({1}), floats({1})), Class::kExact, gate).passed);
  EXPECT_FALSE(judged(compared(floats({0.0f}), floats({-0.0f})), Class::kExact, gate).passed);
}

TEST(Gate, NoLevelForgivesANanOnOneSide) {
  for (const char* level : {"bitwise", "numeric", "quality"}) {
    Gate gate;
    gate.level = level;
    for (const auto accuracy_class : {Class::kExact, Class::kReassociating, Class::kLossy}) {
      const Report report = judged(compared(floats({1, 2}), floats({1, kNan})), accuracy_class, gate);
      EXPECT_FALSE(report.passed) << level;
      EXPECT_THAT(report.why, HasSubstr("1 of 2 elements are NaN or Inf on one side only")) << level;
    }
  }
}

TEST(Report, SurvivesJsonWithItsInfinities) {
  Report report =
      judge(compare_outputs({{"a", floats({1})}, {"b", floats({0})}, {"p", Tensor::of<float>({1, 2}, {1, 0})}},
                            {{"a", floats({1})}, {"b", floats({1})}, {"p", Tensor::of<float>({1, 2}, {1, 0})}}),
            {}, Class::kReassociating, 3, true);
  report.quality = 0.5;
  const Json json = report.to_json();
  EXPECT_TRUE(json["outputs"][0]["snr_db"].is_null());
  EXPECT_EQ(json["outputs"][0]["snr_db_reason"], "infinite: no difference");
  EXPECT_EQ(json["outputs"][1]["relative_max_reason"], "infinite: the reference is all zero");
  EXPECT_EQ(json["outputs"][0]["topk_match_reason"], "the output has no classes");
  EXPECT_EQ(json["outputs"][2]["topk_match"], 1.0);
  const auto read = Report::from_json(parse_json(dump_json(json), "test").value());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(read->to_json(), json);
  EXPECT_EQ(read->outputs[1].snr_db, -std::numeric_limits<double>::infinity());
  EXPECT_FALSE(Report::from_json(Json{{"level", "numeric"}}));
}

class Folders : public testing::Test {
 protected:
  fs::path put(const std::string& name, const std::vector<float>& samples) {
    std::vector<NamedTensors> out;
    for (const float v : samples) out.push_back({{"y", floats({v, 1})}});
    EXPECT_TRUE(protocol::write_samples(folder_.path() / name, out));
    return folder_.path() / name;
  }
  ScratchFolder folder_ = ScratchFolder::create("hone-accuracy").value();
};

TEST_F(Folders, AreComparedSampleBySampleAndTheWorstCounts) {
  const auto report = compare_folders(put("a", {1, 2, 3}), put("b", {1, 2.5, 3}), {}, Class::kExact, false);
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_FALSE(report->passed);
  EXPECT_EQ(report->samples, 3);
  EXPECT_EQ(report->outputs[0].max_abs, 0.5);
  const auto same = compare_folders(put("c", {1}), put("d", {1}), {}, Class::kExact, false);
  ASSERT_TRUE(same) << same.error().line();
  EXPECT_TRUE(same->passed);
}

TEST_F(Folders, OfDifferentSizeAreAnError) {
  const auto report = compare_folders(put("a", {1, 2}), put("b", {1}), {}, Class::kExact, false);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().line(), HasSubstr("1 samples of outputs, the reference has 2"));
}

TEST_F(Folders, QualityIsWhatTheUsersCommandSays) {
  Gate gate;
  gate.level = "quality";
  gate.quality_command = "echo counting; test \"$1\" = \"$HONE_OUTPUTS\" && ls \"$1\" | wc -l";
  const fs::path a = put("a", {1, 2}), b = put("b", {1, 9});
  const auto report = compare_folders(a, b, gate, Class::kLossy, false);
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_TRUE(report->passed) << report->why;
  EXPECT_EQ(report->quality, 2);
  gate.quality_reference = 3;
  EXPECT_EQ(compare_folders(a, b, gate, Class::kLossy, false).value().why,
            "quality 2 is worse than the reference's 3 by more than 1 %");
  gate.quality_lower_is_better = true;
  EXPECT_TRUE(compare_folders(a, b, gate, Class::kLossy, false).value().passed);
  gate.quality_reference = 1;  // an error rate that doubled
  EXPECT_FALSE(compare_folders(a, b, gate, Class::kLossy, false).value().passed);
  gate.quality_loss = 1;
  EXPECT_TRUE(compare_folders(a, b, gate, Class::kLossy, false).value().passed);
}

TEST(Quality, CommandsThatFailOrPrintNoNumberAreErrors) {
  EXPECT_THAT(run_quality_command("echo nope; exit 3", "/tmp").error().line(), HasSubstr("exit status 3"));
  EXPECT_THAT(run_quality_command("echo fine", "/tmp").error().line(), HasSubstr("last line is no number: 'fine'"));
  EXPECT_THAT(run_quality_command("true", "/tmp").error().line(), HasSubstr("no number: ''"));
  EXPECT_THAT(run_quality_command("echo nan", "/tmp").error().line(), HasSubstr("no number"));
  EXPECT_EQ(run_quality_command("echo; echo ' 0.75 '; echo", "/tmp").value(), 0.75);
  EXPECT_EQ(run_quality_command("sleep 10", "/tmp", std::chrono::milliseconds(50)).error().kind, ErrorKind::kTimedOut);
}

}  // namespace
}  // namespace hone::accuracy
