// decisions: how often the deciding rule is right on this machine, on real models in real worker processes.
//   A/A      a model beside a byte-for-byte copy of itself: "keep" is a false gain
//   +10, +6  a model beside itself with extra work of a known share: "keep" is right
// The extra work is a chain of Sin nodes on a value of the first input, its length calibrated by measuring. Each
// comparison is a line of --out; a second call goes on where the first ended. Nothing here asserts on time.
//
//   decisions --models DIR --inputs DIR [--only a,b] [--copies 40] [--gains 20] [--out decisions.jsonl]
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/statistics.h"
#include "measure/measure.h"
#include "model/model.h"
#include "protocol/fix.h"

namespace {

using namespace hone;

constexpr int64_t kElements = 512;   // of the extra work's tensor: some microseconds a node, below any threading
constexpr int64_t kFirstNodes = 24;  // of the first guess
constexpr double kLongest = 120;     // seconds of one comparison
constexpr int kCalibrationPairs = 8;
constexpr double kCloseEnough = 0.003;  // of the wanted share: calibration ends

struct Options {
  fs::path models, inputs, out = "decisions.jsonl";
  std::vector<std::string> only;
  int copies = 40, gains = 20;
};

struct Subject {
  std::string name;
  engine::Configuration original, copy;
  std::map<std::string, engine::Configuration> slowed;  // "+10" -> with 10 % extra work
  measure::Bench bench;
};

// The model with `nodes` extra Sin nodes that read the first input, so that nothing can fold them away.
Result<model::Model> with_extra_work(const model::Model& original, int64_t nodes) {
  model::Model out = original.clone();
  model::Graph& graph = out.graph();
  const auto add = [&](const char* op, std::vector<model::ValueId> inputs,
                       std::vector<std::pair<std::string, model::Attribute>> attributes = {}) {
    const model::ValueId value = graph.add_value("extra_work");
    graph.add_node({op, std::move(inputs), {value}, std::move(attributes)});
    return value;
  };
  const auto numbers = [&](std::vector<int64_t> of) {
    const auto count = static_cast<int64_t>(of.size());
    return graph.add_constant("extra_work_constant", model::Tensor::of<int64_t>({count}, of));
  };
  const model::ValueId flat = add("Reshape", {graph.inputs().front(), numbers({-1})});
  const model::ValueId one = add("Gather", {flat, numbers({0})}, {{"axis", int64_t{0}}});
  const model::ValueId real = add("Cast", {one}, {{"to", static_cast<int64_t>(model::DType::kFloat)}});
  model::ValueId x = add("Expand", {real, numbers({kElements})});
  for (int64_t i = 0; i < nodes; ++i) x = add("Sin", {x});
  const model::ValueId last = add("ReduceMax", {x}, {{"keepdims", int64_t{1}}});
  graph.set_type(last, model::Type::tensor(model::DType::kFloat, model::Shape{model::Dim{1, {}}}));
  graph.add_output(last);
  return out;
}

// Writes the model slowed down by `share` (0.10 = 10 %): the chain's length from two or three measurements.
Result<engine::Configuration> slowed(const Subject& subject, const model::Model& model, double share,
                                     const fs::path& folder) {
  engine::Configuration out = subject.original;
  out.model = folder / fmt::format("slowed_{:.0f}.onnx", share * 100);
  double nodes = kFirstNodes;
  for (int round = 0; round < 4; ++round) {
    model::Model slow = HONE_TRY(with_extra_work(model, static_cast<int64_t>(std::lround(nodes))));
    HONE_TRY(slow.save(out.model));
    const measure::Comparison c =
        HONE_TRY(measure::compare_fixed(out, subject.original, subject.bench, kCalibrationPairs));
    const double reached = c.speedup.estimate - 1;
    fmt::print("{}: {:.0f} extra nodes: {:.3f} x\n", subject.name, nodes, c.speedup.estimate);
    std::fflush(stdout);
    if (std::abs(reached - share) < kCloseEnough) break;
    nodes = std::clamp(nodes * share / std::max(reached, share / 8), 1.0, nodes * 8);
  }
  return out;
}

Result<Subject> prepare(const fs::path& path, const Options& options, const fs::path& scratch) {
  Subject out;
  out.name = path.stem().string();
  model::Model model = HONE_TRY(model::Model::load(path));
  HONE_TRY(model.infer_shapes());
  protocol::FixOptions fix;
  fix.data = (options.inputs / out.name).string();
  const protocol::Fixed fixed = HONE_TRY(protocol::fix(model, fix));
  const fs::path folder = scratch / out.name;
  out.bench.protocol = fixed.protocol;
  out.bench.data = folder / "samples";
  out.bench.log_dir = folder / "logs";
  out.bench.budget_s = kLongest;
  out.bench.calibration = measure::machine_calibration();
  HONE_TRY(make_directories(out.bench.log_dir));
  HONE_TRY(protocol::write_samples(out.bench.data, fixed.data.samples));
  out.original = {"onnxruntime", fs::absolute(path), {}};
  out.copy = {"onnxruntime", folder / "copy.onnx", {}};
  fs::copy_file(path, out.copy.model, fs::copy_options::overwrite_existing);
  if (options.gains > 0)
    for (const int percent : {10, 6})
      out.slowed[fmt::format("+{}", percent)] = HONE_TRY(slowed(out, model, percent / 100.0, folder));
  return out;
}

std::vector<Json> rows_of(const fs::path& path) {
  std::vector<Json> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (Json row = Json::parse(line, nullptr, false); !row.is_discarded()) rows.push_back(std::move(row));
  return rows;
}

void summarize(const std::vector<Json>& rows) {
  std::map<std::pair<std::string, std::string>, std::vector<const Json*>> groups;
  for (const Json& row : rows)
    for (const std::string& name : {row["model"].get<std::string>(), std::string("all")})
      groups[{row["kind"], name}].push_back(&row);
  fmt::print(
      "\nCPU: {}\n\n| kind | model | comparisons | kept | rolled back | undecided | mean effect | median s | longest s "
      "|\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      machine_id().cpu);
  for (const auto& [key, group] : groups) {
    std::map<std::string, int> decisions;
    std::vector<double> seconds;
    double sum = 0, pairs = 0;
    for (const Json* row : group) {
      ++decisions[(*row)["decision"]];
      seconds.push_back((*row)["seconds"]);
      for (const double mean : (*row)["pair_means"].get<std::vector<double>>()) sum += mean, ++pairs;
    }
    fmt::print("| {} | {} | {} | {} | {} | {} | {:.3f} | {:.1f} | {:.1f} |\n", key.first, key.second, group.size(),
               decisions["keep"], decisions["roll_back"], decisions["undecided"], std::exp(sum / std::max(pairs, 1.0)),
               median_of(seconds), *std::max_element(seconds.begin(), seconds.end()));
  }
}

Status compare_once(const Subject& subject, const std::string& kind, uint64_t seed, const fs::path& out) {
  measure::Bench bench = subject.bench;
  bench.seed = seed;
  const bool copies = kind == "A/A";
  const measure::Comparison c = HONE_TRY(copies ? measure::compare(subject.original, subject.copy, bench)
                                                : measure::compare(subject.slowed.at(kind), subject.original, bench));
  const Json row = {{"model", subject.name},
                    {"kind", kind},
                    {"decision", measure::to_text(c.decision)},
                    {"estimate", c.speedup.estimate},
                    {"low", c.speedup.low},
                    {"seconds", c.seconds},
                    {"waited_s", c.waited_s},
                    {"sd", c.sd},
                    {"place", c.place},
                    {"pair_means", measure::pair_means(c.pairs)}};
  std::ofstream(out, std::ios::app) << row.dump() << '\n';
  fmt::print("{:<5} {:<16} {:<10} {:.3f}  {} pairs  {:.1f} s\n", kind, subject.name, row["decision"].get<std::string>(),
             c.speedup.estimate, c.pairs.size(), c.seconds);
  std::fflush(stdout);
  return {};
}

Status run(const Options& options) {
  const ScratchFolder scratch = HONE_TRY(ScratchFolder::create("decisions"));
  std::vector<Subject> subjects;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(options.models))
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths)
    if (options.only.empty() || std::count(options.only.begin(), options.only.end(), path.stem().string()) > 0)
      subjects.push_back(HONE_TRY(prepare(path, options, scratch.path())));
  std::map<std::string, int> done;  // "kind model" -> comparisons
  for (const Json& row : rows_of(options.out))
    ++done[row["kind"].get<std::string>() + " " + row["model"].get<std::string>()];
  // Models in turn, so that a bad hour of the machine meets all of them.
  for (int round = 0; round < std::max(options.copies, options.gains); ++round)
    for (const Subject& subject : subjects)
      for (const std::string& kind : {std::string("A/A"), std::string("+10"), std::string("+6")}) {
        const int wanted = kind == "A/A" ? options.copies : options.gains;
        if (round >= wanted || done[kind + " " + subject.name] > round) continue;
        const auto seed = static_cast<uint64_t>(round) * 1000 + std::hash<std::string>{}(kind + subject.name) % 1000;
        HONE_TRY(compare_once(subject, kind, seed, options.out));
      }
  summarize(rows_of(options.out));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("how often the deciding rule is right on this machine");
  Options options;
  app.add_option("--models", options.models, "folder of .onnx files")->required();
  app.add_option("--inputs", options.inputs, "folder with one folder of samples per model")->required();
  app.add_option("--only", options.only, "only these models")->delimiter(',');
  app.add_option("--copies", options.copies, "A/A comparisons per model");
  app.add_option("--gains", options.gains, "comparisons per model and true gain");
  app.add_option("--out", options.out, "JSON lines, appended to");
  CLI11_PARSE(app, argc, argv);
  const Status status = run(options);
  if (!status) fmt::print(stderr, "{}\n", status.error().line());
  return status ? 0 : 1;
}
