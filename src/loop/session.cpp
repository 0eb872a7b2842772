// SPDX-License-Identifier: Apache-2.0
#include "loop/session.h"

#include <fmt/format.h>

#include "loop/loop.h"
#include "run/manifest.h"
#include "run/run.h"

namespace hone::loop {

namespace {

Result<run::Run> begin_run(const run::Plan& plan, const fs::path& out, Lab& lab) {
  Facts facts = HONE_TRY(lab.facts(plan));
  return run::Run::create({plan, std::move(facts.hone_version), std::move(facts.model_sha256), facts.model_bytes,
                           std::move(facts.environment)},
                          out);
}

// Numbers from another machine or engine can't be put beside those in the journal.
Status require_same_world(const run::Record& record, Lab& lab) {
  const Facts facts = HONE_TRY(lab.facts(record.plan));
  std::vector<std::string> differs = run::environment_differences(record.environment, facts.environment);
  if (facts.model_sha256 != record.model_sha256) differs.push_back("the model file has changed since the run began");
  if (facts.hone_version != record.hone_version)
    differs.push_back(fmt::format("hone was {} and is {}", record.hone_version, facts.hone_version));
  if (differs.empty()) return {};
  return fail(usage_error(fmt::format("this run can't go on here: {}", fmt::join(differs, "; ")),
                          record.folder.string(), "start a new run, or resume this one where and how it was started"));
}

// Whatever stopped the loop before its end: the Run can go on.
Error resumable(Error error, const fs::path& folder) {
  if (error.kind != ErrorKind::kInterrupted && error.kind != ErrorKind::kIo) return error;
  if (error.todo.find("--resume") != std::string::npos) return error;
  error.todo += std::string(error.todo.empty() ? "" : ", then ") + "go on with --resume " + folder.string();
  return error;
}

Status optimize(run::Run& run, Lab& lab, Listener& listener) {
  return Loop(run, lab, listener).optimize().map_error([&](Error e) { return resumable(std::move(e), run.folder()); });
}

void tell(const run::Run& run, Listener& listener) {
  for (const std::string& notice : run.notices()) listener.line(notice);
}

}  // namespace

Result<run::Record> start_run(const run::Plan& plan, const fs::path& out, Lab& lab, Listener& listener,
                              AtPoint at_point) {
  run::Run run = HONE_TRY(begin_run(plan, out, lab));
  run.at_point = std::move(at_point);
  tell(run, listener);
  listener.line("run directory: " + run.folder().string());
  HONE_TRY(optimize(run, lab, listener));
  return run.record();
}

Result<run::Record> resume_run(const fs::path& folder, Lab& lab, Listener& listener, AtPoint at_point) {
  run::Run run = HONE_TRY(run::Run::resume(folder));
  run.at_point = std::move(at_point);
  tell(run, listener);
  if (run.record().progress == run::Progress::kFinished) return run.record();
  HONE_TRY(require_same_world(run.record(), lab));
  HONE_TRY(optimize(run, lab, listener));
  return run.record();
}

Result<run::Record> plan_run(const run::Plan& plan, const fs::path& out, Lab& lab, Listener& listener) {
  run::Run run = HONE_TRY(begin_run(plan, out, lab));
  tell(run, listener);
  HONE_TRY(Loop(run, lab, listener).plan());
  return run.record();
}

}  // namespace hone::loop
