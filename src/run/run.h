// Run: the writer of a run directory. Every step of the loop is one call here, and every call does the same: write the
// files, sync and rename them, then make one transaction in the journal. A kill between the two leaves files that
// nobody refers to, and resume() removes them. Reading is load_record().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "change/change.h"
#include "run/journal.h"
#include "run/lock.h"
#include "run/record.h"
#include "run/trial_files.h"

namespace hone::run {

// The Record of a run directory, running, interrupted or finished; takes no lock, writes nothing.
Result<Record> load_record(const fs::path& folder);

struct Beginning {
  Plan plan;
  std::string hone_version, model_sha256;
  int64_t model_bytes = 0;
  std::map<std::string, std::string> environment;
};

class Run {
 public:
  // `out` empty: a new folder below ./runs. Else that folder: new, empty, or one whose Run never got as far as its
  // first transaction.
  static Result<Run> create(Beginning beginning, const fs::path& out);
  // Locks, removes half-made files, loads. A finished Run may be resumed: its Record says so.
  static Result<Run> resume(const fs::path& folder);

  const Record& record() const { return record_; }
  const fs::path& folder() const { return record_.folder; }
  // Messages for the user from create() and resume(): a stale lock that was broken, half-made files removed.
  const std::vector<std::string>& notices() const { return notices_; }
  double elapsed_s() const;
  // What went by since this Run was opened does not count.
  void restart_clock();

  Status set_protocol(const protocol::Protocol& protocol, std::string source, std::vector<std::string> notes);
  Status set_reference();
  // Trial 0.
  Status baseline(const Trial& trial, const TrialLogs& logs);
  Status noise(const measure::Comparison& comparison, const std::vector<measure::BlockRow>& blocks);
  Status profiled(const ProfileRow& profile);
  Status screened(const ScreenRow& screen);
  Status goal_checked(int trial, const measure::Comparison& comparison, const std::vector<measure::BlockRow>& blocks);

  // Gives the trial its number, parent and empty folder (made here, so that apply() can write into it).
  Result<Trial> begin(const change::Proposal& proposal, std::string kind, Stage stage);
  // Empties the folder of a trial that was created and not prepared.
  Status begin_again(const Trial& trial);
  Status prepared(const Trial& trial, const change::Applied& applied);
  Status converted(const Trial& trial, const TrialLogs& logs);
  Status measured(const Trial& trial, const std::vector<measure::BlockRow>& blocks);
  // Writes verdict.json and what is missing of the four logs; drops a rejected model by the Plan's Keep.
  Status judged(const Trial& trial, const TrialLogs& logs = {});

  // A Change that is not tried: a Trial that is judged from the start, in one transaction.
  Status skipped(const change::Proposal& proposal, std::string kind, Stage stage, std::string reason);

  Status stopped(std::vector<Stop> stops, std::vector<change::Proposal> open);
  Status final_measured(const Trial& trial, const std::vector<measure::BlockRow>& blocks);
  // best/, manifest, tables; then progress = finished.
  Status finished(const std::function<Status(const fs::path& to)>& copy_model);
  Status note(std::string kind, std::string text);
  void plan(std::vector<Planned> planned) { record_.planned = std::move(planned); }

  // Called with the name of every point where a kill makes a difference: "prepared: files", "prepared: committed".
  std::function<void(std::string_view)> at_point;

 private:
  Run(Lock lock, Journal journal, Record record);
  Trial next_trial(const change::Proposal& proposal, std::string kind, Stage stage) const;
  Status fill_logs(const Trial& trial, const TrialLogs& logs);
  Status commit(std::string_view step, const std::function<void(Transaction&)>& body);
  Status put(const Trial& trial, std::string_view step, const std::function<void(Transaction&)>& more);
  Status add_artifacts(const Trial& trial, std::vector<Artifact>* made);
  Status write_tables();
  Status drop_models();

  Lock lock_;
  Journal journal_;
  Record record_;
  std::vector<std::string> notices_;
  double session_start_s_ = 0, elapsed_before_s_ = 0;
};

}  // namespace hone::run
