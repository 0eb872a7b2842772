// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "engine/engine.h"
#include "report/load_snippet.h"
#include "report/sentences.h"

namespace hone::report {
namespace {

using testing::HasSubstr;
using testing::Not;

measure::Comparison comparison(double estimate, double b_ms) {
  measure::Comparison c;
  c.speedup = {estimate, estimate * 0.97, estimate * 1.03};
  c.a_ms = b_ms * estimate;
  c.b_ms = b_ms;
  c.outcome = measure::Outcome::kFaster;
  return c;
}

// A finished Run: a baseline, one kept change, one rolled back, the final measurement.
run::Record finished_run() {
  run::Record record;
  record.plan.model = "/models/a<b>.onnx";
  record.model_sha256 = std::string(64, 'a');
  record.data_source = "samples/ (3 .npz files)";
  record.progress = run::Progress::kFinished;
  record.protocol = protocol::Protocol{};
  record.protocol->shapes["x"] = {1, 4};
  record.environment["device"] = "Test CPU";
  run::Trial baseline;
  baseline.stage = run::Stage::kBaseline;
  baseline.state = run::State::kJudged;
  baseline.configuration = {"onnxruntime", "/models/a<b>.onnx", {}};
  baseline.measurement = measure::Measurement{};
  baseline.measurement->execute_ms.median = 3;
  baseline.vs_original = measure::Interval{1, 1, 1};
  record.trials.push_back(baseline);
  run::Trial kept;
  kept.number = 1;
  kept.parent = 0;
  kept.state = run::State::kJudged;
  kept.proposal.change = "fuse-graph";
  kept.proposal.hypothesis = "</script><b>";
  kept.configuration = {"onnxruntime", "step3_patches/patch_001_fuse-graph/model.onnx", {{"intra_op_threads", "1"}}};
  kept.accuracy = accuracy::Report{};
  kept.accuracy->level = "numeric";
  kept.comparison = comparison(1.5, 2);
  kept.vs_original = measure::Interval{1.5, 1.45, 1.55};
  kept.verdict = verdict::Verdict{verdict::Kind::kKept, "1.50 x faster", false};
  kept.dir = "step3_patches/patch_001_fuse-graph";
  record.trials.push_back(kept);
  run::Trial lost = kept;
  lost.number = 2;
  lost.parent = 1;
  lost.proposal.change = "threads";
  lost.comparison = comparison(0.8, 2.5);
  lost.verdict = verdict::Verdict{verdict::Kind::kRolledBack, "0.80 x: slower", false};
  record.trials.push_back(lost);
  record.stops = {{"exhausted", "no open change"}};
  return record;
}

TEST(FinalReport, TellsWhatWasKeptWhatWasNotAndWhy) {
  const std::string text = all_writers()[0].write(finished_run());
  EXPECT_THAT(text, HasSubstr("Changes that were kept"));
  EXPECT_THAT(text, HasSubstr("fuse-graph"));
  EXPECT_THAT(text, HasSubstr("rolled back: 0.80 x: slower"));
  EXPECT_THAT(text, HasSubstr("Stopped because of exhausted: no open change."));
}

TEST(HtmlReport, IsSelfContainedAndEscapesWhatItShows) {
  const std::string page = all_writers()[1].write(finished_run());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("a&lt;b&gt;.onnx"));
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(page, HasSubstr("echarts"));
}

TEST(Reports, AreWrittenWholeIntoTheRunFolder) {
  const auto folder = ScratchFolder::create("hone-report-test");
  ASSERT_TRUE(folder);
  run::Record record = finished_run();
  record.folder = folder->path();
  const auto files = write_reports(record);
  ASSERT_TRUE(files) << files.error().line();
  for (const fs::path& file : *files) EXPECT_GT(fs::file_size(file), 40u) << file;
}

TEST(Reports, AddTheirSumsToBestAndLeaveThoseOfWhatWasPublished) {
  const auto folder = ScratchFolder::create("hone-report-test");
  ASSERT_TRUE(folder);
  run::Record record = finished_run();
  record.folder = folder->path();
  const fs::path best = record.folder / "best";
  ASSERT_TRUE(make_directories(best));
  const std::string published(64, 'a');
  ASSERT_TRUE(write_file(best / "model.onnx", "changed since"));
  ASSERT_TRUE(write_file(best / "sha256sums", published + "  model.onnx\n"));
  ASSERT_TRUE(write_reports(record));
  ASSERT_TRUE(write_reports(record));
  const std::string sums = read_file(best / "sha256sums").value();
  EXPECT_THAT(sums, HasSubstr(published + "  model.onnx\n")) << "a report does not vouch for the model";
  EXPECT_THAT(sums, HasSubstr(sha256_of_file(best / "load.py").value() + "  load.py\n"));
  EXPECT_EQ(std::count(sums.begin(), sums.end(), '\n'), 4) << sums;
}

TEST(Reports, OfAnUnfinishedRunSayWhatIsMissing) {
  run::Record record;
  record.plan.model = "m.onnx";
  EXPECT_THAT(all_writers()[0].write(record), HasSubstr("the run has no final measurement yet"));
  EXPECT_THAT(all_writers()[1].write(record), HasSubstr("no gain beyond noise"));
}

TEST(Snippets, SetWhatTheRunSet) {
  const run::Record record = finished_run();
  EXPECT_THAT(python_snippet(record), HasSubstr("options.intra_op_num_threads = 1"));
  EXPECT_THAT(cpp_snippet(record), HasSubstr("options.SetIntraOpNumThreads(1);"));
  EXPECT_THAT(cpp_snippet(record), HasSubstr("{\"x\", {1, 4}}"));
}

TEST(Snippets, OfOpenVinoReshapeAndFixThePrecision) {
  run::Record record = finished_run();
  record.trials[1].configuration = {"openvino", "m.onnx", {{"shape.x", "1x4"}, {"inference_precision", "bf16"}}};
  EXPECT_THAT(python_snippet(record), HasSubstr("model.reshape({\"x\": [1, 4]})"));
  EXPECT_THAT(python_snippet(record), HasSubstr("config[\"INFERENCE_PRECISION_HINT\"] = \"bf16\""));
  EXPECT_THAT(cpp_snippet(record), HasSubstr("ov::PartialShape{1, 4}"));
}

// A setting without code would be lost by whoever follows the snippet.
TEST(Snippets, KnowEverySettingOfBothEngines) {
  for (const engine::Engine* engine : engine::all_engines()) {
    if (engine->id() != "onnxruntime" && engine->id() != "openvino") continue;
    for (const engine::SettingInfo& info : engine->settings()) {
      if (info.id.starts_with("shape.") || info.id == "static_shapes") continue;  // model.reshape
      const std::string id = info.id.ends_with(".*") ? info.id.substr(0, info.id.size() - 1) + "name" : info.id;
      const std::string value = info.type == "bool" ? "on" : !info.choices.empty() ? info.choices[0] : "1";
      EXPECT_TRUE(engine->id() == "openvino" ? openvino_setting_code(id, value) : onnxruntime_setting_code(id, value))
          << engine->id() << " " << id;
    }
  }
}

// What a model or a settings file says must stay data in the code that is made from it.
constexpr const char* kHostile = "a\"}); system(\"id\"); //\n\\\"\"\"";

TEST(Snippets, TakeHostileNamesAsNames) {
  run::Record record = finished_run();
  record.protocol->shapes = {{kHostile, {1, 4}}};
  record.trials[1].configuration = {
      "openvino",
      "m.onnx",
      {{std::string("shape.") + kHostile, "1x4"}, {std::string("property.") + kHostile, kHostile}}};
  const std::string name = literal(kHostile);
  EXPECT_THAT(name, Not(HasSubstr("\n")));
  EXPECT_THAT(cpp_snippet(record), HasSubstr("{" + name + ", {1, 4}}"));
  EXPECT_THAT(cpp_snippet(record), HasSubstr("{" + name + ", ov::PartialShape{1, 4}}"));
  EXPECT_THAT(python_snippet(record), HasSubstr("model.reshape({" + name + ": [1, 4]})"));
  EXPECT_THAT(python_snippet(record), HasSubstr("config[" + name + "] = " + name));
  for (const std::string& code : {cpp_snippet(record), python_snippet(record)})
    EXPECT_THAT(code, Not(HasSubstr(kHostile))) << "unescaped";
}

TEST(Snippets, PutOnlyNumbersOutsideOfQuotes) {
  for (const char* id : {"intra_op_threads", "inter_op_threads", "free_dimension.batch"}) {
    EXPECT_TRUE(onnxruntime_setting_code(id, "4")) << id;
    EXPECT_FALSE(onnxruntime_setting_code(id, "4); system(\"id\"")) << id;
  }
  run::Record record = finished_run();
  record.trials[1].configuration = {"openvino", "m.onnx", {{"shape.x", "1x4}); system(\"id\"); //"}}};
  EXPECT_THAT(cpp_snippet(record), Not(HasSubstr("system")));
  EXPECT_EQ(environment_prefix({{"process.malloc_arena_max", "1\nrm -rf x"}}), "");
}

TEST(Snippets, OfOpenVinoKnowDynamicDimsAndScalars) {
  run::Record record = finished_run();
  record.trials[1].configuration = {"openvino", "m.onnx", {{"shape.s", "scalar"}, {"shape.x", "?x4x-1"}}};
  EXPECT_THAT(python_snippet(record), HasSubstr("model.reshape({\"s\": [], \"x\": [-1, 4, -1]})"));
  EXPECT_THAT(cpp_snippet(record), HasSubstr("{\"s\", ov::PartialShape{}}, {\"x\", ov::PartialShape{-1, 4, -1}}"));
  record.trials[1].configuration.settings["static_shapes"] = "off";
  EXPECT_THAT(python_snippet(record), Not(HasSubstr("reshape")));
  EXPECT_THAT(cpp_snippet(record), Not(HasSubstr("reshape")));
}

TEST(Snippets, GiveOpenVinoTheDefaultsThatHoneGivesIt) {
  run::Record record = finished_run();
  record.trials[1].configuration = {"openvino", "m.onnx", {}};
  for (const char* line :
       {"config[\"INFERENCE_PRECISION_HINT\"] = \"f32\"", "config[\"DYNAMIC_QUANTIZATION_GROUP_SIZE\"] = \"0\"",
        "config[\"KV_CACHE_PRECISION\"] = \"f32\"", "config[\"PERFORMANCE_HINT\"] = \"LATENCY\""})
    EXPECT_THAT(python_snippet(record), HasSubstr(line));
}

TEST(Snippets, LoadTheModelByTheNameItHasInBest) {
  run::Record record = finished_run();
  record.trials[1].configuration.model = "step3_patches/x/model.ort";
  EXPECT_THAT(python_snippet(record), HasSubstr("/ \"model.ort\""));
  EXPECT_THAT(cpp_snippet(record), HasSubstr("\"/\" + \"model.ort\""));
  record.trials[1].configuration.model = "model.o\"n";
  EXPECT_THAT(python_snippet(record), HasSubstr("/ \"model.o\\\"n\""));
}

TEST(EnvironmentPrefix, IsForHugePages) {
  EXPECT_EQ(environment_prefix({{"process.huge_pages", "on"}}), "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ");
  EXPECT_EQ(environment_prefix({{"intra_op_threads", "1"}}), "");
}

}  // namespace
}  // namespace hone::report
