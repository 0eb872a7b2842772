// SPDX-License-Identifier: Apache-2.0
#include "run/journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "run/layout.h"

namespace hone::run {
namespace {

Record small_record() {
  Record r;
  r.id = "abc";
  r.created = "2026-01-31T00:00:00Z";
  r.hone_version = "1";
  r.plan.model = "/m.onnx";
  r.plan.engines = {"onnxruntime"};
  r.model_sha256 = "00";
  r.model_bytes = 12;
  r.environment = {{"device", "CPU"}, {"cores", "2"}};
  return r;
}

Trial small_trial(int number) {
  Trial t;
  t.number = number;
  t.parent = number - 1;
  t.state = State::kJudged;
  t.proposal.change = "fuse-gelu";
  t.proposal.params = {{"a", "1"}};
  t.proposal.predicted = 1.1;
  t.kind = "graph";
  t.configuration = {"onnxruntime", "step3_patches/patch_001_fuse-gelu/model.onnx", {{"intra_op_threads", "1"}}};
  t.summary = "it's 100 % \"quoted\"";
  t.verdict = verdict::Verdict{verdict::Kind::kRolledBack, "noise: 1.01", true};
  t.vs_original = measure::Interval{1.5, 1.4, 1.6};
  t.dir = "step3_patches/patch_001_fuse-gelu";
  t.seconds = 1.25;
  return t;
}

class JournalTest : public testing::Test {
 protected:
  ScratchFolder scratch_ = ScratchFolder::create("hone-test").value();
  fs::path file() const { return scratch_.path() / kJournal; }
};

TEST_F(JournalTest, IsEmptyUntilItsFirstTransaction) {
  Journal journal = Journal::open(file()).value();
  EXPECT_FALSE(journal.has_run());
  const auto record = journal.load();
  ASSERT_FALSE(record.has_value());
  EXPECT_NE(record.error().line().find("nothing to resume"), std::string::npos);
}

TEST_F(JournalTest, GivesBackWhatWasWritten) {
  Record record = small_record();
  const Trial trial = small_trial(1);
  measure::Comparison comparison;
  comparison.speedup = {1.01, 0.98, 1.04};
  comparison.pairs = {{0.01, 0.02}, {0.0, 0.01}};
  comparison.looks.resize(1);
  comparison.protocol_hash = "h";
  measure::BlockRow block;
  block.invalid = "moved";
  {
    Journal journal = Journal::open(file()).value();
    ASSERT_TRUE(journal
                    .write([&](Transaction& t) {
                      t.run(record);
                      t.environment(record);
                      t.trial(trial);
                      t.comparison(1, "trial", comparison, {block, block});
                      t.screen({0, "onnxruntime", "threads[threads=1]", 1.07});
                      t.event({"2026", "warning", "a\nb"});
                    })
                    .has_value());
  }
  const Record back = Journal::open_read_only(file()).value().load().value();
  EXPECT_EQ(back.id, "abc");
  EXPECT_EQ(back.environment, record.environment);
  EXPECT_EQ(back.folder, scratch_.path());
  ASSERT_EQ(back.trials.size(), 1u);
  const Trial& t = back.trials[0];
  EXPECT_EQ(t.title(), "fuse-gelu[a=1]");
  EXPECT_EQ(t.configuration, trial.configuration);
  EXPECT_EQ(t.summary, trial.summary);
  EXPECT_TRUE(t.verdict->noise);
  EXPECT_EQ(t.vs_original->high, 1.6);
  EXPECT_EQ(t.comparison->pairs, comparison.pairs);
  EXPECT_EQ(back.screens.at(0).speedup, 1.07);
  EXPECT_EQ(back.events.at(0).text, "a\nb");
}

TEST_F(JournalTest, ATransactionThatFailsLeavesNothing) {
  Journal journal = Journal::open(file()).value();
  ASSERT_TRUE(journal.write([&](Transaction& t) { t.run(small_record()); }).has_value());
  measure::Comparison comparison;
  const auto twice = journal.write([&](Transaction& t) {
    t.trial(small_trial(1));
    t.comparison(1, "trial", comparison, {});
    t.comparison(1, "trial", comparison, {});  // a trial is measured once
  });
  EXPECT_FALSE(twice.has_value());
  EXPECT_TRUE(journal.load()->trials.empty());
}

TEST_F(JournalTest, AFullDiskIsAnErrorThatSaysSoAndLosesNothing) {
  Journal journal = Journal::open(file()).value();
  ASSERT_TRUE(journal.write([&](Transaction& t) { t.run(small_record()); }).has_value());
  ASSERT_TRUE(journal.limit_pages(1).has_value());
  Trial big = small_trial(1);
  big.summary = std::string(1'000'000, 'x');
  const auto full = journal.write([&](Transaction& t) { t.trial(big); });
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().kind, ErrorKind::kIo);
  EXPECT_NE(full.error().line().find("free some space"), std::string::npos);
  ASSERT_TRUE(journal.limit_pages(100'000).has_value());
  EXPECT_TRUE(journal.write([&](Transaction& t) { t.trial(big); }).has_value());
  EXPECT_EQ(journal.load()->trials.size(), 1u);
}

TEST_F(JournalTest, RefusesAFileThatIsNoJournal) {
  ASSERT_TRUE(write_file(file(), std::string(5000, 'x')).has_value());
  for (const auto& journal : {Journal::open(file()), Journal::open_read_only(file())}) {
    ASSERT_FALSE(journal.has_value());
    EXPECT_EQ(journal.error().kind, ErrorKind::kBadInput) << journal.error().line();
  }
}

TEST_F(JournalTest, RefusesADamagedJournal) {
  {
    Journal journal = Journal::open(file()).value();
    ASSERT_TRUE(journal.write([&](Transaction& t) { t.run(small_record()); }).has_value());
  }
  std::string bytes = read_file(file()).value();
  ASSERT_GT(bytes.size(), 8192u);
  std::fill(bytes.begin() + 4096, bytes.end(), '\x5a');
  ASSERT_TRUE(write_file(file(), bytes).has_value());
  const auto journal = Journal::open(file());
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().kind, ErrorKind::kBadInput) << journal.error().line();
}

TEST_F(JournalTest, RefusesAnotherSchema) {
  {
    Journal journal = Journal::open(file()).value();
    ASSERT_TRUE(journal.write([&](Transaction& t) { t.run(small_record()); }).has_value());
  }
  std::string bytes = read_file(file()).value();
  bytes[63] = 99;  // user_version: bytes 60 to 63 of the file's header (sqlite.org/fileformat.html)
  ASSERT_TRUE(write_file(file(), bytes).has_value());
  const auto journal = Journal::open_read_only(file());
  ASSERT_FALSE(journal.has_value());
  EXPECT_NE(journal.error().line().find("schema 99"), std::string::npos) << journal.error().line();
}

TEST_F(JournalTest, IsReadFromAFolderOneCanNotWrite) {
  {
    Journal journal = Journal::open(file()).value();
    ASSERT_TRUE(journal.write([&](Transaction& t) { t.run(small_record()); }).has_value());
  }
  // Nothing beside it at rest: no -wal, no -shm; and reading makes none.
  EXPECT_FALSE(fs::exists(file().string() + "-wal"));
  EXPECT_TRUE(Journal::open_read_only(file())->load().has_value());
  EXPECT_FALSE(fs::exists(file().string() + "-shm"));
}

TEST_F(JournalTest, IsReadWhileItsRunGoesOn) {
  Journal writer = Journal::open(file()).value();
  ASSERT_TRUE(writer.write([&](Transaction& t) { t.run(small_record()); }).has_value());
  const Journal reader = Journal::open_read_only(file()).value();
  EXPECT_EQ(reader.load()->id, "abc");
  ASSERT_TRUE(writer.write([&](Transaction& t) { t.trial(small_trial(1)); }).has_value());
  EXPECT_EQ(reader.load()->trials.size(), 1u);
}

// Each of these was once written by nobody's hone: a bad disk, another program, a hand. None may be taken for a bug.
TEST_F(JournalTest, ADocumentThatIsDamagedIsBadInputAndSaysWhere) {
  const std::pair<const char*, const char*> damages[] = {
      {"UPDATE run SET progress = 7", "run.progress is 7"},
      {"UPDATE run SET progress = -1", "run.progress is -1"},
      {"UPDATE run SET plan = '{'", "not valid JSON"},
      {"UPDATE run SET plan = '[]'", "not a plan"},
      {"UPDATE run SET stops = '[1]'", "reason"},
      {"UPDATE protocol SET data_notes = '[{}]'", "data_notes"},
      {"UPDATE protocol SET data_notes = '7'", "data_notes"},
      {"UPDATE protocol SET document = '3'", "shapes"},
      {"UPDATE trial SET parent = 1", "trial 1 is not after its parent"},
      {"UPDATE trial SET number = -4, parent = -5", "trial -4"},
      {"UPDATE trial SET stage = 'P9'", "unknown stage"},
      {"UPDATE trial SET state = ''", "unknown state"},
      {"UPDATE trial SET proposal = 'null'", "change"},
      {"UPDATE trial SET proposal = json_set(proposal, '$.change', 'without', '$.params', json('{}'))",
       "does not say which"},
      {"UPDATE trial SET configuration = '{\"engine\": \"x\", \"model\": \"m\", \"settings\": 3}'", "settings"},
      {"UPDATE trial SET accuracy = '[]'", "level"},
      {"UPDATE trial SET verdict = 'great'", "great"},
      {"UPDATE measurement SET document = '[]' WHERE purpose = 'baseline'", "a measurement is no object"},
      {"UPDATE measurement SET document = '[]' WHERE purpose = 'trial'", "damaged comparison"},
      {"UPDATE change SET document = '\"\"'", "change"},
      {"DROP TABLE screen", "screen"},
      {"DROP TABLE trial; CREATE TABLE trial (number INTEGER); INSERT INTO trial VALUES (1)", "journal"},
  };
  Record record = small_record();
  record.protocol = protocol::Protocol{};
  record.data_notes = {"a note"};
  for (const auto& [sql, text] : damages) {
    const fs::path damaged = scratch_.path() / "damaged.sqlite";
    std::error_code ignored;
    fs::remove(damaged, ignored);
    {
      Journal journal = Journal::open(damaged).value();
      ASSERT_TRUE(journal
                      .write([&](Transaction& t) {
                        t.run(record);
                        t.protocol(record);
                        t.trial(small_trial(1));
                        t.measurement(1, "baseline", measure::Measurement{});
                        t.comparison(1, "trial", measure::Comparison{}, {});
                        t.proposals({small_trial(1).proposal});
                      })
                      .has_value());
      ASSERT_TRUE(journal.load().has_value()) << journal.load().error().line();
    }
    SQLite::Database(damaged.string(), SQLite::OPEN_READWRITE).exec(sql);
    const auto loaded = Journal::open_read_only(damaged).value().load();
    ASSERT_FALSE(loaded.has_value()) << sql;
    EXPECT_EQ(loaded.error().kind, ErrorKind::kBadInput) << sql << ": " << loaded.error().line();
    EXPECT_NE(loaded.error().line().find(text), std::string::npos) << sql << ": " << loaded.error().line();
  }
}

TEST_F(JournalTest, AFolderWithoutOneIsSaidToHoldNoRun) {
  const auto journal = Journal::open_read_only(file());
  ASSERT_FALSE(journal.has_value());
  EXPECT_NE(journal.error().line().find("no run here"), std::string::npos);
}

}  // namespace
}  // namespace hone::run
