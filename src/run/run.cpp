// SPDX-License-Identifier: Apache-2.0
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "run/best.h"
#include "run/layout.h"
#include "run/manifest.h"
#include "run/table.h"

namespace hone::run {

namespace {

double now_s() { return static_cast<double>(steady_clock().now_ns()) * 1e-9; }

// Eight hex digits that no other run of this machine has: time and process.
std::string make_id(const fs::path& folder) {
  const LockOwner self = this_process();
  return sha256_hex(fmt::format("{} {} {} {} {}", folder.string(), self.pid, self.start, self.boot, self.since))
      .substr(0, 8);
}

Result<fs::path> prepare_folder(const fs::path& out, const fs::path& model) {
  if (out.empty()) {
    std::string day = utc_now_iso8601().substr(0, 10);
    std::erase(day, '-');
    return make_run_folder(fs::absolute("runs"), model, day);
  }
  HONE_TRY(make_directories(out));
  return fs::absolute(out).lexically_normal();
}

// A folder of --out may hold the remains of a hone that was killed before its first transaction, but no files of
// anybody else.
Status require_ours_or_empty(const fs::path& folder) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string name = entry.path().filename().string();
    if (name != kLock && !name.starts_with(kJournal) && entry.path().extension() != ".tmp")
      return fail(usage_error("the folder of --out is not empty", folder.string(),
                              "give a new folder, or go on with a run by --resume"));
  }
  if (code) return fail(io_error("can't read folder (" + code.message() + ")", folder.string()));
  return {};
}

// Models and their external data below a trial's folder (an ablation has one folder for each change it applies).
std::vector<fs::path> model_files(const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(folder, code); !code && it != fs::recursive_directory_iterator();
       it.increment(code))
    if (it->is_regular_file(code) && (it->path().extension() == ".onnx" || it->path().extension() == ".data"))
      files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string stale_text(const LockOwner& owner) {
  return "the lock of a hone that is gone was broken (" + to_text(owner) + ")";
}

}  // namespace

Result<Record> load_record(const fs::path& folder) {
  const Journal journal = HONE_TRY(Journal::open_read_only(folder / kJournal));
  return journal.load();
}

Run::Run(Lock lock, Journal journal, Record record)
    : lock_(std::move(lock)),
      journal_(std::move(journal)),
      record_(std::move(record)),
      session_start_s_(now_s()),
      elapsed_before_s_(record_.elapsed_s) {
  if (lock_.broken()) notices_.push_back(stale_text(*lock_.broken()));
}

double Run::elapsed_s() const { return elapsed_before_s_ + now_s() - session_start_s_; }

void Run::restart_clock() { session_start_s_ = now_s(); }

Result<Run> Run::create(Beginning beginning, const fs::path& out) {
  const fs::path folder = HONE_TRY(prepare_folder(out, beginning.plan.model));
  Lock lock = HONE_TRY(Lock::take(folder));
  if (!out.empty()) HONE_TRY(require_ours_or_empty(folder));
  Journal journal = HONE_TRY(Journal::open(folder / kJournal));
  if (journal.has_run())
    return fail(usage_error("there is a run in this folder", folder.string(),
                            "go on with it by --resume, or give a new folder"));
  Record record;
  record.folder = folder;
  record.id = make_id(folder);
  record.created = utc_now_iso8601();
  record.hone_version = std::move(beginning.hone_version);
  record.plan = std::move(beginning.plan);
  record.model_sha256 = std::move(beginning.model_sha256);
  record.model_bytes = beginning.model_bytes;
  record.environment = std::move(beginning.environment);
  Run run(std::move(lock), std::move(journal), std::move(record));
  for (std::string_view name : {kProfileFolder, kAnalysisFolder, kPatches, kValidation})
    HONE_TRY(make_directories(folder / name));
  HONE_TRY(write_file(folder / kManifest, manifest_text(run.record_)));
  HONE_TRY(run.commit("created", [&](Transaction& t) { t.environment(run.record_); }));
  return run;
}

Result<Run> Run::resume(const fs::path& given) {
  const fs::path folder = fs::absolute(given).lexically_normal();
  std::error_code code;
  if (!fs::exists(folder / kJournal, code))
    return fail(
        bad_input("no run here: there is no journal", folder.string(), "give the run directory that hone made"));
  Lock lock = HONE_TRY(Lock::take(folder));
  Journal journal = HONE_TRY(Journal::open(folder / kJournal));
  Record record = HONE_TRY(journal.load());
  Run run(std::move(lock), std::move(journal), std::move(record));
  if (run.record_.progress == Progress::kFinished) return run;
  const std::vector<std::string> removed = HONE_TRY(remove_half_made(folder));
  if (!removed.empty()) run.notices_.push_back(fmt::format("half-made files removed: {}", fmt::join(removed, ", ")));
  HONE_TRY(run.drop_models());
  HONE_TRY(run.note("resumed", fmt::format("after {:.0f} s, at trial {}", run.record_.elapsed_s,
                                           run.record_.trials.empty() ? 0 : run.record_.trials.back().number)));
  return run;
}

Status Run::commit(std::string_view step, const std::function<void(Transaction&)>& body) {
  if (at_point) at_point(fmt::format("{}: files", step));
  HONE_TRY(sync_folder(record_.folder));
  record_.elapsed_s = elapsed_s();
  HONE_TRY(journal_.write([&](Transaction& t) {
    t.run(record_);
    body(t);
  }));
  if (at_point) at_point(fmt::format("{}: committed", step));
  return {};
}

// One arrow of the Trial's state machine: the Record first, so that files made from it are true, then the journal.
Status Run::put(const Trial& trial, std::string_view step, const std::function<void(Transaction&)>& more) {
  auto found = std::find_if(record_.trials.begin(), record_.trials.end(),
                            [&](const Trial& t) { return t.number == trial.number; });
  if (found == record_.trials.end())
    record_.trials.push_back(trial);
  else
    *found = trial;
  std::error_code code;
  if (fs::exists(folder() / trial.dir, code)) HONE_TRY(sync_folder(folder() / trial.dir));
  return commit(step, [&](Transaction& t) {
    t.trial(trial);
    if (more) more(t);
  });
}

Status Run::note(std::string kind, std::string text) {
  record_.events.push_back({utc_now_iso8601(), std::move(kind), std::move(text)});
  return commit("note", [&](Transaction& t) { t.event(record_.events.back()); });
}

Status Run::set_protocol(const protocol::Protocol& protocol, std::string source, std::vector<std::string> notes) {
  record_.protocol = protocol;
  record_.data_source = std::move(source);
  record_.data_notes = std::move(notes);
  Json document = {{"schema", "hone.protocol/1"}, {"hash", protocol.hash()}};
  document.update(protocol.to_json());
  HONE_TRY(write_file(folder() / kProtocol, dump_json(document)));
  HONE_TRY(write_file(folder() / kManifest, manifest_text(record_)));
  return commit("protocol", [&](Transaction& t) { t.protocol(record_); });
}

Status Run::set_reference() {
  record_.has_reference = true;
  return commit("reference", [](Transaction&) {});
}

Status Run::baseline(const Trial& given, const TrialLogs& logs) {
  Trial trial = given;
  trial.configuration = portable(trial.configuration, folder());
  const fs::path dir = folder() / trial.dir;
  HONE_TRY(make_directories(dir));
  HONE_TRY(write_file(dir / "measurement.json", dump_json(trial.measurement->to_json())));
  if (trial.accuracy) HONE_TRY(write_file(dir / "accuracy.json", dump_json(trial.accuracy->to_json())));
  HONE_TRY(write_settings(dir, trial.configuration, record_));
  change::Applied nothing;
  nothing.configuration = trial.configuration;
  nothing.summary = "the original, as it is";
  HONE_TRY(write_export_log(dir, trial, nothing, record_));
  HONE_TRY(write_convert_log(dir, trial, logs.converted, record_));
  HONE_TRY(write_benchmark_log(dir, trial, {}, record_));
  HONE_TRY(write_accuracy_log(dir, trial, logs.accuracy, record_));
  HONE_TRY(link_over(dir / "benchmark.log", dir / "baseline_benchmark.log"));  // the guide's name for it
  return put(trial, "baseline", [&](Transaction& t) { t.measurement(0, "baseline", *trial.measurement); });
}

Status Run::noise(const measure::Comparison& comparison, const std::vector<measure::BlockRow>& blocks) {
  record_.noise = comparison;
  HONE_TRY(write_file(folder() / kProfileFolder / "noise.json", dump_json(comparison.to_json())));
  return commit("noise", [&](Transaction& t) { t.comparison(0, "noise", comparison, blocks); });
}

Status Run::profiled(const ProfileRow& profile) {
  record_.profiles.push_back(profile);
  const fs::path analysis = profile.trial == 0 ? folder() / kAnalysisFolder : folder() / profile.dir;
  HONE_TRY(make_directories(analysis));
  HONE_TRY(write_file(analysis / "analysis.json", dump_json(profile.diagnosis.to_json())));
  return commit("profile", [&](Transaction& t) { t.profile(profile); });
}

Status Run::screened(const ScreenRow& screen) {
  record_.screens.push_back(screen);
  return commit("screen", [&](Transaction& t) { t.screen(screen); });
}

Status Run::goal_checked(int trial, const measure::Comparison& comparison,
                         const std::vector<measure::BlockRow>& blocks) {
  record_.goal_check = comparison;
  record_.goal_check_of = trial;
  HONE_TRY(write_file(folder() / kValidation / fmt::format("goal_check_{:03}.json", trial),
                      dump_json(comparison.to_json())));
  return commit("goal check", [&](Transaction& t) { t.comparison(trial, "goal_check", comparison, blocks); });
}

Trial Run::next_trial(const change::Proposal& proposal, std::string kind, Stage stage) const {
  Trial trial;
  trial.number = record_.trials.empty() ? 0 : record_.trials.back().number + 1;
  trial.parent = record_.best()->number;
  trial.stage = stage;
  trial.proposal = proposal;
  trial.kind = std::move(kind);
  trial.configuration = record_.best()->configuration;
  trial.started = utc_now_iso8601();
  trial.dir = stage == Stage::kFinal ? std::string(kValidation)
                                     : (fs::path(kPatches) / patch_name(trial.number, proposal.change)).string();
  return trial;
}

Result<Trial> Run::begin(const change::Proposal& proposal, std::string kind, Stage stage) {
  const Trial trial = next_trial(proposal, std::move(kind), stage);
  HONE_TRY(put(trial, "created", {}));
  HONE_TRY(begin_again(trial));
  return trial;
}

Status Run::begin_again(const Trial& trial) {
  if (trial.stage == Stage::kFinal) return {};  // its folder is not its own
  std::error_code code;
  fs::remove_all(folder() / trial.dir, code);
  if (code) return fail(io_error("can't empty folder (" + code.message() + ")", (folder() / trial.dir).string()));
  return make_directories(folder() / trial.dir);
}

// The trial's model files, hashed; one that the run has already is replaced by a hard link to it.
Status Run::add_artifacts(const Trial& trial, std::vector<Artifact>* made) {
  const std::vector<Artifact> known = HONE_TRY(journal_.artifacts());
  std::error_code code;
  for (const fs::path& file : model_files(folder() / trial.dir)) {
    Artifact artifact{portable(file, folder()).string(), trial.number, HONE_TRY(sha256_of_file(file)),
                      static_cast<int64_t>(fs::file_size(file, code))};
    const auto twin = std::find_if(known.begin(), known.end(), [&](const Artifact& a) {
      return a.sha256 == artifact.sha256 && a.path != artifact.path && fs::exists(folder() / a.path, code);
    });
    if (twin != known.end()) HONE_TRY(link_over(folder() / twin->path, file));
    made->push_back(std::move(artifact));
  }
  return {};
}

Status Run::prepared(const Trial& given, const change::Applied& applied) {
  Trial trial = given;
  trial.state = State::kPrepared;
  trial.configuration = portable(applied.configuration, folder());
  trial.summary = applied.summary;
  trial.nodes_before = applied.nodes_before;
  trial.nodes_after = applied.nodes_after;
  const fs::path dir = folder() / trial.dir;
  HONE_TRY(write_settings(dir, trial.configuration, record_));
  HONE_TRY(write_export_log(dir, trial, applied, record_));
  HONE_TRY(write_reproduce(dir, trial, record_));
  std::vector<Artifact> artifacts;
  HONE_TRY(add_artifacts(trial, &artifacts));
  return put(trial, "prepared", [&](Transaction& t) {
    for (const Artifact& a : artifacts) t.artifact(a);
  });
}

Status Run::converted(const Trial& given, const TrialLogs& logs) {
  Trial trial = given;
  trial.state = State::kConverted;
  const fs::path dir = folder() / trial.dir;
  HONE_TRY(write_convert_log(dir, trial, logs.converted, record_));
  HONE_TRY(write_accuracy_log(dir, trial, logs.accuracy, record_));
  if (trial.accuracy) HONE_TRY(write_file(dir / "accuracy.json", dump_json(trial.accuracy->to_json())));
  return put(trial, "converted", {});
}

Status Run::measured(const Trial& given, const std::vector<measure::BlockRow>& blocks) {
  Trial trial = given;
  trial.state = State::kMeasured;
  const fs::path dir = folder() / trial.dir;
  HONE_TRY(write_file(dir / "measurement.json", dump_json(trial.comparison->to_json())));
  HONE_TRY(write_benchmark_log(dir, trial, blocks, record_));
  return put(trial, "measured",
             [&](Transaction& t) { t.comparison(trial.number, "trial", *trial.comparison, blocks); });
}

// The four logs are there whatever happened: those of steps that were not reached say why.
Status Run::fill_logs(const Trial& trial, const TrialLogs& logs) {
  const fs::path dir = folder() / trial.dir;
  for (const std::string& name : missing_logs(dir)) {
    if (name == "export.log") {
      change::Applied nothing;
      nothing.configuration = trial.configuration;
      nothing.summary = "nothing was made";
      nothing.export_log = trial.verdict->reason + "\n";
      HONE_TRY(write_export_log(dir, trial, nothing, record_));
    } else if (name == "convert.log") {
      HONE_TRY(write_convert_log(dir, trial, logs.converted, record_));
    } else if (name == "benchmark.log") {
      HONE_TRY(write_benchmark_log(dir, trial, {}, record_));
    } else {
      HONE_TRY(write_accuracy_log(dir, trial, logs.accuracy, record_));
    }
  }
  return {};
}

Status Run::skipped(const change::Proposal& proposal, std::string kind, Stage stage, std::string reason) {
  Trial trial = next_trial(proposal, std::move(kind), stage);
  trial.state = State::kJudged;
  trial.verdict = verdict::skipped(std::move(reason));
  HONE_TRY(begin_again(trial));
  HONE_TRY(fill_logs(trial, {}));
  HONE_TRY(write_settings(folder() / trial.dir, trial.configuration, record_));
  HONE_TRY(write_verdict(folder() / trial.dir, trial));
  HONE_TRY(put(trial, "skipped", {}));
  return write_tables();
}

Status Run::judged(const Trial& given, const TrialLogs& logs) {
  Trial trial = given;
  trial.state = State::kJudged;
  const fs::path dir = folder() / trial.dir;
  HONE_TRY(make_directories(dir));
  HONE_TRY(fill_logs(trial, logs));
  HONE_TRY(write_verdict(dir, trial));
  HONE_TRY(put(trial, "judged", {}));
  HONE_TRY(drop_models());
  return write_tables();
}

Status Run::stopped(std::vector<Stop> stops, std::vector<change::Proposal> open) {
  record_.stops = std::move(stops);
  record_.proposals = std::move(open);
  record_.progress = Progress::kStopped;
  return commit("stopped", [&](Transaction& t) { t.proposals(record_.proposals); });
}

Status Run::final_measured(const Trial& given, const std::vector<measure::BlockRow>& blocks) {
  Trial trial = given;
  trial.state = State::kMeasured;
  trial.vs_original = trial.comparison->speedup;
  const fs::path dir = folder() / kValidation;
  HONE_TRY(write_file(dir / "final_vs_original.json", dump_json(trial.comparison->to_json())));
  if (trial.accuracy) HONE_TRY(write_file(dir / "accuracy.json", dump_json(trial.accuracy->to_json())));
  HONE_TRY(write_benchmark_log(dir, trial, blocks, record_));
  return put(trial, "final", [&](Transaction& t) { t.comparison(trial.number, "final", *trial.comparison, blocks); });
}

Status Run::finished(const std::function<Status(const fs::path& to)>& copy_model) {
  HONE_TRY(publish_best(record_, copy_model));
  if (at_point) at_point("best: files");
  record_.ended = utc_now_iso8601();
  record_.progress = Progress::kFinished;
  HONE_TRY(drop_models());
  HONE_TRY(write_tables());
  HONE_TRY(write_file(folder() / kManifest, manifest_text(record_)));
  return commit("finished", [](Transaction&) {});
}

Status Run::write_tables() {
  HONE_TRY(write_file(folder() / kTrialsTsv, trials_tsv(record_)));
  return write_file(folder() / kTrialsMd, trials_md(record_));
}

// Models that the Plan does not keep. Called after the verdict is in the journal, and again on resume: a kill between
// the two only delays it. While the search goes on, models of kept Trials are needed to build on.
Status Run::drop_models() {
  if (record_.plan.keep == Keep::kAll) return {};
  const bool finished = record_.progress == Progress::kFinished;
  for (const Trial& t : record_.trials) {
    if (t.state != State::kJudged || t.number == 0) continue;
    if (t.kept() && !(finished && record_.plan.keep == Keep::kLogs)) continue;
    std::error_code code;
    for (const fs::path& model : model_files(folder() / t.dir)) {
      fs::remove(model, code);
      if (code) return fail(io_error("can't remove a model (" + code.message() + ")", model.string()));
    }
  }
  return {};
}

}  // namespace hone::run
