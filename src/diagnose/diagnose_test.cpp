// The steps of diagnose() on small profiles. SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose.h"

#include <set>

#include "diagnose/diagnose_test_support.h"

namespace hone::diagnose {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kTwo = "agraph (float[10,100] x) => (float[10,100] y) <" + weight("w", {100, 100}) + R"(> {
  [mm] m = MatMul(x, w)
  [act] y = Relu(m)
})";

TEST(Diagnose, TimesCostsAndClassesOfASmallModel) {
  const Diagnosis d = diagnosed(kTwo, {{"mm", "MatMul", 80}, {"act", "Relu", 10}}, 100);
  EXPECT_DOUBLE_EQ(d.latency_ms, 0.1);
  EXPECT_DOUBLE_EQ(d.kernel_ms, 0.09);
  EXPECT_NEAR(d.outside_ms, 0.01, 1e-12);
  EXPECT_EQ(d.inferences, 4);
  EXPECT_EQ(d.mapped_share, 1);
  EXPECT_EQ(d.flops, 2 * 10 * 100 * 100 + 1000);
  EXPECT_EQ(d.weight_bytes, 40000);
  ASSERT_EQ(d.operators.size(), 2u);
  EXPECT_EQ(d.operators[0].node, "mm");
  EXPECT_EQ(d.operators[0].klass, "MatMul");
  EXPECT_DOUBLE_EQ(d.operators[0].share, 0.8);
  EXPECT_NEAR(d.operators[0].roof_ms, 0.0048, 1e-9);  // 48 kB at 10 GB/s
  EXPECT_NEAR(d.operators[0].efficiency, 0.06, 1e-9);
  ASSERT_EQ(d.classes.size(), 2u);
  EXPECT_EQ(d.classes[0].name, "MatMul");
  EXPECT_DOUBLE_EQ(d.classes[1].share, 0.1);
}

TEST(Diagnose, ALatencyMeasuredWithoutTheProfilerIsTheWhole) {
  Conditions conditions;
  conditions.latency_ms = 0.095;
  const Diagnosis d = diagnosed(kTwo, {{"mm", "MatMul", 80}, {"act", "Relu", 10}}, 200, conditions);
  EXPECT_DOUBLE_EQ(d.latency_ms, 0.095);
  EXPECT_DOUBLE_EQ(d.profiled_ms, 0.2);
  EXPECT_NEAR(d.outside_ms, 0.005, 1e-12);
  EXPECT_THAT(d.notes, Contains(HasSubstr("2.11 times as long")));
}

TEST(Diagnose, KernelsLongerThanTheLatencyAreScaledSoThatSharesStayShares) {
  Conditions conditions;
  conditions.latency_ms = 0.045;
  const Diagnosis d = diagnosed(kTwo, {{"mm", "MatMul", 80}, {"act", "Relu", 10}}, 100, conditions);
  EXPECT_DOUBLE_EQ(d.kernel_ms, 0.045);
  EXPECT_DOUBLE_EQ(d.outside_ms, 0);
  EXPECT_NEAR(d.operators[0].ms, 0.04, 1e-12);
  EXPECT_NEAR(d.operators[0].share + d.operators[1].share, 1, 1e-12);
}

TEST(Diagnose, WhatRecordingCostsIsTakenFromTheParentsOfNestedKernels) {
  // Three events a run, 60 us more with the profiler: 20 us each. The If contains two, so 40 of its 50 us are
  // recording.
  profile::Profile p;
  auto kernel = [&](const char* type, int64_t start, int64_t duration, int32_t step) {
    profile::Kernel k;
    k.start_ns = (start + 1000 * step) * 1000, k.duration_ns = duration * 1000, k.step = step;
    k.name = k.node = k.type = p.strings.intern(type);
    p.kernels.push_back(k);
  };
  for (int32_t step = 0; step < 9; ++step) {
    p.steps.push_back({step * 1'000'000, 160'000, 0, 0, step});
    kernel("If", 0, 110, step);
    kernel("Relu", 10, 30, step);
    kernel("Tanh", 60, 30, step);
  }
  mark_nested(p);
  const model::Model model = text_model(kTwo);
  Conditions conditions;
  conditions.latency_ms = 0.1;
  const Diagnosis d = diagnose(p, model.graph(), round_machine(), conditions).value();
  EXPECT_EQ(d.operators[2].type, "If");
  EXPECT_NEAR(d.operators[2].ms, 0.010, 1e-9);
  EXPECT_NEAR(d.kernel_ms, 0.070, 1e-9);
  EXPECT_NEAR(d.outside_ms, 0.030, 1e-9);
}

TEST(Diagnose, KernelsSideBySideAddUpToTheTimeSomethingRan) {
  profile::Profile p = profile_of({{"mm", "MatMul", 80}, {"act", "Relu", 80}}, 100);
  for (profile::Kernel& k : p.kernels) {
    k.start_ns = p.steps[k.step].start_ns;
    k.stream = p.text(k.type) == "Relu" ? 1 : 0;
  }
  mark_nested(p);
  const model::Model model = text_model(kTwo);
  const Diagnosis d = diagnose(p, model.graph(), round_machine(), {}).value();
  EXPECT_DOUBLE_EQ(d.kernel_ms, 0.08);
  EXPECT_DOUBLE_EQ(d.operators[0].ms, 0.04);
}

TEST(Diagnose, SaysWhatItDoesNotKnow) {
  const Diagnosis d = diagnosed(kTwo, {{"mm", "MatMul", 40}, {"reorder", "ReorderInput", 30}, {"x", "MyOp", 20}}, 100);
  EXPECT_NEAR(d.mapped_share, 4.0 / 9, 1e-9);
  EXPECT_THAT(d.notes, Contains(HasSubstr("55.6 % of the kernel time is in kernels the engine made itself")));
  EXPECT_THAT(d.notes, Contains(HasSubstr("FLOPs and bytes are not known for 55.6 %")));
  EXPECT_THAT(d.notes, Contains(HasSubstr("only 4 inferences")));
}

TEST(Diagnose, AProfileWithoutKernelsIsRefused) {
  const model::Model model = text_model(kTwo);
  EXPECT_FALSE(diagnose(profile::Profile(), model.graph(), round_machine(), {}));
}

TEST(Diagnose, FindingsComeByPriorityThenByWhatTheyCanGain) {
  const Diagnosis d = diagnosed(kTwo, {{"mm", "MatMul", 60}, {"a", "Transpose", 10}, {"act", "Relu", 10}}, 100);
  ASSERT_GE(d.findings.size(), 3u);
  for (size_t i = 1; i < d.findings.size(); ++i) {
    EXPECT_LE(d.findings[i - 1].priority, d.findings[i].priority);
    if (d.findings[i - 1].priority == d.findings[i].priority) {
      EXPECT_GE(d.findings[i - 1].upper_bound, d.findings[i].upper_bound);
    }
  }
  for (const Finding& f : d.findings) {
    EXPECT_FALSE(f.title.empty()) << f.id;
    EXPECT_FALSE(f.evidence.empty()) << f.id;
    EXPECT_FALSE(f.direction.empty()) << f.id;
    EXPECT_GE(f.upper_bound, 1) << f.id;
  }
}

TEST(Findings, EveryFileIsInTheList) {
  std::set<std::string> listed, found;
  for (const FindingInfo& info : all_findings()) listed.emplace(info.id);
  for (const auto& entry : fs::directory_iterator(fs::path(HONE_TEST_DATA) / "../../src/diagnose/finding")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".cpp" && !stem.ends_with("_test")) found.insert(stem);
  }
  EXPECT_EQ(listed, found);
}

}  // namespace
}  // namespace hone::diagnose
