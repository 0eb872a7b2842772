// SPDX-License-Identifier: Apache-2.0
#include "run/checklist.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/best.h"
#include "run/layout.h"
#include "run/trial_files.h"

namespace hone::run {

namespace {

class List {
 public:
  explicit List(std::vector<Check>& out) : out_(out) {}
  void open(std::string name) { name_ = std::move(name); }
  void item(std::string text, bool passed, std::string note) {
    out_.push_back({name_, std::move(text), passed, passed ? std::string() : std::move(note)});
  }

 private:
  std::vector<Check>& out_;
  std::string name_;
};

bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::exists(path, code);
}

// How many settings (the engine counts as one) differ between a Trial and its parent; a changed model is one more.
size_t differences(const engine::Configuration& a, const engine::Configuration& b) {
  if (a.engine != b.engine) return 1;  // other engine, other settings: one change
  size_t count = a.model == b.model ? 0 : 1;
  for (const auto& [id, value] : b.settings) {
    auto old = a.settings.find(id);
    if (old == a.settings.end() || old->second != value) ++count;
  }
  for (const auto& [id, value] : a.settings)
    if (!b.settings.contains(id)) ++count;
  return count;
}

void check_trial(const Trial& t, const Record& record, List& list) {
  list.open(fmt::format("trial {}", t.number));
  const std::vector<std::string> missing = missing_logs(record.folder / t.dir);
  list.item("four logs", missing.empty(), fmt::format("missing: {}", fmt::join(missing, ", ")));
  const Trial* parent = record.trial(t.parent);
  if (parent != nullptr && t.stage != Stage::kCombination && t.state == State::kJudged && t.kept()) {
    const size_t expected = std::max<size_t>(1, t.kind == "setting" ? t.proposal.params.size() : 1);
    const size_t found = differences(parent->configuration, t.configuration);
    // A rewritten model may bring the engine setting that its nodes need; another engine would be a second change.
    const bool rewritten = t.kind == "graph" || t.kind == "quantize";
    const bool one = rewritten ? parent->configuration.engine == t.configuration.engine : found <= expected;
    list.item("one change only", one, fmt::format("{} things differ from trial {}", found, t.parent));
  }
  if (!t.kept()) return;
  list.item("error within the gate", t.accuracy && t.accuracy->passed, "kept without passing the accuracy gate");
  list.item("the product loads and runs on every sample", t.accuracy && t.accuracy->samples > 0, "it never ran");
  if (t.stage != Stage::kCombination)
    list.item("gain clear under one protocol",
              t.comparison && t.comparison->speedup.low > measure::kMinimumEffect && record.protocol &&
                  t.comparison->protocol_hash == record.protocol->hash(),
              "kept without a clear gain under the run's protocol");
  list.item("profile kept", record.profile_of(t.number) != nullptr, "a kept change was not profiled again");
}

bool one_protocol(const Record& record) {
  if (!record.protocol) return false;
  const std::string hash = record.protocol->hash();
  return std::all_of(record.trials.begin(), record.trials.end(), [&](const Trial& t) {
    return (!t.comparison || t.comparison->protocol_hash == hash) &&
           (!t.measurement || t.measurement->protocol_hash == hash);
  });
}

void check_loop(const Record& record, List& list) {
  list.open("loop");
  const Trial* baseline = record.baseline();
  list.item("baseline before any change", baseline != nullptr && baseline->measurement && record.noise,
            "no baseline or no A/A");
  list.item("profile before any change", record.profile_of(0) != nullptr, "the baseline was not profiled");
  list.item("protocol constant", one_protocol(record), "measurements under different protocols");
  list.item("no verdict from a profile",
            std::all_of(record.trials.begin(), record.trials.end(),
                        [](const Trial& t) { return !t.kept() || t.comparison.has_value(); }),
            "a change was kept without a comparison");
  const bool kept = record.best() != nullptr && record.best()->number > 0;
  list.item("final re-measurement", !kept || record.final_trial() != nullptr,
            "best was not measured beside the original");
  if (const Trial* last = record.final_trial(); last != nullptr && last->comparison)
    list.item("the final re-measurement confirms a gain", last->comparison->speedup.low > 1,
              fmt::format("{:.3f} [{:.3f}, {:.3f}]", last->comparison->speedup.estimate, last->comparison->speedup.low,
                          last->comparison->speedup.high));
}

void check_delivery(const Record& record, List& list) {
  list.open("delivery");
  const fs::path best = record.folder / kBest;
  for (const char* name : {"settings.json", "reproduce.sh", kSums})
    list.item(std::string("best/") + name, is_there(best / name), "missing");
  const Trial* trial = record.best();
  const bool model = trial != nullptr && is_there(best / best_model_name(record));
  list.item("deployable model", model, "best/ holds no model");
  const Result<std::string> sha = sha256_of_file(record.plan.model);
  list.item("original untouched", sha && *sha == record.model_sha256,
            sha ? "its SHA-256 has changed since the run began" : sha.error().line());
}

}  // namespace

std::vector<Check> checklist(const Record& record) {
  std::vector<Check> out;
  List list(out);
  for (const Trial& t : record.trials)
    if (t.state == State::kJudged && t.number > 0) check_trial(t, record, list);
  if (record.progress != Progress::kFinished) return out;
  check_loop(record, list);
  check_delivery(record, list);
  return out;
}

}  // namespace hone::run
