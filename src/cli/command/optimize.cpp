// hone optimize: the whole loop: baseline, profile, diagnosis, one change at a time, verdicts, report.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/log.h"
#include "cli/progress.h"
#include "loop/optimize.h"
#include "report/report.h"
#include "report/sentences.h"
#include "run/checklist.h"

namespace hone::cli {

namespace {

struct Flags {
  std::string model, data, out, resume, goal, budget, engines, accuracy = "numeric", quality_command, keep = "best";
  std::vector<std::string> shapes, only, skip;
  double max_abs = -1, min_cosine = -2, topk = -1;
  uint64_t seed = 42;
  int max_trials = 0;
  size_t samples = 64;
  bool dry_run = false, lower_is_better = false;
  double quality_loss = accuracy::Gate().quality_loss;
};

std::vector<std::string> words(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    for (size_t at = 0; at <= text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      if (comma > at) out.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  return out;
}

// A run goes on with the flags of its start: any other beside --resume would be ignored.
Status require_nothing_beside_resume(const CLI::App& app) {
  static const std::vector<std::string> allowed = {"--resume", "--json", "--quiet", "--verbose", "--log-file"};
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && std::find(allowed.begin(), allowed.end(), option->get_name()) == allowed.end())
      return fail(usage_error("--resume goes on with the flags of the run's start, it takes no other",
                              option->get_name(), "leave it out, or start a new run"));
  return {};
}

Result<loop::OptimizeOptions> options_from(const Flags& flags, const Global& global, const CLI::App& app) {
  loop::OptimizeOptions options;
  options.resume = flags.resume;
  if (!flags.resume.empty()) {
    HONE_TRY(require_nothing_beside_resume(app));
    return options;
  }
  if (flags.model.empty())
    return fail(usage_error("optimize needs a model", {}, "hone optimize model.onnx --data samples/"));
  options.model = flags.model;
  options.data = flags.data;
  options.shapes = HONE_TRY(parse_shapes(flags.shapes));
  options.engines = words({flags.engines});
  if (!flags.goal.empty()) options.goal = HONE_TRY(run::Goal::parse(flags.goal));
  if (!flags.budget.empty()) options.budget_s = HONE_TRY(parse_duration(flags.budget));
  options.max_trials = flags.max_trials;
  options.gate.level = flags.accuracy;
  options.gate.quality_command = flags.quality_command;
  options.gate.quality_lower_is_better = flags.lower_is_better;
  options.gate.quality_loss = flags.quality_loss;
  if (flags.max_abs >= 0) options.gate.max_abs = flags.max_abs;
  if (flags.min_cosine >= -1) options.gate.min_cosine = flags.min_cosine;
  if (flags.topk >= 0) options.gate.topk = flags.topk;
  if (flags.accuracy == "quality" && flags.quality_command.empty())
    return fail(usage_error("--accuracy quality needs --quality-cmd", {}, "give the command that prints a number"));
  options.only = words(flags.only);
  options.skip = words(flags.skip);
  options.seed = flags.seed;
  options.out = flags.out;
  options.dry_run = flags.dry_run;
  options.threads = global.threads;
  options.sample_limit = flags.samples;
  options.keep = HONE_TRY(run::keep_from(flags.keep));
  options.command_line = global.command_line;
  return options;
}

std::string clock_text(double seconds) {
  const int whole = static_cast<int>(std::max(0.0, seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

class Screen final : public loop::Listener {
 public:
  explicit Screen(bool enabled) : progress_("", enabled) {}
  void update(const loop::Update& update) override {
    std::string text = update.phase;
    if (update.trial > 0) text += fmt::format(" {}", update.trial);
    if (!update.text.empty()) text += ": " + update.text;
    if (update.best_speedup) text += fmt::format("  | best {:.2f} x", *update.best_speedup);
    text += update.budget_s > 0 ? fmt::format("  | {} left", clock_text(update.budget_s - update.elapsed_s))
                                : "  | " + clock_text(update.elapsed_s);
    progress_.show(text);
  }
  void line(const std::string& text) override { progress_.line(text); }
  bool cancelled() override { return interrupted_by_signal(); }
  void done() { progress_.done(); }

 private:
  Progress progress_;
};

void print_plan(const loop::Outcome& outcome) {
  fmt::print("{:<46} {:<9} {:>9} {:>9} {:>7}  {}\n", "change", "kind", "predicted", "at most", "chance", "hypothesis");
  for (const run::Planned& p : outcome.planned)
    fmt::print("{:<46} {:<9} {:>7.2f} x {:>7.2f} x {:>6.0f}%  {}\n", p.proposal.key(), p.kind, p.proposal.predicted,
               p.proposal.upper_bound, p.chance * 100, p.proposal.hypothesis);
  if (outcome.planned.empty()) fmt::print("nothing is left to try\n");
}

void print_result(const loop::Outcome& outcome) {
  const char* bold = terminal_colours(1) ? "\033[1m" : "";
  const char* plain = terminal_colours(1) ? "\033[0m" : "";
  fmt::print("\n{}{}{}\n", bold, report::headline(outcome), plain);
  if (const accuracy::Report* accuracy = report::final_accuracy(outcome))
    fmt::print("accuracy: {}\n", report::gate_sentence(*accuracy));
  fmt::print("stopped because of {}\n", report::stop_sentence(outcome));
  fmt::print("model:  {}\nreport: {}\n", (outcome.folder / "best").string(), (outcome.folder / "report.html").string());
}

// The checklist of artifacts.md section 9: a failed item is exit status 1.
Result<int> finish(const loop::Outcome& outcome, const Flags& flags, const Global& global) {
  if (flags.dry_run) {
    if (global.json)
      print_document("optimize", outcome.to_json());
    else
      print_plan(outcome);
    return 0;
  }
  HONE_TRY(report::write_reports(outcome));
  int status = 0;
  for (const run::Check& check : run::checklist(outcome)) {
    if (check.passed) continue;
    status = 1;
    log_line(fmt::format("hone: check does not hold: {}: {}: {}", check.list, check.item, check.note));
  }
  if (global.json)
    print_document("optimize", outcome.to_json());
  else if (!global.quiet)
    print_result(outcome);
  return status;
}

Action declare(CLI::App& app, Global& global) {
  auto flags = std::make_shared<Flags>();
  app.add_option("MODEL", flags->model, "an ONNX file");
  app.add_option("--data", flags->data, "samples: a folder of .npz or .npy, one .npz, test_data_set_N, or JSON lines")
      ->type_name("DIR|FILE");
  app.add_option("--shape", flags->shapes, "fix an input's shape (repeatable)")->type_name("name:1x3x224x224");
  app.add_option("--engine", flags->engines, "engines that may be used, the first for the baseline")
      ->type_name("NAME[,NAME]");
  app.add_option("--goal", flags->goal, "stop when it is met")->type_name("latency=5ms|speedup=2x|memory=500MB");
  app.add_option("--budget", flags->budget, "time for the whole run")->type_name("10m");
  app.add_option("--max-trials", flags->max_trials, "at most so many trials")->type_name("N");
  app.add_option("--accuracy", flags->accuracy, "bitwise, numeric or quality")
      ->check(CLI::IsMember({"bitwise", "numeric", "quality"}));
  app.add_option("--max-abs", flags->max_abs, "largest absolute difference allowed");
  app.add_option("--min-cosine", flags->min_cosine, "smallest cosine allowed");
  app.add_option("--topk", flags->topk, "smallest share of equal top-1 classes allowed (0..1)");
  CLI::Option* quality =
      app.add_option("--quality-cmd", flags->quality_command,
                     "a command that prints a number for a folder of outputs ($1); larger is better unless "
                     "--quality-lower-is-better")
          ->type_name("CMD");
  app.add_flag("--quality-lower-is-better", flags->lower_is_better, "the number is an error: smaller is better")
      ->needs(quality);
  app.add_option("--quality-loss", flags->quality_loss, "part of the original's number that may be lost (default 0.01)")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("SHARE")
      ->needs(quality);
  app.add_option("--only", flags->only, "only these changes")->type_name("CHANGE-ID[,...]");
  app.add_option("--skip", flags->skip, "not these changes")->type_name("CHANGE-ID[,...]");
  app.add_option("--seed", flags->seed, "of synthetic data and of the order of blocks")->type_name("N");
  app.add_option("--samples", flags->samples, "use at most so many samples (0 = all)")->type_name("N");
  app.add_option("--keep", flags->keep, "models that stay on disk: best, logs or all")
      ->check(CLI::IsMember({"best", "logs", "all"}));
  app.add_option("--out", flags->out, "the run directory (default: a new one below runs/)")->type_name("RUNDIR");
  app.add_option("--resume", flags->resume, "go on with an interrupted run; other flags are kept from its start")
      ->type_name("RUNDIR");
  app.add_flag("--dry-run", flags->dry_run, "measure and diagnose, list the changes with predictions, and stop");
  return [flags, &global, &app]() -> Result<int> {
    loop::OptimizeOptions options = HONE_TRY(options_from(*flags, global, app));
    Screen screen(!global.quiet);
    const loop::Outcome outcome = HONE_TRY(loop::optimize(options, screen));
    screen.done();
    return finish(outcome, *flags, global);
  };
}

}  // namespace

extern const Command optimize_command;
const Command optimize_command = {"optimize", "make a model faster and prove it: the whole loop",
                                  "  hone optimize model.onnx --data samples/ --budget 10m\n"
                                  "  hone optimize model.onnx --shape x:1x3x224x224 --goal speedup=1.5x\n"
                                  "  hone optimize model.onnx --data samples/ --skip int8-dynamic --dry-run\n"
                                  "  hone optimize --resume runs/20260131_model_optimization",
                                  declare};

}  // namespace hone::cli
