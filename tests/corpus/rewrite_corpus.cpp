// Every model below the folders given goes through all rewrites, and must give the same outputs as before.
//
//   rewrite_corpus FOLDER...
//
// Test-suite models run on their own test_data_set_N; models without one on seeded samples. Those whose opset is older
// than what ONNX Runtime runs are compared after both sides were converted; what it still does not run (inputs that
// are sequences) is rewritten and checked, and counted with the reason. Prints all counts in one line; exit status 1
// when any output changed, any rewrite failed, or nothing was found. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "change/rewrite/driver.h"
#include "protocol/data.h"
#include "support/differential.h"

namespace {

namespace fs = std::filesystem;
using namespace hone;

struct Tally {
  int models = 0, rewritten = 0, compared = 0, unchanged = 0, converted = 0, failed = 0;
  std::map<std::string, int> not_compared;  // reason -> models that were rewritten
  std::map<std::string, size_t> fired, refused;
  size_t nodes_before = 0, nodes_after = 0;
};

std::vector<fs::path> models_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error); it != fs::recursive_directory_iterator();
       it.increment(error))
    if (it->path().extension() == ".onnx") found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<model::NamedTensors> samples_of(const fs::path& file, const model::Model& model) {
  std::vector<model::NamedTensors> samples;
  for (int k = 0;; ++k) {
    const fs::path folder = file.parent_path() / fmt::format("test_data_set_{}", k);
    if (!fs::exists(folder)) break;
    auto data = protocol::load_data(folder, model.graph(), {});
    if (data) samples.insert(samples.end(), data->samples.begin(), data->samples.end());
  }
  // The light networks take a second each: one sample is enough.
  if (samples.empty()) samples = test::differential_samples(model.graph(), {1, accuracy::Class::kReassociating});
  if (samples.size() > 1 && model.graph().node_count() > 100) samples.resize(1);
  return samples;
}

void fail_model(const fs::path& file, const std::string& why, Tally& tally) {
  ++tally.failed;
  fmt::print("FAILED {}: {}\n", file.string(), why);
}

void count(const change::RewriteReport& report, Tally& tally) {
  tally.rewritten += report.fired() > 0 ? 1 : 0;
  tally.nodes_before += report.nodes_before;
  tally.nodes_after += report.nodes_after;
  for (const change::RuleReport& rule : report.rules) {
    tally.fired[rule.id] += rule.fired;
    tally.refused[rule.id] += rule.refused.size();
  }
}

// ONNX Runtime has kernels for operators from opset 7 on; the converter brings both sides there.
constexpr int64_t kOldestRun = 7, kConvertTo = 13;

// Why ONNX Runtime can't run a model here, without names and paths, so that equal reasons are counted together.
std::string reason_of(const model::Model& original, const Error& error) {
  const model::Graph& graph = original.graph();
  for (const model::ValueId id : graph.inputs())
    if (graph.value(id).type.kind != model::TypeKind::kTensor) return "an input is a sequence or optional";
  return error.what;
}

void compare(const fs::path& file, const model::Model& original, const model::Model& changed, Tally& tally) {
  const test::DifferentialOptions options{1, accuracy::Class::kReassociating};
  const auto samples = samples_of(file, original);
  auto comparison = test::compare_models_on(original, changed, samples, options);
  if (!comparison && original.opset() < kOldestRun) {
    model::Model before = original.clone(), after = changed.clone();
    if (before.convert_opset(kConvertTo) && after.convert_opset(kConvertTo)) {
      comparison = test::compare_models_on(before, after, samples, options);
      tally.converted += comparison ? 1 : 0;
    }
  }
  if (!comparison) {
    ++tally.not_compared[reason_of(original, comparison.error())];
    fmt::print("not compared {}: {}\n", file.string(), comparison.error().line());
    return;
  }
  ++tally.compared;
  if (!comparison->same) return fail_model(file, comparison->why, tally);
  ++tally.unchanged;
}

void try_model(const fs::path& file, Tally& tally) {
  ++tally.models;
  auto original = model::Model::load(file);
  if (!original) return fail_model(file, original.error().line(), tally);
  model::Model changed = original->clone();
  change::RewriteOptions options;
  options.check_each_rule = true;
  options.check_result = original->check().has_value();  // some models of the suite are invalid by today's checker
  const auto report = change::rewrite(changed, change::all_rules(), options);
  if (!report) return fail_model(file, report.error().line(), tally);
  count(*report, tally);
  const auto again = change::rewrite(changed, change::all_rules(), options);
  if (!again || again->fired() > 0) return fail_model(file, "rewriting twice is not rewriting once", tally);
  if (report->fired() == 0) return;
  compare(file, *original, changed, tally);
}

}  // namespace

int main(int argc, char** argv) {
  Tally tally;
  for (int i = 1; i < argc; ++i)
    for (const fs::path& file : models_below(argv[i])) try_model(file, tally);
  size_t fired = 0, refused = 0;
  for (const auto& [id, times] : tally.fired) {
    fmt::print("  {}: fired {}, refused {}\n", id, times, tally.refused[id]);
    fired += times;
    refused += tally.refused[id];
  }
  std::string reasons;
  for (const auto& [why, models] : tally.not_compared)
    reasons += fmt::format("{}{} x {}", reasons.empty() ? "" : "; ", models, why);
  fmt::print(
      "models {}, rewritten {}, compared {} ({} of them at opset {}), unchanged outputs {}, failed {}, rules fired {}, "
      "refusals {}, nodes {} -> {}, not compared: {}\n",
      tally.models, tally.rewritten, tally.compared, tally.converted, kConvertTo, tally.unchanged, tally.failed, fired,
      refused, tally.nodes_before, tally.nodes_after, reasons.empty() ? "none" : reasons);
  return tally.failed == 0 && tally.models > 0 ? 0 : 1;
}
