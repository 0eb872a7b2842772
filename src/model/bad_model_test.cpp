// Models that can't be used: each gives one clear error that names the place, and never a crash.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "model/model.h"
#include "model/onnx_protos.h"

namespace hone::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// x -> Add(w) -> Relu -> y, with a weight that is large enough to stay in the file.
onnx::ModelProto small_proto() {
  const auto parsed = Model::from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[512] x, bool c) => (float[512] y) <float[4] b = {1, 2, 3, 4}>
    { a = Add(x, x)  y = Relu(a)  t = If (c) <then_branch = p () => (float[512] q) { q = Neg(a) },
                                               else_branch = e () => (float[512] q) { q = Abs(a) }> })");
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().line());
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(*parsed->to_bytes()));
  auto* weight = proto.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(onnx::TensorProto::FLOAT);
  weight->add_dims(512);
  weight->set_raw_data(std::string(2048, '\1'));
  proto.mutable_graph()->mutable_node(0)->set_input(1, "w");
  return proto;
}

std::string error_of(const std::string& bytes) {
  const auto model = Model::from_bytes(bytes, "m.onnx");
  if (model) return "(no error)";
  EXPECT_TRUE(model.error().kind == ErrorKind::kBadInput || model.error().kind == ErrorKind::kUnsupported);
  const std::string line = model.error().line();
  EXPECT_THAT(line, HasSubstr("m.onnx"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_LT(line.size(), 1000);
  return line;
}

TEST(BadModel, TheModelTheCasesAreMadeFromIsGood) {
  EXPECT_EQ(error_of(small_proto().SerializeAsString()), "(no error)");
}

TEST(BadModel, FilesThatAreNotModels) {
  EXPECT_EQ(error_of(""), "file is empty: m.onnx; give an ONNX model");
  EXPECT_THAT(error_of("<!DOCTYPE html><html></html>"), HasSubstr("not an ONNX model, or cut off"));
  EXPECT_THAT(error_of(std::string("\x89PNG\r\n\x1a\n", 8) + std::string(100, '\0')), HasSubstr("not an ONNX model"));
  EXPECT_THAT(error_of("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("not an ONNX model"));
  onnx::ModelProto no_graph;
  no_graph.set_ir_version(8);
  EXPECT_THAT(error_of(no_graph.SerializeAsString()), HasSubstr("not an ONNX model: it has no graph"));
  EXPECT_EQ(Model::load("/nowhere/m.onnx").error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(Model::load("/").error().line(), HasSubstr("is a folder, not a file: /"));
}

struct Case {
  const char* name;
  std::function<void(onnx::GraphProto&)> spoil;
  const char* what;
  const char* where;
};

const Case kCases[] = {
    {"raw data too short", [](auto& g) { g.mutable_initializer(1)->mutable_raw_data()->resize(2044); },
     "tensor data does not fit its shape: 2044 bytes, but float32[512] takes 2048", "tensor 'w'"},
    {"raw data too long", [](auto& g) { g.mutable_initializer(1)->mutable_raw_data()->resize(2052); },
     "tensor data does not fit its shape: 2052 bytes", "tensor 'w'"},
    {"small raw data",
     [](auto& g) {
       g.mutable_initializer(0)->Clear();
       g.mutable_initializer(0)->set_name("b");
       g.mutable_initializer(0)->set_data_type(onnx::TensorProto::INT64);
       g.mutable_initializer(0)->add_dims(2);
       g.mutable_initializer(0)->set_raw_data("1234567");
     },
     "tensor data does not fit its shape: 7 bytes, but int64[2] takes 16", "tensor 'b'"},
    {"typed data",
     [](auto& g) {
       g.mutable_initializer(0)->clear_raw_data();
       g.mutable_initializer(0)->add_float_data(1);
     },
     "tensor data does not fit its shape: 1 values, but float32[4] takes 4", "tensor 'b'"},
    {"negative dim", [](auto& g) { g.mutable_initializer(1)->set_dims(0, -512); },
     "tensor has a negative or too large dimension: float32[-512]", "tensor 'w'"},
    {"overflowing dims",
     [](auto& g) {
       g.mutable_initializer(1)->set_dims(0, int64_t{1} << 40);
       g.mutable_initializer(1)->add_dims(int64_t{1} << 40);
     },
     "tensor has a negative or too large dimension", "tensor 'w'"},
    {"unknown element type", [](auto& g) { g.mutable_initializer(1)->set_data_type(77); },
     "tensor has an unknown element type (77)", "tensor 'w'"},
    {"strings as raw data", [](auto& g) { g.mutable_initializer(1)->set_data_type(onnx::TensorProto::STRING); },
     "tensor of strings has raw data", "tensor 'w'"},
    {"cycle", [](auto& g) { g.mutable_node(0)->set_input(0, "y"); }, "graph has a cycle", "node 'Add -> a'"},
    {"cycle through a subgraph", [](auto& g) { g.mutable_node(0)->set_input(0, "t"); }, "graph has a cycle", "node '"},
    {"self cycle", [](auto& g) { g.mutable_node(0)->set_input(0, "a"); }, "graph has a cycle", "node 'Add -> a'"},
    {"output twice", [](auto& g) { g.mutable_node(1)->set_output(0, "a"); }, "model defines a value twice: 'a'",
     "node 'Relu -> a'"},
    {"output is an input", [](auto& g) { g.mutable_node(1)->set_output(0, "x"); }, "model defines a value twice: 'x'",
     "node 'Relu -> x'"},
    {"initializer twice", [](auto& g) { g.mutable_initializer(0)->set_name("w"); }, "model defines a value twice: 'w'",
     "tensor 'w'"},
    {"input twice", [](auto& g) { g.mutable_input(1)->set_name("x"); }, "model defines a value twice: 'x'", "m.onnx"},
    {"nameless input", [](auto& g) { g.mutable_input(1)->clear_name(); }, "model has a nameless graph input", "m.onnx"},
    {"missing value", [](auto& g) { g.mutable_node(1)->set_input(0, "nothing"); },
     "node reads a value that does not exist: 'nothing'", "node 'Relu -> y'"},
    {"missing value in a subgraph",
     [](auto& g) { g.mutable_node(2)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(0, "nothing"); },
     "node reads a value that does not exist: 'nothing'", "node 'Neg -> q'"},
    {"missing output", [](auto& g) { g.mutable_output(0)->set_name("nothing"); },
     "graph output is made by no node: 'nothing'", "m.onnx"},
    {"no operator", [](auto& g) { g.mutable_node(1)->clear_op_type(); }, "node has no operator", "node ' -> y'"},
    {"a name as long as the file", [](auto& g) { g.mutable_node(1)->set_input(0, std::string(100'000, 'n')); },
     "node reads a value that does not exist: 'nnnn", "node 'Relu -> y'"},
};

TEST(BadModel, EachDefectHasItsSentenceAndItsPlace) {
  for (const auto& c : kCases) {
    onnx::ModelProto proto = small_proto();
    c.spoil(*proto.mutable_graph());
    EXPECT_THAT(error_of(proto.SerializeAsString()), AllOf(HasSubstr(c.what), HasSubstr(c.where))) << c.name;
  }
}

TEST(BadModel, NestingWithoutEndIsAnError) {
  std::string bytes = small_proto().SerializeAsString();
  onnx::ModelProto proto = small_proto();
  for (int depth = 0; depth < 200; ++depth) {
    onnx::GraphProto inner = std::move(*proto.mutable_graph());
    auto* node = proto.mutable_graph()->add_node();
    node->set_op_type("If");
    auto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    attribute->mutable_g()->Swap(&inner);
  }
  EXPECT_THAT(error_of(proto.SerializeAsString()), HasSubstr("model is nested too deeply"));
}

TEST(BadModel, AForgedReferenceIsDropped) {
  onnx::ModelProto proto = small_proto();
  // The number by which references to payloads are kept in memory, with an index far outside.
  proto.mutable_graph()->mutable_initializer(0)->mutable_unknown_fields()->AddVarint(100'001, 1'000'000);
  const auto model = Model::from_bytes(proto.SerializeAsString());
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->graph().constant(model->graph().find_value("b"))->at<float>(3), 4);
}

TEST(BadModel, EveryTruncationIsAnErrorOrAModel) {
  const std::string whole = small_proto().SerializeAsString();
  int refused = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    if (error_of(cut) != "(no error)") ++refused;
  }
  // Only the last fields of the outermost message can be missing from something that is still a model; here the last
  // one, the opset import, is needed.
  EXPECT_EQ(refused, static_cast<int>(whole.size()));
}

// Everything done with a model that did load must hold too.
void use(const Model& model) {
  Model copy = model.clone();
  (void)copy.check();
  (void)copy.fingerprint();
  (void)copy.infer_shapes();
  copy.graph().remove_unused_values();
  const auto bytes = copy.to_bytes();
  ASSERT_TRUE(bytes.has_value());
  const auto again = Model::from_bytes(*bytes);
  EXPECT_TRUE(again.has_value()) << again.error().line();
}

TEST(BadModel, FlippedBytesNeverCrash) {
  const std::string whole = small_proto().SerializeAsString();
  std::mt19937_64 random(20240611);
  int loaded = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = whole;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto model = Model::from_bytes(bytes, "m.onnx");
    if (!model) {
      EXPECT_NE(model.error().kind, ErrorKind::kInternal) << model.error().line();
      continue;
    }
    ++loaded;
    use(*model);
  }
  EXPECT_GT(loaded, 50);
}

}  // namespace
}  // namespace hone::model
