// What the command line's words mean.
// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "cli/log.h"

namespace hone::cli {
namespace {

using testing::HasSubstr;

TEST(Shapes, AreReadByInput) {
  const auto shapes = parse_shapes({"x:1x3x224x224", "scope/y:0:7", "scalar:", "empty:0x4"});
  ASSERT_TRUE(shapes) << shapes.error().line();
  EXPECT_EQ(shapes->at("x"), (std::vector<int64_t>{1, 3, 224, 224}));
  EXPECT_EQ(shapes->at("scope/y:0"), std::vector<int64_t>{7}) << "a name may hold colons";
  EXPECT_EQ(shapes->at("scalar"), std::vector<int64_t>{});
  EXPECT_EQ(shapes->at("empty"), (std::vector<int64_t>{0, 4}));
}

TEST(Shapes, ThatAreNoneAreUsageErrorsThatShowTheForm) {
  for (const char* text : {"", "x", ":1x2", "x:1x", "x:x1", "x:1xx2", "x:-1x3", "x:1.5", "x:1X2", "x: 1", "x:1x?",
                           "x:99999999999999999999"}) {
    const auto shapes = parse_shapes({text});
    ASSERT_FALSE(shapes) << text;
    EXPECT_EQ(shapes.error().kind, ErrorKind::kUsage) << text;
    EXPECT_THAT(shapes.error().line(), HasSubstr("name:1x3x224x224")) << text;
  }
  EXPECT_THAT(parse_shapes({"x:1", "x:2"}).error().line(), HasSubstr("names an input twice"));
}

TEST(Settings, AreIdAndValueAndTheLastOneCounts) {
  const auto settings = parse_settings({"a=1", "config.x=y=z", "empty=", "a=2"});
  ASSERT_TRUE(settings) << settings.error().line();
  EXPECT_EQ(*settings, (engine::Settings{{"a", "2"}, {"config.x", "y=z"}, {"empty", ""}}));
  for (const char* text : {"", "a", "=1"}) {
    ASSERT_FALSE(parse_settings({text})) << text;
    EXPECT_EQ(parse_settings({text}).error().kind, ErrorKind::kUsage);
  }
}

TEST(Duration, IsInSecondsWhateverItsUnit) {
  const std::pair<const char*, double> known[] = {{"5", 5},      {"90s", 90},    {"250ms", 0.25}, {"10m", 600},
                                                  {"2min", 120}, {"1.5h", 5400}, {"1e2", 100}};
  for (const auto& [text, seconds] : known) EXPECT_DOUBLE_EQ(parse_duration(text).value(), seconds) << text;
  for (const char* text : {"", "soon", "s", "0", "-5s", "5 m", "5d", "nan", "inf", "1e999", "10m5s"}) {
    const auto seconds = parse_duration(text);
    ASSERT_FALSE(seconds) << text;
    EXPECT_THAT(seconds.error().line(), HasSubstr("not a duration")) << text;
  }
}

TEST(CommandLine, IsQuotedForAShellAndKeepsNoSecret) {
  const char* argv[] = {"/usr/bin/hone", "optimize", "my model.onnx", "--quality-cmd", "score --token abc", "it's", ""};
  EXPECT_EQ(command_line_of(7, argv), "hone optimize 'my model.onnx' --quality-cmd 'score --token ***' 'it'\\''s' ''");
}

TEST(Commands, AllHaveASummaryAnExampleAndFlagsThatDeclare) {
  for (const Command& command : all_commands()) {
    CLI::App app;
    Global global;
    EXPECT_TRUE(command.declare(app, global)) << command.name;
    EXPECT_STRNE(command.summary, "");
    EXPECT_THAT(command.example, HasSubstr(std::string("hone ") + command.name));
  }
}

// Parses the flags of one command as main() does; the text of what CLI11 says, or "".
std::string parsed(const char* name, std::vector<std::string> words) {
  for (const Command& command : all_commands()) {
    if (std::string(command.name) != name) continue;
    CLI::App app;
    Global global;
    const Action action = command.declare(app, global);
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& e) {
      return e.what();
    }
  }
  return "";
}

TEST(Flags, ThatWouldBeIgnoredAreRefused) {
  EXPECT_EQ(parsed("bench", {"m.onnx", "--time", "1s"}), "");
  EXPECT_EQ(parsed("bench", {"m.onnx", "--vs", "n.onnx", "--budget", "5m"}), "");
  EXPECT_THAT(parsed("bench", {"m.onnx", "--budget", "5m"}), HasSubstr("--budget requires --vs"));
  for (const char* flag : {"--vs-engine", "--vs-set", "--vs-config"})
    EXPECT_THAT(parsed("bench", {"m.onnx", flag, "x"}), HasSubstr(std::string(flag) + " requires --vs"));
  EXPECT_THAT(parsed("bench", {"m.onnx", "--vs", "n.onnx", "--time", "1s"}), HasSubstr("--vs excludes --time"));
  EXPECT_THAT(parsed("bench", {"m.onnx", "--vs", "n.onnx", "--instances", "2"}),
              HasSubstr("--vs excludes --instances"));
  for (const char* flag : {"--engine", "--set", "--config"})
    EXPECT_THAT(parsed("align", {"m.onnx", "n.onnx", flag, "x"}), HasSubstr(flag));
  EXPECT_THAT(parsed("optimize", {"m.onnx", "--quality-lower-is-better"}), HasSubstr("requires --quality-cmd"));
  EXPECT_THAT(parsed("optimize", {"m.onnx", "--quality-loss", "0.1"}), HasSubstr("requires --quality-cmd"));
  EXPECT_EQ(parsed("optimize", {"m.onnx", "--quality-cmd", "c", "--quality-lower-is-better"}), "");
  EXPECT_THAT(parsed("doctor", {"--data", "d"}), HasSubstr("--data requires --model"));
}

TEST(Resume, TakesNoFlagThatItWouldIgnore) {
  for (const Command& command : all_commands()) {
    if (std::string(command.name) != "optimize") continue;
    for (std::vector<std::string> more : {std::vector<std::string>{"--dry-run"}, {"m.onnx"}, {"--budget", "5m"}}) {
      CLI::App app;
      Global global;
      const Action action = command.declare(app, global);
      std::vector<std::string> words = {"--resume", "no-such-run"};
      words.insert(words.end(), more.begin(), more.end());
      std::reverse(words.begin(), words.end());
      app.parse(words);
      const Result<int> status = action();
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
      EXPECT_EQ(status.error().where, more[0] == "m.onnx" ? "MODEL" : more[0]);
    }
  }
}

TEST(Log, KeepsEveryLineWithItsTimeAndNoSecret) {
  const ScratchFolder scratch = ScratchFolder::create("hone-log").value();
  Global global;
  global.log_file = scratch.path() / "log.txt";
  ASSERT_TRUE(open_log(global));
  log_detail("first\nsecond api_key=abc");
  log_line("shown", false);
  ASSERT_TRUE(open_log(Global{}));
  log_detail("not kept");
  const std::string text = read_file(global.log_file).value();
  EXPECT_THAT(text, testing::ContainsRegex("^2[0-9-]+T[0-9:.]+Z first\n2[0-9-]+T[0-9:.]+Z second api_key=[*]+\n"));
  EXPECT_THAT(text, testing::EndsWith("Z shown\n"));
}

TEST(Log, ThatCanNotBeWrittenIsAnError) {
  Global global;
  global.log_file = "/proc/no/such/folder/log.txt";
  const Status opened = open_log(global);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().line(), HasSubstr("/proc/no/such/folder/log.txt"));
}

}  // namespace
}  // namespace hone::cli
