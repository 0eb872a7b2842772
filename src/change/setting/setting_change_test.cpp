// SPDX-License-Identifier: Apache-2.0
#include "change/setting/setting_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/context.h"

namespace hone::change {
namespace {

using test::TestContext;
using testing::HasSubstr;

TEST(Changes, HaveIdsOfTheirOwn) {
  std::set<std::string> ids;
  for (const Change* change : all_changes()) EXPECT_TRUE(ids.insert(change->info().id).second) << change->info().id;
}

TEST(Changes, AnUnknownIdGetsTheNearest) {
  const auto found = find_change("thread");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().line(), HasSubstr("did you mean threads?"));
}

TEST(Proposal, RoundTripsThroughJson) {
  TestContext test;
  const Proposal p = test.finding("small_kernels").proposals("threads").front();
  const auto back = Proposal::from_json(p.to_json());
  ASSERT_TRUE(back) << back.error().line();
  EXPECT_EQ(back->key(), p.key());
  EXPECT_EQ(back->finding, "small_kernels");
  EXPECT_EQ(back->accuracy, accuracy::Class::kReassociating);
  Json damaged = p.to_json();
  damaged["class"] = "loosy";
  EXPECT_FALSE(Proposal::from_json(damaged)) << "a word it does not know is no class";
}

TEST(Threads, ProposesFewerThanThereAreCores) {
  TestContext test;
  std::set<std::string> counts;
  for (const Proposal& p : test.proposals("threads")) counts.insert(p.params.at("intra_op_threads"));
  EXPECT_EQ(counts, (std::set<std::string>{"1", "2", "3"}));
}

TEST(Threads, AsksNoMoreThreadsThanTheProtocolAllows) {
  TestContext test;
  test.diagnosis.machine.cores = 16;
  test.threads = 2;
  std::set<std::string> counts;
  for (const Proposal& p : test.proposals("threads")) counts.insert(p.params.at("intra_op_threads"));
  EXPECT_EQ(counts, std::set<std::string>{"1"});
  test.threads = 1;
  EXPECT_TRUE(test.proposals("threads").empty());
}

TEST(Threads, HasNothingToProposeOnOneCore) {
  TestContext test;
  test.diagnosis.machine.cores = 1;
  std::string why;
  EXPECT_TRUE(test.proposals("threads", &why).empty());
  EXPECT_EQ(why, "there is one core to run on");
}

TEST(Threads, ExpectsMoreWhereKernelsAreShort) {
  TestContext plain, short_kernels;
  short_kernels.finding("small_kernels");
  EXPECT_GT(short_kernels.proposals("threads")[0].predicted, plain.proposals("threads")[0].predicted);
}

TEST(Threads, UsesTheWordOfTheEngine) {
  TestContext test;
  test.best.engine = "openvino";
  EXPECT_TRUE(test.proposals("threads")[0].params.contains("inference_num_threads"));
}

TEST(HugePages, NeedsWeightsThatFillMoreThanTheTlb) {
  TestContext test;
  test.diagnosis.weight_bytes = 7.9e6;
  std::string why;
  EXPECT_TRUE(test.proposals("huge-pages", &why).empty());
  EXPECT_THAT(why, HasSubstr("7.9 MB"));
  test.diagnosis.weight_bytes = 8.1e6;
  EXPECT_EQ(test.proposals("huge-pages").size(), 1u);
}

TEST(HugePages, IsNotProposedTwice) {
  TestContext test;
  test.best.settings["process.huge_pages"] = "on";
  std::string why;
  EXPECT_TRUE(test.proposals("huge-pages", &why).empty());
  EXPECT_EQ(why, "already set");
}

TEST(ExecutionMode, NeedsFourCores) {
  TestContext test;
  EXPECT_EQ(test.proposals("execution-mode").size(), 1u);
  test.diagnosis.machine.cores = 3;
  EXPECT_TRUE(test.proposals("execution-mode").empty());
}

TEST(LeversOfOnnxRuntime, SayThatTheyAreWhenTheEngineIsAnother) {
  TestContext test;
  test.best.engine = "openvino";
  for (const char* id : {"spinning", "memory", "denormals", "dynamic-block", "output-binding", "graph-optimization"}) {
    std::string why;
    EXPECT_TRUE(test.proposals(id, &why).empty()) << id;
    EXPECT_EQ(why, "a setting of onnxruntime; the engine is openvino") << id;
  }
}

TEST(DynamicBlock, HasNothingToShareOutWithOneThread) {
  TestContext test;
  EXPECT_EQ(test.proposals("dynamic-block").size(), 1u);
  test.best.settings["intra_op_threads"] = "1";
  EXPECT_TRUE(test.proposals("dynamic-block").empty());
  EXPECT_TRUE(test.proposals("spinning").empty());
}

TEST(Denormals, ExpectMoreWhereTheFindingIs) {
  TestContext plain, subnormal;
  subnormal.finding("denormals", 2.0);
  EXPECT_LT(plain.proposals("denormals")[0].chance, subnormal.proposals("denormals")[0].chance);
  EXPECT_EQ(subnormal.proposals("denormals")[0].upper_bound, 2.0);
}

TEST(OpenVinoPrecision, IsLossyAndNeedsTheInstructions) {
  TestContext test;
  test.best.engine = "openvino";
  EXPECT_TRUE(test.proposals("openvino-precision").empty());
  test.diagnosis.machine.features = {"avx512_bf16"};
  const auto proposals = test.proposals("openvino-precision");
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(proposals[0].accuracy, accuracy::Class::kLossy);
  EXPECT_EQ(proposals[0].params.at("inference_precision"), "bf16");
}

TEST(Engine, ProposesTheOthersAndKeepsProcessSettingsOnly) {
  TestContext test;
  test.best.settings = {{"process.huge_pages", "on"}, {"intra_op_threads", "1"}};
  test.shapes["x"] = {1, 4};
  const auto proposals = test.proposals("engine");
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_EQ(proposals[0].key(), "engine[engine=openvino]");
  const auto applied = (*find_change("engine"))->apply(proposals[0], test.context(), {});
  ASSERT_TRUE(applied) << applied.error().line();
  EXPECT_EQ(applied->configuration.engine, "openvino");
  EXPECT_EQ(applied->configuration.settings, (engine::Settings{{"process.huge_pages", "on"}, {"shape.x", "1x4"}}));
}

TEST(Engine, GetsTheOriginalModelOrAsASecondProposalTheRewrittenOne) {
  TestContext test;
  test.best.model = "rewritten.onnx";
  const auto proposals = test.proposals("engine");
  ASSERT_EQ(proposals.size(), 2u);
  EXPECT_EQ(proposals[0].key(), "engine[engine=openvino]");
  EXPECT_EQ(proposals[1].key(), "engine[engine=openvino,model=rewritten]");
  const Change& change = **find_change("engine");
  EXPECT_EQ(change.apply(proposals[0], test.context(), {})->configuration.model, "model.onnx");
  EXPECT_EQ(change.apply(proposals[1], test.context(), {})->configuration.model, "rewritten.onnx");
}

TEST(Engine, HasNothingToProposeWhenItIsTheOnlyOne) {
  TestContext test;
  test.engines = {"onnxruntime"};
  EXPECT_TRUE(test.proposals("engine").empty());
}

TEST(SettingChange, AppliesOneSettingAndShowsItAsADiff) {
  TestContext test;
  test.best.settings["intra_op_threads"] = "3";
  const Proposal p = test.proposals("dynamic-block")[0];
  const auto applied = (*find_change("dynamic-block"))->apply(p, test.context(), {});
  ASSERT_TRUE(applied) << applied.error().line();
  EXPECT_EQ(applied->configuration.settings.at("dynamic_block_base"), "4");
  EXPECT_EQ(applied->configuration.settings.at("intra_op_threads"), "3");
  EXPECT_EQ(applied->patch, "+dynamic_block_base=4\n");
}

// Every lever's settings are words its engine knows: a typo would only show as a failed Trial.
TEST(SettingChange, EveryProposalCanBeApplied) {
  for (const char* engine : {"onnxruntime", "openvino"}) {
    TestContext test;
    test.best.engine = engine;
    test.diagnosis.machine.features = {"amx_bf16", "avx512_fp16"};
    for (const Change* change : all_changes()) {
      if (change->info().kind != Kind::kSetting) continue;
      std::string why;
      for (const Proposal& p : change->propose(test.context(), &why)) {
        const auto applied = change->apply(p, test.context(), {});
        EXPECT_TRUE(applied) << p.key() << " on " << engine << ": " << applied.error().line();
      }
    }
  }
}

}  // namespace
}  // namespace hone::change
