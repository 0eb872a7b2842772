// gen_transformer: writes a BERT-like encoder of any size, the way the TorchScript exporter writes it: LayerNorm, GELU
// and attention spelled out in small operators, reshapes with computed shapes, a symbolic batch and sequence.
// Weights are random (seeded). Input of the rewriting benchmark; nothing here is measured.
//
//   gen_transformer out.onnx [--layers 20] [--hidden 1024] [--heads 16] [--vocab 30522] [--external] [--seed 1]
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "model/model.h"

namespace {

using namespace hone;
using namespace hone::model;

struct Sizes {
  int64_t layers = 20, hidden = 1024, heads = 16, vocab = 30522, positions = 512;
  uint64_t seed = 1;
};

class Encoder {
 public:
  Encoder(Graph& graph, const Sizes& sizes) : graph_(graph), sizes_(sizes), random_(sizes.seed) {}

  ValueId build(ValueId ids, ValueId mask) {
    const ValueId bias = attention_bias(mask);
    ValueId x = embed(ids);
    for (int64_t i = 0; i < sizes_.layers; ++i) x = layer(x, bias, fmt::format("encoder.layer.{}", i));
    return x;
  }

 private:
  using Attributes = std::vector<std::pair<std::string, Attribute>>;

  ValueId op(const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const ValueId out = graph_.add_value(fmt::format("/{}_output_0", type));
    graph_.add_node({type, std::move(inputs), {out}, std::move(attributes)});
    return out;
  }

  // Approximately normal weights: what they are does not matter, that they do not compress or repeat does.
  ValueId weight(const std::string& name, std::vector<int64_t> dims, float scale) {
    std::span<std::byte> out;
    Tensor tensor = Tensor::make(DType::kFloat, std::move(dims), &out);
    for (size_t i = 0; i < out.size(); i += sizeof(float)) {
      const uint64_t bits = next();
      const float value =
          scale * (static_cast<float>(bits & 0xffff) + static_cast<float>(bits >> 48) - 65535.0F) / 32768;
      std::memcpy(out.data() + i, &value, sizeof(float));
    }
    return graph_.add_constant(name, std::move(tensor));
  }

  // splitmix64 (Steele, Lea, Flood 2014).
  uint64_t next() {
    uint64_t z = random_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  ValueId number(float value) { return op("Constant", {}, {{"value", Tensor::scalar<float>(value)}}); }
  ValueId indices(std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    return op("Constant", {}, {{"value", Tensor::of<int64_t>({count}, values)}});
  }
  ValueId index(int64_t value) { return op("Constant", {}, {{"value", Tensor::scalar<int64_t>(value)}}); }

  // The size of one axis as a tensor of one element, as exporters compute it.
  ValueId size_of(ValueId x, int64_t axis) {
    const ValueId size = op("Gather", {op("Shape", {x}), index(axis)}, {{"axis", int64_t{0}}});
    return op("Unsqueeze", {size, indices({0})});
  }

  ValueId attention_bias(ValueId mask) {
    ValueId wide = op("Unsqueeze", {op("Unsqueeze", {mask, indices({1})}), indices({2})});
    wide = op("Cast", {wide}, {{"to", static_cast<int64_t>(DType::kFloat)}});
    return op("Mul", {op("Sub", {number(1), wide}), number(-3.4028235e38F)});
  }

  ValueId embed(ValueId ids) {
    const int64_t h = sizes_.hidden;
    const ValueId words = op("Gather", {weight("embeddings.word", {sizes_.vocab, h}, 0.02F), ids});
    const ValueId all = graph_.add_constant("embeddings.position_ids", [&] {
      std::vector<int64_t> ids_all(static_cast<size_t>(sizes_.positions));
      for (size_t i = 0; i < ids_all.size(); ++i) ids_all[i] = static_cast<int64_t>(i);
      return Tensor::of<int64_t>({1, sizes_.positions}, ids_all);
    }());
    const ValueId positions = op("Slice", {all, indices({0}), size_of(ids, 1), indices({1}), indices({1})});
    const ValueId position = op("Gather", {weight("embeddings.position", {sizes_.positions, h}, 0.02F), positions});
    return layer_norm(op("Add", {words, position}), "embeddings.LayerNorm");
  }

  ValueId layer_norm(ValueId x, const std::string& name) {
    const auto mean = [&](ValueId of) {
      return op("ReduceMean", {of}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}});
    };
    const ValueId centred = op("Sub", {x, mean(x)});
    const ValueId variance = mean(op("Pow", {centred, number(2)}));
    const ValueId scaled = op("Div", {centred, op("Sqrt", {op("Add", {variance, number(1e-12F)})})});
    const ValueId weighted = op("Mul", {scaled, weight(name + ".weight", {sizes_.hidden}, 0.1F)});
    return op("Add", {weighted, weight(name + ".bias", {sizes_.hidden}, 0.1F)});
  }

  ValueId linear(ValueId x, const std::string& name, int64_t in, int64_t out) {
    const ValueId product = op("MatMul", {x, weight(name + ".weight", {in, out}, 0.02F)});
    return op("Add", {weight(name + ".bias", {out}, 0.02F), product});
  }

  ValueId gelu(ValueId x) {
    const ValueId erf = op("Erf", {op("Div", {x, number(std::sqrt(2.0F))})});
    return op("Mul", {op("Mul", {x, op("Add", {erf, number(1)})}), number(0.5F)});
  }

  ValueId split_heads(ValueId x, std::vector<int64_t> perm) {
    const ValueId shape =
        op("Concat", {size_of(x, 0), size_of(x, 1), indices({sizes_.heads}), indices({sizes_.hidden / sizes_.heads})},
           {{"axis", int64_t{0}}});
    return op("Transpose", {op("Reshape", {x, shape})}, {{"perm", std::move(perm)}});
  }

  ValueId attention(ValueId x, ValueId bias, const std::string& name) {
    const int64_t h = sizes_.hidden;
    const ValueId q = split_heads(linear(x, name + ".query", h, h), {0, 2, 1, 3});
    const ValueId k = split_heads(linear(x, name + ".key", h, h), {0, 2, 3, 1});
    const ValueId v = split_heads(linear(x, name + ".value", h, h), {0, 2, 1, 3});
    const float scale = std::sqrt(static_cast<float>(h / sizes_.heads));
    const ValueId scores = op("Add", {op("Div", {op("MatMul", {q, k}), number(scale)}), bias});
    const ValueId mixed = op("MatMul", {op("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
    const ValueId back = op("Transpose", {mixed}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    const ValueId shape = op("Concat", {size_of(back, 0), size_of(back, 1), indices({h})}, {{"axis", int64_t{0}}});
    return linear(op("Reshape", {back, shape}), name + ".output", h, h);
  }

  ValueId layer(ValueId x, ValueId bias, const std::string& name) {
    const int64_t h = sizes_.hidden;
    const ValueId attended = layer_norm(op("Add", {attention(x, bias, name + ".attention"), x}), name + ".norm1");
    const ValueId inner = gelu(linear(attended, name + ".intermediate", h, 4 * h));
    return layer_norm(op("Add", {linear(inner, name + ".output", 4 * h, h), attended}), name + ".norm2");
  }

  Graph& graph_;
  const Sizes& sizes_;
  uint64_t random_;
};

Status generate(const fs::path& path, const Sizes& sizes, bool external) {
  auto model = HONE_TRY(Model::from_text(fmt::format(R"(
    <ir_version: 8, opset_import: ["" : 14], producer_name: "gen_transformer">
    encoder (int64[batch, sequence] input_ids, int64[batch, sequence] attention_mask)
      => (float[batch, sequence, {}] last_hidden_state) {{ last_hidden_state = Identity(input_ids) }})",
                                                     sizes.hidden)));
  Graph& graph = model.graph();
  const NodeId placeholder = graph.order().front();
  const ValueId last = Encoder(graph, sizes).build(graph.inputs()[0], graph.inputs()[1]);
  graph.set_input(placeholder, 0, last);
  graph.replace_uses(graph.outputs()[0], last);
  graph.remove_node(placeholder);
  graph.remove_unused_values();
  SaveOptions options;
  options.weights = external ? SaveOptions::Weights::kExternal : SaveOptions::Weights::kAuto;
  for (const auto& file : HONE_TRY(model.save(path, options)))
    fmt::print("{} {}\n", file.string(), fs::file_size(file));
  return model.check();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a BERT-like encoder with random weights");
  std::string path;
  Sizes sizes;
  bool external = false;
  app.add_option("out", path, "model file to write")->required();
  app.add_option("--layers", sizes.layers);
  app.add_option("--hidden", sizes.hidden);
  app.add_option("--heads", sizes.heads);
  app.add_option("--vocab", sizes.vocab);
  app.add_option("--seed", sizes.seed);
  app.add_flag("--external", external, "weights in a file of their own");
  CLI11_PARSE(app, argc, argv);
  const auto status = generate(path, sizes, external);
  if (!status) fmt::print(stderr, "{}\n", status.error().line());
  return status ? 0 : 1;
}
