// SPDX-License-Identifier: Apache-2.0
#include "support/differential.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "engine/engine.h"
#include "protocol/data.h"

namespace hone::test {

using model::NamedTensors;
using model::Tensor;

namespace {

// Sizes for open dims: batch 1 and two odd sizes. Equal symbols get equal sizes; one case gives all dims the same,
// because models without symbols often mean the same size.
constexpr int64_t kSizes[] = {1, 3, 5};

std::optional<protocol::Shapes> shapes_for(const model::Graph& graph, int64_t size, bool vary) {
  protocol::Shapes shapes;
  std::map<std::string, int64_t> sizes;
  for (const model::ValueId id : graph.inputs()) {
    const model::Value& input = graph.value(id);
    if (!input.type.shape) return std::nullopt;
    std::vector<int64_t> dims;
    for (const model::Dim& dim : *input.type.shape) {
      const std::string key = dim.symbol.empty() ? fmt::format("{}#{}", input.name, dims.size()) : dim.symbol;
      const int64_t next = vary ? size + static_cast<int64_t>(sizes.size()) : size;
      dims.push_back(dim.known() ? dim.value : sizes.emplace(key, next).first->second);
    }
    shapes[input.name] = dims;
  }
  return shapes;
}

enum class Fill { kZeros, kExtremes };

// Values at the edges of the type, in an order given by the seed: both zeros, ones, large and tiny.
Tensor edge_tensor(const Tensor& like, Fill fill, bool large, std::mt19937_64& random) {
  static constexpr float kEdges[] = {0.0F, -0.0F, 1.0F, -1.0F, 3.0F, -3.0F, 1e-6F, -1e-6F, 0.5F, 64.0F, -64.0F};
  static constexpr float kLarge[] = {1e4F, -1e4F, 65504.0F};
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(like.dtype(), like.dims(), &out);
  if (fill == Fill::kZeros) return tensor;
  for (int64_t i = 0; i < like.count(); ++i) {
    const bool is_large = large && random() % 4 == 0;
    const float edge = is_large ? kLarge[random() % std::size(kLarge)] : kEdges[random() % std::size(kEdges)];
    if (like.dtype() == model::DType::kFloat) std::memcpy(out.data() + i * 4, &edge, 4);
    const auto wide = static_cast<double>(edge);
    if (like.dtype() == model::DType::kDouble) std::memcpy(out.data() + i * 8, &wide, 8);
  }
  return tensor;
}

NamedTensors edge_sample(const NamedTensors& sample, Fill fill, bool large, std::mt19937_64& random) {
  NamedTensors out;
  for (const auto& [name, tensor] : sample) {
    // Integers are indices, lengths and masks: their range is the model's business, and zero is in it.
    const bool floating = tensor.dtype() == model::DType::kFloat || tensor.dtype() == model::DType::kDouble;
    const bool whole = model::dtype_bits(tensor.dtype()) >= 8;
    out.emplace_back(name,
                     whole && (floating || fill == Fill::kZeros) ? edge_tensor(tensor, fill, large, random) : tensor);
  }
  return out;
}

// A model written to a folder of its own, and an ONNX Runtime session on it.
class Loaded {
 public:
  static Result<std::unique_ptr<Loaded>> open(const model::Model& model) {
    static std::atomic<int> count = 0;
    auto loaded = std::make_unique<Loaded>();
    loaded->folder_ = fs::temp_directory_path() / fmt::format("hone_differential_{}_{}", getpid(), ++count);
    fs::create_directories(loaded->folder_);
    HONE_TRY(model.save(loaded->folder_ / "model.onnx"));
    const engine::Engine* engine = HONE_TRY(engine::find_engine("onnxruntime"));
    engine::Settings settings = engine::accuracy_reference({}).settings;
    settings["intra_op_threads"] = "1";
    loaded->session_ = HONE_TRY(engine->open(loaded->folder_ / "model.onnx", settings, {}));
    return loaded;
  }
  ~Loaded() {
    session_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Result<NamedTensors> run(const NamedTensors& sample) {
    HONE_TRY(session_->bind(sample));
    HONE_TRY(session_->run());
    return session_->fetch();
  }

 private:
  fs::path folder_;
  std::unique_ptr<engine::Session> session_;
};

}  // namespace

std::vector<NamedTensors> differential_samples(const model::Graph& graph, const DifferentialOptions& options) {
  std::vector<NamedTensors> samples;
  std::mt19937_64 random(options.seed);
  const bool large = options.accuracy_class == accuracy::Class::kExact;
  const bool open = std::any_of(graph.inputs().begin(), graph.inputs().end(),
                                [&](model::ValueId id) { return !graph.value(id).type.dims(); });
  const auto add = [&](const protocol::Shapes& shapes, bool zeros) {
    const auto data = protocol::synthesize(graph, shapes, 1, random());
    if (!data) return;
    samples.push_back(data->samples[0]);
    samples.push_back(edge_sample(data->samples[0], Fill::kExtremes, large, random));
    if (zeros) samples.push_back(edge_sample(data->samples[0], Fill::kZeros, large, random));
  };
  add({}, true);  // the sizes a Run would take: they fit together where dims depend on each other (caches, masks)
  if (!open) return samples;
  for (const int64_t size : kSizes)
    if (const auto shapes = shapes_for(graph, size, false)) add(*shapes, size == 1);
  if (const auto shapes = shapes_for(graph, 2, true)) add(*shapes, false);
  return samples;
}

Result<Comparison> compare_models_on(const model::Model& original, const model::Model& changed,
                                     const std::vector<NamedTensors>& samples, const DifferentialOptions& options) {
  const std::unique_ptr<Loaded> before = HONE_TRY(Loaded::open(original));
  Comparison comparison;
  auto after = Loaded::open(changed);
  if (!after) return Comparison{0, false, "does not load any more: " + after.error().line()};
  accuracy::Gate gate;
  gate.level = options.accuracy_class == accuracy::Class::kExact ? "bitwise" : "numeric";
  std::string first_error;
  for (const NamedTensors& sample : samples) {
    const Result<NamedTensors> expected = before->run(sample);
    if (!expected) {
      if (first_error.empty()) first_error = expected.error().line();
      continue;
    }
    ++comparison.samples;
    const Result<NamedTensors> found = (*after)->run(sample);
    if (!found) return Comparison{comparison.samples, false, "does not run any more: " + found.error().line()};
    const accuracy::Report report =
        judge(accuracy::compare_outputs(*expected, *found), gate, options.accuracy_class, 1, true);
    if (!report.passed) return Comparison{comparison.samples, false, report.why};
  }
  if (comparison.samples == 0) return fail(tool_failed("the original runs on no sample", {}, first_error));
  return comparison;
}

Result<Comparison> compare_models(const model::Model& original, const model::Model& changed,
                                  const DifferentialOptions& options) {
  return compare_models_on(original, changed, differential_samples(original.graph(), options), options);
}

Result<NamedTensors> run_reference(const model::Model& model, const NamedTensors& sample) {
  const std::unique_ptr<Loaded> loaded = HONE_TRY(Loaded::open(model));
  return loaded->run(sample);
}

}  // namespace hone::test
