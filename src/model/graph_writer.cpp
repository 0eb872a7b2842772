// SPDX-License-Identifier: Apache-2.0
#include "model/graph_writer.h"

namespace hone::model {

namespace {

// The declaration as the file had it, or with the type the value has got since.
void write_info(const Value& value, const std::string ValueCarried::*which, onnx::ValueInfoProto* proto) {
  if (value.carried && !((*value.carried).*which).empty()) {
    HONE_CHECK(proto->ParseFromString((*value.carried).*which), "{}", value.name);
    if (!(value.carried->type == value.type) && !(type_from_proto(proto->type()) == value.type))
      type_to_proto(value.type, proto->mutable_type());
  } else if (value.type.kind != TypeKind::kUnknown) {
    type_to_proto(value.type, proto->mutable_type());
  }
  proto->set_name(value.name);
}

}  // namespace

void GraphWriter::write(const Graph& graph, onnx::GraphProto* proto) {
  HONE_CHECK(proto->ParseFromString(graph.passthrough_), "{}", graph.name_);
  if (!graph.name_.empty()) proto->set_name(graph.name_);
  write_inputs(graph, proto);
  write_values(graph, proto);
  for (const NodeId id : graph.order()) write_node(graph, graph.node(id), proto->add_node());
  write_outputs(graph, proto);
}

void GraphWriter::write_inputs(const Graph& graph, onnx::GraphProto* proto) {
  for (const ValueId id : graph.listed_inputs_) write_info(graph.value(id), &ValueCarried::input, proto->add_input());
  if (ir_version_ >= 4) return;
  // Before IR version 4 initializers must be listed as inputs.
  const std::unordered_set<ValueId> listed(graph.listed_inputs_.begin(), graph.listed_inputs_.end());
  for (size_t i = 0; i < graph.values_.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (graph.value_dead_[i] == 0 && graph.values_[i].initializer && !listed.contains(id))
      write_info(graph.values_[i], &ValueCarried::input, proto->add_input());
  }
}

void GraphWriter::write_outputs(const Graph& graph, onnx::GraphProto* proto) {
  for (const ValueId id : graph.outputs_) write_info(graph.value(id), &ValueCarried::output, proto->add_output());
}

void GraphWriter::write_values(const Graph& graph, onnx::GraphProto* proto) {
  for (size_t i = 0; i < graph.values_.size(); ++i) {
    if (graph.value_dead_[i] != 0) continue;
    const Value& value = graph.values_[i];
    if (value.initializer) {
      auto* tensor = proto->add_initializer();
      if (value.carried && !value.carried->tensor.empty())
        HONE_CHECK(tensor->ParseFromString(value.carried->tensor), "{}", value.name);
      tensor->set_name(value.name);
      tensor_to_proto(*value.initializer, data_, payloads_, tensor);
    }
    // Nothing can infer what operators outside ONNX make, so a type that is known for them is written down.
    const Node* producer = graph.producer(static_cast<ValueId>(i));
    const bool worth_telling =
        producer != nullptr && !producer->domain.empty() && !value.is_output && value.type.kind == TypeKind::kTensor;
    if (value.has_value_info || worth_telling) write_info(value, &ValueCarried::value_info, proto->add_value_info());
  }
}

void GraphWriter::write_node(const Graph& graph, const Node& node, onnx::NodeProto* proto) {
  HONE_CHECK(proto->ParseFromString(node.passthrough), "{}", node.name);
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> rests;
  rests.Swap(proto->mutable_attribute());
  for (const ValueId id : node.inputs) proto->add_input(id == kNoValue ? "" : graph.value(id).name);
  for (const ValueId id : node.outputs) proto->add_output(id == kNoValue ? "" : graph.value(id).name);
  if (!node.name.empty()) proto->set_name(node.name);
  proto->set_op_type(node.op_type);
  if (!node.domain.empty()) proto->set_domain(node.domain);
  for (const auto& [name, value] : node.attributes) {
    auto* attribute = proto->add_attribute();
    for (auto& rest : rests) {
      if (rest.name() != name || (rest.has_t() && !std::holds_alternative<Tensor>(value))) continue;
      *attribute = std::move(rest);
      break;
    }
    write_attribute(name, value, attribute);
  }
}

void GraphWriter::write_attribute(const std::string& name, const Attribute& value, onnx::AttributeProto* proto) {
  if (const auto* opaque = std::get_if<OpaqueAttribute>(&value)) {
    HONE_CHECK(proto->ParseFromString(opaque->proto), "{}", name);
    return;
  }
  using Kind = onnx::AttributeProto;
  proto->set_name(name);
  if (const auto* number = std::get_if<int64_t>(&value)) {
    proto->set_type(Kind::INT);
    proto->set_i(*number);
  } else if (const auto* real = std::get_if<float>(&value)) {
    proto->set_type(Kind::FLOAT);
    proto->set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    proto->set_type(Kind::STRING);
    proto->set_s(*text);
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    proto->set_type(Kind::INTS);
    proto->mutable_ints()->Assign(numbers->begin(), numbers->end());
  } else if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    proto->set_type(Kind::FLOATS);
    proto->mutable_floats()->Assign(reals->begin(), reals->end());
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    proto->set_type(Kind::STRINGS);
    for (const auto& entry : *texts) proto->add_strings(entry);
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    proto->set_type(Kind::TENSOR);
    tensor_to_proto(*tensor, data_, payloads_, proto->mutable_t());
  } else if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&value)) {
    proto->set_type(Kind::GRAPH);
    write(**graph, proto->mutable_g());
  }
}

}  // namespace hone::model
