// SPDX-License-Identifier: Apache-2.0
#include "loop/optimize.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "change/change.h"
#include "engine/engine.h"
#include "loop/session.h"
#include "loop/worker_lab.h"

namespace hone::loop {

namespace {

// The engines of a Run: those named, all of them available; or the default one and every other that is available.
Result<std::vector<std::string>> engines_of(const std::vector<std::string>& named) {
  if (!named.empty()) {
    for (const std::string& id : named) {
      const engine::Engine* engine = HONE_TRY(engine::find_engine(id));
      const engine::Capabilities capabilities = engine->probe();
      if (!capabilities.available) return fail(tool_failed("engine not available", id, capabilities.reason));
    }
    return named;
  }
  std::vector<std::string> out = {"onnxruntime"};
  for (const engine::Engine* engine : engine::all_engines())
    if (engine->id() != "onnxruntime" && engine->id() != "fake" && engine->probe().available)
      out.emplace_back(engine->id());
  return out;
}

Status check_changes(const std::vector<std::string>& ids, const char* flag) {
  std::vector<std::string> known;
  for (const change::Change* change : change::all_changes()) known.push_back(change->info().id);
  for (const std::string& id : ids) {
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    const std::string close = nearest(id, known);
    return fail(usage_error(
        fmt::format("unknown change in {}", flag), id,
        close.empty() ? "`hone optimize --dry-run` lists those that apply" : "did you mean " + close + "?"));
  }
  return {};
}

Result<run::Plan> plan_of(const OptimizeOptions& options) {
  HONE_TRY(check_changes(options.only, "--only"));
  HONE_TRY(check_changes(options.skip, "--skip"));
  run::Plan plan;
  plan.model = fs::absolute(options.model).lexically_normal();
  if (!options.data.empty()) plan.data = fs::absolute(options.data).lexically_normal();
  plan.shapes = options.shapes;
  plan.engines = HONE_TRY(engines_of(options.engines));
  plan.goal = options.goal;
  plan.budget_s = options.budget_s;
  plan.max_trials = options.max_trials;
  plan.gate = options.gate;
  plan.only = options.only;
  plan.skip = options.skip;
  plan.seed = options.seed;
  plan.threads = options.threads;
  plan.sample_limit = options.sample_limit;
  plan.keep = options.keep;
  plan.command_line = options.command_line;
  return plan;
}

// Reads model and data once before a run directory is made: bad input leaves nothing behind.
Status check_input(const run::Plan& plan, Lab& lab) {
  const ScratchFolder scratch = HONE_TRY(ScratchFolder::create("hone-check"));
  HONE_TRY(lab.fix(plan, scratch.path() / "samples"));
  return {};
}

}  // namespace

Result<Outcome> optimize(const OptimizeOptions& options, Listener& listener) {
  WorkerLab lab;
  if (!options.resume.empty()) return resume_run(options.resume, lab, listener);
  const run::Plan plan = HONE_TRY(plan_of(options));
  HONE_TRY(check_input(plan, lab));
  if (!options.dry_run) return start_run(plan, options.out, lab, listener);
  if (!options.out.empty()) return plan_run(plan, options.out, lab, listener);
  const ScratchFolder scratch = HONE_TRY(ScratchFolder::create("hone-dry-run"));
  return plan_run(plan, scratch.path(), lab, listener);
}

}  // namespace hone::loop
