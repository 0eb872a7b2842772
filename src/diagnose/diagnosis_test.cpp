// The JSON form of a Diagnosis. SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnosis.h"

#include <gtest/gtest.h>

namespace hone::diagnose {
namespace {

Diagnosis example() {
  Diagnosis d;
  d.latency_ms = 5.5, d.kernel_ms = 5, d.outside_ms = 0.5, d.profiled_ms = 6, d.inferences = 24, d.mapped_share = 0.9;
  d.flops = 1e9, d.bytes = 2e6, d.weight_bytes = 1e6, d.roof_ms = 3;
  d.classes = {{"Conv", 4, 0.73, 9e8, 1e6}, {"Other", 1, 0.18, 0, 1e6}};
  d.operators = {{"conv.0", "Conv", "Conv", 4, 0.73, 9e8, 1e6, 5e5, 3, 0.75, "1x3x8x8,4x3x3x3"}};
  d.findings = {{"conv_float", "title", Priority::kP1, "evidence", "direction", 0.73, 1.8, {"conv.0"}}};
  d.notes = {"a note"};
  d.machine.cpu = "cpu";
  return d;
}

TEST(Diagnosis, SurvivesJson) {
  const Json json = example().to_json();
  const Diagnosis back = Diagnosis::from_json(parse_json(dump_json(json), "").value()).value();
  EXPECT_EQ(dump_json(back.to_json()), dump_json(json));
  EXPECT_EQ(back.findings.at(0).priority, Priority::kP1);
}

TEST(Diagnosis, ADocumentWithAFieldMissingOrWrongIsAnErrorThatNamesIt) {
  Json json = example().to_json();
  json["operators"][0].erase("roof_ms");
  EXPECT_NE(Diagnosis::from_json(json).error().line().find("roof_ms"), std::string::npos);
  json = example().to_json();
  json["findings"][0]["priority"] = "P9";
  EXPECT_NE(Diagnosis::from_json(json).error().line().find("P9"), std::string::npos);
}

TEST(Diagnosis, FindsAFindingById) {
  const Diagnosis d = example();
  ASSERT_NE(d.find("conv_float"), nullptr);
  EXPECT_EQ(d.find("conv_float")->title, "title");
  EXPECT_EQ(d.find("none"), nullptr);
}

}  // namespace
}  // namespace hone::diagnose
