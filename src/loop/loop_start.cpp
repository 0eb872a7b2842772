// The loop up to the first Change: Protocol, accuracy reference, baseline, and the baseline beside itself.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "loop/stop.h"
#include "run/layout.h"

namespace hone::loop {

namespace {

// The longest the A/A may take, for machines that are never quiet: usually 5 s (measuring.md section 5).
constexpr double kNoiseShare = 0.15, kNoiseSeconds = 60;

}  // namespace

Status Loop::occupy_device() {
  HONE_TRY(lab_.occupy(
      record().plan, [&] { listener_.line("another hone measures on this machine: waiting for it"); },
      [&] { return listener_.cancelled(); }));
  run_.restart_clock();
  return {};
}

Status Loop::fix_protocol() {
  if (!record().protocol) {
    say("protocol", "reading model and data");
    Fixed fixed = HONE_TRY(lab_.fix(record().plan, run_.folder() / run::kSamples));
    HONE_TRY(run_.set_protocol(fixed.protocol, std::move(fixed.source), std::move(fixed.notes)));
  }
  return lab_.begin(record());
}

Status Loop::run_reference() {
  if (record().has_reference) return {};
  say("reference", "outputs of the original with all optimizations off");
  HONE_TRY(stop_if_cancelled());
  HONE_TRY(lab_.reference(run_.folder() / run::kReference, task(nullptr, "reference")).map_error([](Error e) {
    // Not bad input: the model may be fine, but without a reference nothing can be judged (exit 3).
    if (fails_trial(e)) e.kind = ErrorKind::kToolFailed;
    return std::move(e).with("the accuracy reference: onnxruntime without optimizations");
  }));
  return run_.set_reference();
}

Status Loop::measure_baseline() {
  if (record().baseline() != nullptr) return {};
  say("baseline", "accuracy and latency of the original", 0);
  run::Trial baseline;
  baseline.stage = run::Stage::kBaseline;
  baseline.state = run::State::kJudged;
  baseline.configuration = original();
  baseline.dir = run::kProfileFolder;
  baseline.started = utc_now_iso8601();
  baseline.vs_original = measure::Interval{1, 1, 1};
  const double start = run_.elapsed_s();
  run::TrialLogs logs;
  HONE_TRY(stop_if_cancelled());
  auto in_baseline = [](Error e) { return std::move(e).with("the baseline"); };
  baseline.accuracy =
      HONE_TRY(lab_.check(baseline.configuration, accuracy::Class::kReassociating, task(&baseline, "check"), &logs)
                   .map_error(in_baseline));
  baseline.measurement =
      HONE_TRY(lab_.measure(baseline.configuration, task(&baseline, "measure")).map_error(in_baseline));
  baseline.seconds = run_.elapsed_s() - start;
  HONE_TRY(run_.baseline(baseline, logs));
  for (const std::string& warning : baseline.measurement->warnings) listener_.line("warning: " + warning);
  if (baseline.accuracy->passed) return {};
  const std::string text = "the original itself departs from the reference: " + baseline.accuracy->why;
  listener_.line("warning: " + text);
  return run_.note("warning", text);
}

Status Loop::measure_noise() {
  if (record().noise) return {};
  say("noise", "the original beside itself", 0);
  HONE_TRY(stop_if_cancelled());
  Task where = task(record().baseline(), "noise");
  where.budget_s = share_of_budget(kNoiseShare, kNoiseSeconds);
  const Compared noise = HONE_TRY(lab_.compare_fixed(original(), original(), kNoisePairs, where));
  HONE_TRY(run_.noise(noise.comparison, noise.blocks));
  for (const std::string& warning : noise.comparison.warnings) listener_.line("warning: " + warning);
  const std::optional<double> least = measure::smallest_provable(noise.comparison);
  listener_.line(
      fmt::format("baseline {:.4g} ms; the smallest gain that can be proven here is {}", *record().baseline_ms(),
                  least ? fmt::format("{:.1f} %", (*least - 1) * 100) : "not known: the machine is too busy"));
  return {};
}

}  // namespace hone::loop
