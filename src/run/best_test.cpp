// best/reproduce.sh: names and texts of others must stay data.
// SPDX-License-Identifier: Apache-2.0
#include "run/best.h"

#include <gtest/gtest.h>

#include "base/process.h"
#include "run/layout.h"

namespace hone::run {
namespace {

Record record_with(const fs::path& folder, const std::string& model, const std::string& summary) {
  Record r;
  r.folder = folder;
  r.plan.model = model;
  r.plan.seed = 7;
  Trial baseline;
  baseline.stage = Stage::kBaseline;
  baseline.dir = "step1_profile/baseline";
  baseline.configuration.model = model;
  Trial kept;
  kept.number = 1;
  kept.parent = 0;
  kept.proposal.change = "fuse-gelu";
  kept.summary = summary;
  kept.configuration.model = "step3_patches/x/model.onnx";
  kept.verdict = verdict::Verdict{verdict::Kind::kKept, "1.2 x", false};
  r.trials = {baseline, kept};
  return r;
}

// Runs best/reproduce.sh with a `hone` that prints its arguments in brackets.
std::string arguments_of(const fs::path& folder) {
  EXPECT_TRUE(write_file(folder / "bin" / "hone", "#!/bin/sh\nprintf '[%s]' \"$@\"\n"));
  fs::permissions(folder / "bin" / "hone", fs::perms(0755));
  Command command;
  command.argv = {(folder / kBest / "reproduce.sh").string()};
  command.env["PATH"] = (folder / "bin").string() + ":/usr/bin:/bin";
  const auto run = run_process(command, std::chrono::seconds(20));
  EXPECT_TRUE(run && run->exit.ok()) << (run ? run->output : run.error().line());
  return run ? run->output : "";
}

TEST(Best, TheWayBackRunsNothingButHone) {
  const ScratchFolder scratch = ScratchFolder::create("hone-best").value();
  ASSERT_TRUE(make_directories(scratch.path() / "bin"));
  const std::string model = "/it's\n$(touch owned)/`touch owned` m.onnx";
  const Record record = record_with(scratch.path(), model, "done\ntouch owned\r\ntouch owned");
  ASSERT_TRUE(publish_best(record, [](const fs::path& to) { return write_file(to, "model"); }));
  EXPECT_EQ(arguments_of(scratch.path()),
            "[bench][" + model +
                "][--config][../step1_profile/baseline/settings.json][--vs][model.onnx][--vs-config][settings.json]"
                "[--data][../data][--seed][7]");
  EXPECT_FALSE(fs::exists(scratch.path() / kBest / "owned"));
  const std::string script = read_file(scratch.path() / kBest / "reproduce.sh").value();
  EXPECT_NE(script.find("# kept: trial 1 fuse-gelu: done touch owned  touch owned\n"), std::string::npos) << script;
}

TEST(Best, TheModelsExtensionIsDataToo) {
  const ScratchFolder scratch = ScratchFolder::create("hone-best").value();
  ASSERT_TRUE(make_directories(scratch.path() / "bin"));
  Record record = record_with(scratch.path(), "/m.o'x", "");
  record.trials[1].configuration.model = "m.o'x";
  ASSERT_TRUE(publish_best(record, [](const fs::path& to) { return write_file(to, "model"); }));
  EXPECT_NE(arguments_of(scratch.path()).find("[--vs][model.o'x]"), std::string::npos);
}

}  // namespace
}  // namespace hone::run
