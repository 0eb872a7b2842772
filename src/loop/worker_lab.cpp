// SPDX-License-Identifier: Apache-2.0
#include "loop/worker_lab.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "diagnose/diagnose.h"
#include "diagnose/peaks.h"
#include "loop/environment.h"
#include "measure/place.h"
#include "measure/topology.h"
#include "protocol/fix.h"
#include "run/best.h"
#include "run/layout.h"
#include "worker/worker.h"

namespace hone::loop {

namespace {

using measure::DeviceLock;

// A profile of about this long: enough inferences for stable shares, little against a trial.
constexpr double kProfileMs = 1500;
constexpr int kLeastProfiled = 5, kMostProfiled = 100;

Status remove_path(const fs::path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  if (code) return fail(io_error("can't remove (" + code.message() + ")", path.string()));
  return {};
}

// Gives a finished folder its name; what a killed hone left under it goes.
Status put_in_place(const fs::path& made, const fs::path& target) {
  HONE_TRY(run::sync_folder(made));
  HONE_TRY(remove_path(target));
  std::error_code code;
  fs::rename(made, target, code);
  if (code) return fail(io_error("can't rename folder (" + code.message() + ")", target.string()));
  return {};
}

fs::path half_made(fs::path path) {
  path += ".tmp";
  return path;
}

bool is_fake(const run::Plan& plan) { return plan.engines.front() == "fake"; }

// The reference of a run on the fake engine is the fake engine: it computes nothing that could be compared otherwise.
engine::Configuration reference_of(const run::Plan& plan) {
  if (is_fake(plan)) return {"fake", plan.model, {}};
  return engine::accuracy_reference(plan.model);
}

std::string text_of(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code)) return {};
  return read_file(file).value_or(std::string());
}

}  // namespace

WorkerLab::WorkerLab(std::vector<const change::Change*> changes)
    : changes_(std::move(changes)), watch_(std::make_shared<measure::MachineWatch>()) {}

Result<Facts> WorkerLab::facts(const run::Plan& plan) {
  Facts facts;
  facts.hone_version = hone_version();
  facts.model_sha256 = HONE_TRY(sha256_of_file(plan.model));
  std::error_code code;
  facts.model_bytes = static_cast<int64_t>(fs::file_size(plan.model, code));
  facts.environment = environment(plan.engines);
  return facts;
}

Result<Fixed> WorkerLab::fix(const run::Plan& plan, const fs::path& samples) {
  model::Model model = HONE_TRY(model::Model::load(plan.model));
  HONE_TRY(model.infer_shapes());
  if (!plan.shapes.empty()) {
    model::Model frozen = model.clone();  // contradictions show here, before anything is measured
    HONE_TRY(frozen.freeze_shapes(plan.shapes));
  }
  protocol::FixOptions options;
  options.data = plan.data;
  options.shapes = plan.shapes;
  options.threads = plan.threads;
  options.seed = plan.seed;
  options.sample_limit = plan.sample_limit;
  options.accuracy_level = plan.gate.level;
  protocol::Fixed fixed = HONE_TRY(protocol::fix(model, options));
  const fs::path made = half_made(samples);
  HONE_TRY(remove_path(made));
  HONE_TRY(make_directories(made));
  HONE_TRY(protocol::write_samples(made, fixed.data.samples));
  HONE_TRY(put_in_place(made, samples));
  return Fixed{std::move(fixed.protocol), std::move(fixed.data.source), std::move(fixed.data.notes)};
}

Status WorkerLab::occupy(const run::Plan& plan, const std::function<void()>& on_wait,
                         const std::function<bool()>& cancelled) {
  // The fake engine has its own clock: it disturbs nobody and nobody disturbs it.
  if (!is_fake(plan)) device_.emplace(HONE_TRY(DeviceLock::take(DeviceLock::of_cpu(), on_wait, cancelled)));
  return {};
}

Status WorkerLab::begin(const run::Record& record) {
  plan_ = record.plan;
  folder_ = record.folder;
  protocol_ = record.protocol;
  cpus_ = measure::cpus_for(plan_.threads);
  return {};
}

worker::Options WorkerLab::worker_options(const engine::Configuration& what, const fs::path& log,
                                          const Task& task) const {
  worker::Options options;
  options.configuration = what;
  options.data = folder_ / run::kSamples;
  options.log = log;
  options.cpus = cpus_;
  options.cancelled = task.cancelled;
  return options;
}

Status WorkerLab::reference(const fs::path& outputs, const Task& task) {
  const fs::path made = half_made(outputs), log = half_made(task.folder / "reference.log");
  HONE_TRY(remove_path(made));
  HONE_TRY(make_directories(made));
  auto worker = HONE_TRY(worker::Worker::start(worker_options(reference_of(plan_), log, task)));
  HONE_TRY(worker->run_samples(made));
  HONE_TRY(remove_path(log));
  return put_in_place(made, outputs);
}

Result<accuracy::Report> WorkerLab::check(const engine::Configuration& tried, accuracy::Class accuracy_class,
                                          const Task& task, run::TrialLogs* logs) {
  const fs::path outputs = half_made(task.folder / "outputs"), log = half_made(task.folder / "worker.log");
  HONE_TRY(make_directories(outputs));
  HONE_TRY(remove_path(log));
  run::StepLog step;
  step.command = fmt::format("open {} by {} and run all samples", tried.model.filename().string(), tried.engine);
  step.started = utc_now_iso8601();
  Status ran;
  {
    auto worker = worker::Worker::start(worker_options(tried, log, task));
    if (worker) step.pid = (*worker)->pid();
    ran = worker ? (*worker)->run_samples(outputs) : Status(fail(worker.error()));
  }
  step.ended = utc_now_iso8601();
  step.output = text_of(log) + (ran ? "" : ran.error().line() + "\n");
  step.exit_code = ran ? 0 : exit_status(ran.error().kind);
  logs->converted = step;
  HONE_TRY(remove_path(log));
  if (!ran) return fail(std::move(ran).error());
  step.command = "compare the outputs with reference/";
  step.output.clear();
  auto report =
      accuracy::compare_folders(folder_ / run::kReference, outputs, plan_.gate, accuracy_class, protocol_->synthetic);
  step.exit_code = report ? (report->passed ? 0 : 1) : exit_status(report.error().kind);
  if (!report) step.output = report.error().line() + "\n";
  logs->accuracy = step;
  HONE_TRY(remove_path(outputs));
  return report;
}

measure::Bench WorkerLab::bench(const Task& task, std::vector<measure::BlockRow>* blocks) const {
  measure::Bench bench;
  bench.protocol = *protocol_;
  bench.data = folder_ / run::kSamples;
  bench.log_dir = half_made(task.folder / "workers");
  bench.cpus = cpus_;
  bench.seed = task.seed;
  bench.budget_s = task.budget_s;
  bench.calibration = calibration_;
  bench.watch = watch_;
  bench.progress.cancelled = task.cancelled;
  if (blocks != nullptr)
    bench.progress.on_block = [blocks](const measure::BlockRow& row) {
      blocks->push_back(row);
      blocks->back().block.samples_ms.clear();  // the journal has quantiles; whole samples are in measurement.json
    };
  if (task.on_pair)
    bench.progress.on_pair = [task](int pairs, const measure::Look* look) {
      task.on_pair(pairs, look == nullptr ? std::nullopt : std::optional(std::exp(look->mean)));
    };
  return bench;
}

Result<measure::Measurement> WorkerLab::measure(const engine::Configuration& what, const Task& task) {
  const measure::Bench b = bench(task, nullptr);
  HONE_TRY(make_directories(b.log_dir));
  auto result = measure::measure(what, b);
  HONE_TRY(remove_path(b.log_dir));
  return result;
}

Result<Compared> WorkerLab::compare(const engine::Configuration& a, const engine::Configuration& b, const Task& task) {
  Compared out;
  const measure::Bench where = bench(task, &out.blocks);
  HONE_TRY(make_directories(where.log_dir));
  auto result = measure::compare(a, b, where);
  HONE_TRY(remove_path(where.log_dir));
  out.comparison = HONE_TRY(std::move(result));
  return out;
}

Result<Compared> WorkerLab::compare_fixed(const engine::Configuration& a, const engine::Configuration& b, int pairs,
                                          const Task& task) {
  Compared out;
  const measure::Bench where = bench(task, &out.blocks);
  HONE_TRY(make_directories(where.log_dir));
  auto result = measure::compare_fixed(a, b, where, pairs);
  HONE_TRY(remove_path(where.log_dir));
  out.comparison = HONE_TRY(std::move(result));
  return out;
}

Result<double> WorkerLab::screen(const engine::Configuration& a, const engine::Configuration& b, const Task& task) {
  const measure::Bench where = bench(task, nullptr);
  HONE_TRY(make_directories(where.log_dir));
  auto result = measure::screen(a, b, where);
  HONE_TRY(remove_path(where.log_dir));
  return result;
}

Result<diagnose::Diagnosis> WorkerLab::profile(const engine::Configuration& what, double latency_ms, const Task& task) {
  worker::Options options = worker_options(what, half_made(task.folder / "collect_profile.log"), task);
  options.profile_dir = task.folder;
  const int iterations = static_cast<int>(
      std::clamp(kProfileMs / std::max(latency_ms, 0.01), double{kLeastProfiled}, double{kMostProfiled}));
  engine::RawProfile raw;
  {
    auto worker = HONE_TRY(worker::Worker::start(options));
    raw = HONE_TRY(worker->profile(iterations));
  }
  std::error_code code;
  fs::rename(options.log, task.folder / "collect_profile.log", code);
  if (raw.files.empty()) return fail(tool_failed("the engine's profiler wrote nothing", what.engine));
  const model::Model* model = HONE_TRY(model_of(what.model));
  const diagnose::Machine machine = is_fake(plan_) ? diagnose::describe_machine() : HONE_TRY(diagnose::machine_peaks());
  return diagnose::diagnose_file(raw.files.front(), *model, machine, {protocol_->shapes, plan_.threads, latency_ms});
}

Result<const model::Model*> WorkerLab::model_of(const fs::path& path) {
  if (!loaded_ || loaded_path_ != path) {
    loaded_.reset();
    loaded_ = HONE_TRY(model::Model::load(path));
    loaded_path_ = path;
    HONE_TRY(loaded_->infer_shapes());
  }
  return &*loaded_;
}

Result<change::Context> WorkerLab::context(const engine::Configuration& best, const diagnose::Diagnosis& diagnosis) {
  const model::Model* model = HONE_TRY(model_of(best.model));
  return change::Context{best,        *model,       diagnosis, !protocol_->synthetic, plan_.engines, protocol_->shapes,
                         plan_.model, plan_.threads};
}

Result<std::vector<Candidate>> WorkerLab::propose(const engine::Configuration& best,
                                                  const diagnose::Diagnosis& diagnosis) {
  const change::Context here = HONE_TRY(context(best, diagnosis));
  std::vector<Candidate> out;
  for (const change::Change* change : changes_) {
    std::string why_not;
    for (change::Proposal& proposal : change->propose(here, &why_not))
      out.push_back({std::move(proposal), std::string(change::to_text(change->info().kind))});
  }
  return out;
}

Result<change::Applied> WorkerLab::apply(const change::Proposal& proposal, const engine::Configuration& best,
                                         const diagnose::Diagnosis& diagnosis, const fs::path& folder) {
  const auto found = std::find_if(changes_.begin(), changes_.end(),
                                  [&](const change::Change* c) { return c->info().id == proposal.change; });
  if (found == changes_.end())
    return fail(usage_error("this hone has no such change", proposal.change, "use the hone that made the run"));
  return (*found)->apply(proposal, HONE_TRY(context(best, diagnosis)), folder);
}

Status WorkerLab::copy_model(const fs::path& model, const fs::path& to) {
  // Inside the run by hard link; the user's original always byte by byte, since writing to one name of a linked file
  // changes the other.
  const bool ours = run::portable(model, folder_) != model;
  HONE_TRY(ours ? run::link_or_copy(model, to) : run::copy_bytes(model, to));
  if (model::Model::load(to)) return {};
  // Its external data is not here: written anew with its weights beside it.
  HONE_TRY(remove_path(to));
  model::Model loaded = HONE_TRY(model::Model::load(model));
  model::SaveOptions options;
  options.share_unchanged = false;
  HONE_TRY(loaded.save(to, options));
  return {};
}

}  // namespace hone::loop
