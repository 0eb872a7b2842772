// What is loaded and not changed is saved as it was: over exported models, bug cases, the ONNX project's test models,
// and models made to hold every part of the format.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/canonical_test.h"
#include "model/model.h"

namespace hone::model {
namespace {

using ::testing::ElementsAre;

std::vector<fs::path> models_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

void expect_round_trip(const std::string& bytes, const std::string& name) {
  const auto model = Model::from_bytes(bytes, name);
  ASSERT_TRUE(model.has_value()) << model.error().line();
  const auto checked = model->check();
  EXPECT_TRUE(checked.has_value()) << checked.error().line();
  const std::string saved = *model->to_bytes();
  EXPECT_EQ(difference(bytes, saved), "") << name;
  EXPECT_EQ(Model::from_bytes(saved, name)->fingerprint(), model->fingerprint()) << name;
  EXPECT_EQ(difference(bytes, *model->clone().to_bytes()), "") << name;
}

TEST(RoundTrip, ExportedModelsAndBugCases) {
  const auto paths = models_below(HONE_TEST_DATA "/model");
  ASSERT_EQ(paths.size(), 43);
  for (const auto& path : paths) expect_round_trip(*read_file(path), path.string());
}

TEST(RoundTrip, TheOnnxProjectsTestModels) {
  // Debian's libonnx-testdata, in packages.txt.
  const fs::path folder = "/usr/share/libonnx-testdata/data";
  ASSERT_TRUE(fs::exists(folder)) << "install libonnx-testdata";
  const auto paths = models_below(folder);
  EXPECT_GT(paths.size(), 1000);
  for (const auto& path : paths) expect_round_trip(*read_file(path), path.string());
}

TEST(RoundTrip, InferredShapesLeaveAValidModel) {
  for (const auto& path : models_below(HONE_TEST_DATA "/model")) {
    Model model = *Model::load(path);
    const auto status = model.infer_shapes();
    ASSERT_TRUE(status.has_value()) << status.error().line();
    const auto again = Model::from_bytes(*model.to_bytes());
    ASSERT_TRUE(again.has_value()) << again.error().line();
    EXPECT_TRUE(again->check().has_value()) << path;
  }
}

// Fills every field that hone itself has no use for.
onnx::ModelProto decorated() {
  const auto model = Model::from_text(R"(
    <ir_version: 10, opset_import: ["" : 17, "local" : 1, "ai.onnx.ml" : 3], producer_name: "maker",
     producer_version: "2", domain: "org.example", model_version: 7, doc_string: "a model",
     metadata_props: ["k": "v", "empty": ""]>
    g (float[n, 4] x, bool c) => (float[n, 4] y)
    <float[4] w = {1, 2, 3, 4}, float s = {0.5}, uint8 z = {3}>
    {
      a = local.scale<factor = 2.0>(x)
      b = Add(a, w)
      q = If (c) <then_branch = t () => (r) { r = Neg(b) }, else_branch = e () => (r) { r = Identity(b) }>
      y = Relu(q)
    }
    <domain: "local", opset_import: ["" : 17]>
    scale <factor: float> (v) => (o) { f = Constant<value_float: float = @factor>()  o = Mul(v, f) })");
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().line());
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(*model->to_bytes()));
  auto& graph = *proto.mutable_graph();
  graph.set_doc_string("a graph");
  graph.add_metadata_props()->set_key("graph key");
  for (auto& node : *graph.mutable_node()) {
    node.set_doc_string("says " + node.op_type());
    auto* entry = node.add_metadata_props();
    entry->set_key("namespace");
    entry->set_value("model/" + node.op_type());
  }
  graph.mutable_node(0)->set_overload("variant");
  proto.mutable_functions(0)->set_overload("variant");
  graph.mutable_node(2)->mutable_attribute(0)->set_doc_string("the branch");
  graph.mutable_node(2)->mutable_attribute(0)->mutable_g()->set_doc_string("inside");
  graph.mutable_input(0)->set_doc_string("the input");
  graph.mutable_input(0)->mutable_type()->set_denotation("IMAGE");
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_denotation("B");
  graph.mutable_initializer(0)->set_doc_string("a weight");
  graph.mutable_initializer(0)->add_metadata_props()->set_key("layer");
  auto* info = graph.add_value_info();
  info->set_name("b");
  info->set_doc_string("the sum");
  info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  graph.add_value_info()->set_name("a value that is not there");
  auto* annotation = graph.add_quantization_annotation();
  annotation->set_tensor_name("b");
  for (const auto& [key, value] : {std::pair("SCALE_TENSOR", "s"), std::pair("ZERO_POINT_TENSOR", "z")}) {
    auto* entry = annotation->add_quant_parameter_tensor_names();
    entry->set_key(key);
    entry->set_value(value);
  }
  auto* training = proto.add_training_info();
  training->mutable_algorithm()->set_name("step");
  auto* binding = training->add_update_binding();
  binding->set_key("w");
  binding->set_value("w_new");
  auto* device = proto.add_configuration();
  device->set_name("two");
  device->set_num_devices(2);
  return proto;
}

TEST(RoundTrip, EverythingAFileCanSayIsCarriedAlong) {
  const std::string bytes = decorated().SerializeAsString();
  const auto model = Model::from_bytes(bytes);
  ASSERT_TRUE(model.has_value()) << model.error().line();
  EXPECT_EQ(difference(bytes, *model->to_bytes()), "");
  onnx::ModelProto other = decorated();
  other.mutable_graph()->mutable_node(1)->mutable_metadata_props(0)->set_value("elsewhere");
  EXPECT_NE(difference(bytes, other.SerializeAsString()), "");
  EXPECT_EQ(model->producer(), "maker 2");
  EXPECT_EQ(model->metadata().at("k"), "v");
  EXPECT_THAT(model->function_names(), ElementsAre("local:scale"));
}

TEST(RoundTrip, OddButValidGraphs) {
  for (const char* text :
       {// No nodes at all; an input that is an output; an initializer that is an output; no inputs.
        R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] x) {})",
        R"(<ir_version: 8, opset_import: ["" : 17]> g () => (float[2] w) <float[2] w = {1, 2}> {})",
        R"(<ir_version: 8, opset_import: ["" : 17]> g () => (float[2] y) <float[2] w = {1, 2}> { y = Neg(w) })",
        // An optional input left out, a value read twice.
        R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, float h) => (float[2] y) { y = Clip(x, , h) })",
        R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Mul(x, x) })",
        // Zero-size, scalar and string tensors; a symbolic rank.
        R"(<ir_version: 8, opset_import: ["" : 17]> g (float[n, 0] x, string[2] s) => (float[n, m] y, string[2] t)
              <float[0] e = {}, float one = {1}, string[2] w = {"a", "b"}>
              { z = Mul(x, one)  y = Add(z, e)  t = Where(c, s, w)  c = Constant<value = bool {1}>() })"}) {
    const auto parsed = Model::from_text(text);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().line();
    const std::string bytes = *parsed->to_bytes();
    const auto model = Model::from_bytes(bytes);
    ASSERT_TRUE(model.has_value()) << model.error().line();
    EXPECT_TRUE(model->check().has_value()) << model->check().error().line();
    EXPECT_EQ(difference(bytes, *model->to_bytes()), "");
    EXPECT_EQ(model->fingerprint(), parsed->fingerprint());
  }
}

TEST(RoundTrip, NodesOutOfOrderAreSorted) {
  const auto model = Model::from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(b)  b = Exp(a)  a = Abs(x) })");
  ASSERT_TRUE(model.has_value()) << model.error().line();
  EXPECT_TRUE(model->check().has_value()) << model->check().error().line();
  EXPECT_EQ(model->graph().node(model->graph().order()[0]).op_type, "Abs");
}

TEST(RoundTrip, DuplicateNodeNamesStay) {
  onnx::ModelProto proto = decorated();
  for (auto& node : *proto.mutable_graph()->mutable_node()) node.set_name("same");
  const std::string bytes = proto.SerializeAsString();
  EXPECT_EQ(difference(bytes, *Model::from_bytes(bytes)->to_bytes()), "");
}

TEST(RoundTrip, WhatAnnotationsNameIsNotUnused) {
  Model model = *Model::from_bytes(decorated().SerializeAsString());
  EXPECT_EQ(model.graph().remove_unused_values(), 0);
  EXPECT_EQ(difference(decorated().SerializeAsString(), *model.to_bytes()), "");
}

// Attributes of every kind, also those the Graph has no type for, with tensors large enough to leave the skeleton.
TEST(RoundTrip, AttributesOfEveryKind) {
  onnx::ModelProto proto = decorated();
  auto& node = *proto.mutable_graph()->mutable_node(3);
  node.set_op_type("Custom");
  node.set_domain("com.example");
  auto* opset = proto.add_opset_import();
  opset->set_domain("com.example");
  opset->set_version(1);
  using Kind = onnx::AttributeProto;
  const auto add = [&](const char* name, Kind::AttributeType type) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  };
  const auto fill = [](onnx::TensorProto* tensor, const char* name, int count) {
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(count);
    tensor->set_raw_data(std::string(static_cast<size_t>(count) * 4, 'x'));
  };
  add("i", Kind::INT)->set_i(-3);
  add("f", Kind::FLOAT)->set_f(0.1F);
  add("s", Kind::STRING)->set_s(std::string("with \0 inside", 13));
  add("is", Kind::INTS)->add_ints(1);
  add("no_ints", Kind::INTS);
  add("fs", Kind::FLOATS)->add_floats(1.5);
  add("ss", Kind::STRINGS)->add_strings("one");
  fill(add("t", Kind::TENSOR)->mutable_t(), "small", 4);
  fill(add("big", Kind::TENSOR)->mutable_t(), "large", 4000);
  auto* tensors = add("ts", Kind::TENSORS);
  fill(tensors->add_tensors(), "first", 3000);
  fill(tensors->add_tensors(), "second", 2);
  add("tp", Kind::TYPE_PROTO)->mutable_tp()->mutable_tensor_type()->set_elem_type(1);
  auto* sparse = add("sp", Kind::SPARSE_TENSOR)->mutable_sparse_tensor();
  fill(sparse->mutable_values(), "values", 2000);
  auto* graphs = add("gs", Kind::GRAPHS);
  fill(graphs->add_graphs()->add_initializer(), "inner", 1000);
  const std::string bytes = proto.SerializeAsString();
  const auto model = Model::from_bytes(bytes);
  ASSERT_TRUE(model.has_value()) << model.error().line();
  EXPECT_EQ(difference(bytes, *model->to_bytes()), "");
  EXPECT_EQ(difference(bytes, *model->clone().to_bytes()), "");
}

TEST(RoundTrip, LargeTensorsInFunctionsSurviveSavingAndInlining) {
  onnx::ModelProto proto = decorated();
  auto& constant = *proto.mutable_functions(0)->mutable_node(0)->mutable_attribute(0);
  constant.Clear();
  constant.set_name("value");
  constant.set_type(onnx::AttributeProto::TENSOR);
  constant.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  constant.mutable_t()->add_dims(500);
  constant.mutable_t()->add_dims(4);
  constant.mutable_t()->set_raw_data(std::string(8000, 'z'));
  const std::string bytes = proto.SerializeAsString();
  Model model = *Model::from_bytes(bytes);
  EXPECT_EQ(difference(bytes, *model.to_bytes()), "");
  const std::string before = model.fingerprint();
  const auto inlined = model.inline_functions();
  ASSERT_TRUE(inlined.has_value()) << inlined.error().line();
  EXPECT_TRUE(model.function_names().empty());
  EXPECT_NE(model.fingerprint(), before);
  const auto again = Model::from_bytes(*model.to_bytes());
  ASSERT_TRUE(again.has_value()) << again.error().line();
  const Graph& graph = again->graph();
  const auto mul = std::ranges::find_if(graph.order(), [&](NodeId id) { return graph.node(id).is("Mul"); });
  ASSERT_NE(mul, graph.order().end());
  EXPECT_EQ(graph.constant(graph.node(*mul).input(1))->byte_size(), 8000);
}

TEST(RoundTrip, RaisingTheOpsetKeepsWeightsAndMetadata) {
  const fs::path path = HONE_TEST_DATA "/model/exported/mobilenet_v3.ts13.onnx";
  Model model = *Model::load(path);
  const uint64_t weights = model.weight_bytes();
  const auto status = model.convert_opset(17);
  ASSERT_TRUE(status.has_value()) << status.error().line();
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.weight_bytes(), weights);
  EXPECT_EQ(model.producer(), Model::load(path)->producer());
  EXPECT_TRUE(model.check().has_value());
  EXPECT_FALSE(model.convert_opset(12).has_value());
}

TEST(RoundTrip, FingerprintsSeeWhatAModelComputesAndNothingElse) {
  const std::string before = Model::from_bytes(decorated().SerializeAsString())->fingerprint();
  const auto with = [&](const std::function<void(onnx::ModelProto&)>& change) {
    onnx::ModelProto proto = decorated();
    change(proto);
    return Model::from_bytes(proto.SerializeAsString())->fingerprint();
  };
  EXPECT_EQ(before, with([](auto& m) { m.clear_doc_string(); }));
  EXPECT_EQ(before, with([](auto& m) { m.mutable_graph()->mutable_node(1)->set_name("renamed"); }));
  EXPECT_EQ(before, with([](auto& m) {
              m.mutable_graph()->mutable_node(0)->set_output(0, "other");
              m.mutable_graph()->mutable_node(1)->set_input(0, "other");
            }));
  EXPECT_NE(before, with([](auto& m) {
              m.mutable_graph()->mutable_input(0)->set_name("x"),
                  m.mutable_graph()->mutable_node(1)->set_op_type("Sub");
            }));
  EXPECT_NE(before, with([](auto& m) { (*m.mutable_graph()->mutable_initializer(0)->mutable_raw_data())[0] = 7; }));
  EXPECT_NE(before, with([](auto& m) { m.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_f(3); }));
  EXPECT_NE(before, with([](auto& m) { m.mutable_functions(0)->mutable_node(1)->set_op_type("Add"); }));
  EXPECT_NE(before, with([](auto& m) { m.mutable_opset_import(0)->set_version(16); }));
  EXPECT_NE(
      before, with([](auto& m) {
        m.mutable_graph()->mutable_node(2)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Abs");
      }));
}

}  // namespace
}  // namespace hone::model
