// Journal: the truth about a Run, in SQLite (WAL, synchronous=FULL): after a kill at any instant it holds every
// completed step and nothing of an incomplete one. Everything else in the run directory can be made again from it.
//
// Only this room sees SQLite; its exceptions become Errors here (a full disk is kIo and leaves the journal intact).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "run/record.h"

namespace hone::run {

inline constexpr int kSchemaVersion = 1;

struct Artifact {
  std::string path;  // relative to the run
  int trial = 0;
  std::string sha256;
  int64_t bytes = 0;
};

// What one transaction may write. Methods throw the library's exception, which Journal::write turns into an Error.
class Transaction {
 public:
  void run(const Record& record);  // the run's own row: progress, elapsed time, stops
  void environment(const Record& record);
  void protocol(const Record& record);
  void trial(const Trial& trial);
  // `purpose`: baseline | noise | trial | goal_check | final. Blocks and looks go to their own tables.
  void measurement(int trial, std::string_view purpose, const measure::Measurement& measurement);
  void comparison(int trial, std::string_view purpose, const measure::Comparison& comparison,
                  const std::vector<measure::BlockRow>& blocks);
  void profile(const ProfileRow& profile);
  void screen(const ScreenRow& screen);
  void proposals(const std::vector<change::Proposal>& open);
  void event(const Event& event);
  void artifact(const Artifact& artifact);

 private:
  friend class Journal;
  explicit Transaction(void* database) : database_(database) {}
  void* database_;  // SQLite::Database; the type stays out of this header
};

class Journal {
 public:
  // Opens or makes the journal for writing. A newer schema, or a file that is no journal, is an Error.
  static Result<Journal> open(const fs::path& file);
  // For reports; needs no write access when the Run has ended.
  static Result<Journal> open_read_only(const fs::path& file);
  Journal(Journal&&) noexcept;
  Journal& operator=(Journal&&) noexcept;
  ~Journal();

  bool has_run() const;  // false: killed before the first transaction, or new
  // Runs `body` in one transaction: all of it or nothing.
  Status write(const std::function<void(Transaction&)>& body);
  // Record::folder is the journal's folder.
  Result<Record> load() const;
  // Every path with this content so far.
  Result<std::vector<Artifact>> artifacts() const;
  // For tests of a full disk: SQLite's own limit on the file's pages.
  Status limit_pages(int pages);

 private:
  struct Handle;
  explicit Journal(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

}  // namespace hone::run
