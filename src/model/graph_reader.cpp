// SPDX-License-Identifier: Apache-2.0
#include "model/graph_reader.h"

#include <algorithm>

namespace hone::model {

namespace {

using Kind = onnx::AttributeProto;

// Files of IR version 1 may leave the type out: then it is that of the field which is set.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& proto) {
  if (proto.type() != Kind::UNDEFINED) return proto.type();
  if (proto.has_f()) return Kind::FLOAT;
  if (proto.has_i()) return Kind::INT;
  if (proto.has_s()) return Kind::STRING;
  if (proto.has_t()) return Kind::TENSOR;
  if (proto.has_g()) return Kind::GRAPH;
  if (proto.floats_size() > 0) return Kind::FLOATS;
  if (proto.ints_size() > 0) return Kind::INTS;
  if (proto.strings_size() > 0) return Kind::STRINGS;
  return Kind::UNDEFINED;
}

// A name from a file may be as long as the file.
std::string shown(const std::string& name) {
  constexpr size_t kLongest = 200;
  return name.size() <= kLongest ? name : name.substr(0, kLongest) + "...";
}

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// What is left of a TensorProto when its tensor and name are known; empty when nothing is.
std::string tensor_rest(onnx::TensorProto& proto, bool keep_name) {
  onnx::TensorProto rest;
  if (keep_name && !proto.name().empty()) rest.set_name(proto.name());
  if (!proto.doc_string().empty()) rest.set_doc_string(proto.doc_string());
  *rest.mutable_metadata_props() = std::move(*proto.mutable_metadata_props());
  forget_payload(proto);
  if (!proto.unknown_fields().empty()) rest.mutable_unknown_fields()->MergeFrom(proto.unknown_fields());
  return rest.SerializeAsString();
}

// References are made good: the serialized form must stand alone.
void embed_payloads(onnx::AttributeProto& proto, const Payloads& payloads) {
  HONE_CHECK(visit_tensors(proto, [&](onnx::TensorProto& tensor) -> Status {
               if (const auto payload = payload_of(tensor)) {
                 const auto bytes = payloads.at(*payload).bytes;
                 forget_payload(tensor);
                 tensor.set_raw_data(bytes.data(), bytes.size());
               }
               return {};
             }).has_value());
}

}  // namespace

GraphReader::GraphReader(const ReadContext& context, const Scope* outer, std::shared_ptr<Graph::Names> names)
    : context_(context), graph_(std::make_shared<Graph>()), scope_{graph_.get(), outer} {
  if (names) graph_->names_ = std::move(names);
  graph_->opsets_ = context.opsets;
}

Result<std::shared_ptr<Graph>> GraphReader::read(onnx::GraphProto& proto, const ReadContext& context) {
  GraphReader reader(context, nullptr, nullptr);
  HONE_TRY(reader.read_graph(proto));
  return std::move(reader.graph_);
}

std::string GraphReader::at_node(const onnx::NodeProto& node) const {
  std::string label = node.name();
  if (label.empty()) label = node.op_type() + (node.output_size() > 0 ? " -> " + node.output(0) : "");
  return context_.where + ": node '" + shown(label) + "'";
}

std::string GraphReader::at_tensor(const std::string& name) const {
  return context_.where + ": tensor '" + shown(name) + "'";
}

ValueCarried& GraphReader::carried(ValueId id) { return carried_[id]; }

Result<ValueId> GraphReader::define(const std::string& name, const char* what, const std::string& where) {
  if (name.empty()) return fail(bad_input(std::string("model has a nameless ") + what, where));
  if (graph_->by_name_.contains(name))
    return fail(
        bad_input("model defines a value twice: '" + shown(name) + "'", where, "every name may be written once"));
  return graph_->new_value(name);
}

ValueId GraphReader::resolve(const std::string& name) {
  if (name.empty()) return kNoValue;
  const ValueId here = graph_->find_value(name);
  if (here != kNoValue) return here;
  for (const Scope* scope = scope_.outer; scope != nullptr; scope = scope->outer)
    if (scope->graph->find_value(name) != kNoValue) return graph_->new_value(name);
  return kNoValue;
}

Status GraphReader::read_graph(onnx::GraphProto& proto) {
  graph_->name_ = proto.name();
  HONE_TRY(read_inputs(proto));
  HONE_TRY(read_initializers(proto));
  HONE_TRY(define_outputs(proto));
  HONE_TRY(read_nodes(proto));
  HONE_TRY(read_outputs(proto));
  read_value_infos(proto);
  for (auto& [id, carried] : carried_) {
    Value& value = graph_->values_[static_cast<size_t>(id)];
    carried.type = value.type;
    value.carried = std::make_shared<const ValueCarried>(std::move(carried));
  }
  for (const auto& annotation : proto.quantization_annotation()) {
    graph_->pinned_.insert(annotation.tensor_name());
    for (const auto& entry : annotation.quant_parameter_tensor_names()) graph_->pinned_.insert(entry.value());
  }
  proto.clear_name();
  proto.clear_node();
  proto.clear_initializer();
  proto.clear_input();
  proto.clear_output();
  graph_->passthrough_ = proto.SerializeAsString();
  return check_order();
}

Status GraphReader::read_inputs(onnx::GraphProto& proto) {
  for (const auto& info : proto.input()) {
    const ValueId id = HONE_TRY(define(info.name(), "graph input", context_.where));
    Value& value = graph_->values_.back();
    value.is_input = true;
    value.type = type_from_proto(info.type());
    carried(id).input = info.SerializeAsString();
    graph_->inputs_.push_back(id);
    graph_->listed_inputs_.push_back(id);
  }
  return {};
}

Status GraphReader::read_initializers(onnx::GraphProto& proto) {
  for (auto& tensor : *proto.mutable_initializer()) {
    const std::string where = at_tensor(tensor.name());
    ValueId id = graph_->find_value(tensor.name());
    if (id == kNoValue || graph_->value(id).initializer) id = HONE_TRY(define(tensor.name(), "initializer", where));
    Value& value = graph_->values_[static_cast<size_t>(id)];
    value.initializer = HONE_TRY(tensor_from_proto(tensor, context_.payloads, where));
    if (value.type.kind == TypeKind::kUnknown) {
      Shape shape;
      for (const int64_t dim : value.initializer->dims()) shape.push_back({dim, {}});
      value.type = Type::tensor(value.initializer->dtype(), std::move(shape));
    }
    if (std::string rest = tensor_rest(tensor, false); !rest.empty()) carried(id).tensor = std::move(rest);
    // Before IR version 4 every initializer is listed as an input, and none can be fed.
    if (context_.ir_version < 4 && value.is_input) {
      value.is_input = false;
      std::erase(graph_->inputs_, id);
    }
  }
  for (const auto& tensor : proto.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    ValueId id = graph_->find_value(name);
    if (id == kNoValue) id = HONE_TRY(define(name, "sparse initializer", at_tensor(name)));
    Value& value = graph_->values_[static_cast<size_t>(id)];
    value.is_sparse = true;
    if (value.type.kind != TypeKind::kUnknown) continue;
    Shape shape;
    for (const int64_t dim : tensor.dims()) shape.push_back({dim, {}});
    value.type = {TypeKind::kSparseTensor, static_cast<DType>(tensor.values().data_type()), std::move(shape)};
  }
  return {};
}

Status GraphReader::define_outputs(onnx::GraphProto& proto) {
  for (int i = 0; i < proto.node_size(); ++i) {
    const auto& node = proto.node(i);
    Node& out = graph_->nodes_.emplace_back();
    for (int slot = 0; slot < node.output_size(); ++slot) {
      ValueId id = kNoValue;
      if (!node.output(slot).empty()) {
        id = HONE_TRY(define(node.output(slot), "output", at_node(node)));
        graph_->values_.back().producer = static_cast<NodeId>(i);
        graph_->values_.back().producer_slot = slot;
      }
      out.outputs.push_back(id);
    }
  }
  graph_->live_nodes_ = graph_->nodes_.size();
  graph_->node_dead_.assign(graph_->nodes_.size(), 0);
  return {};
}

Status GraphReader::read_nodes(onnx::GraphProto& proto) {
  for (int i = 0; i < proto.node_size(); ++i) HONE_TRY(read_node(*proto.mutable_node(i), static_cast<NodeId>(i)));
  return {};
}

Status GraphReader::read_node(onnx::NodeProto& proto, NodeId id) {
  Node& node = graph_->nodes_[static_cast<size_t>(id)];
  const std::string where = at_node(proto);
  if (proto.op_type().empty()) return fail(bad_input("node has no operator", where));
  node.name = proto.name();
  graph_->names_->nodes.insert(node.name);
  node.op_type = proto.op_type();
  node.domain = normal_domain(proto.domain());
  for (int slot = 0; slot < proto.input_size(); ++slot) {
    const std::string& name = proto.input(slot);
    const ValueId value = resolve(name);
    if (value == kNoValue && !name.empty())
      return fail(bad_input("node reads a value that does not exist: '" + shown(name) + "'", where));
    node.inputs.push_back(value);
    graph_->add_use(value, {id, slot});
  }
  onnx::NodeProto rest;
  for (auto& attribute : *proto.mutable_attribute()) HONE_TRY(read_attribute(attribute, id, &rest));
  graph_->register_captures(id);
  proto.clear_input();
  proto.clear_output();
  proto.clear_name();
  proto.clear_op_type();
  proto.clear_domain();
  *proto.mutable_attribute() = std::move(*rest.mutable_attribute());
  node.passthrough = proto.SerializeAsString();
  return {};
}

Status GraphReader::read_attribute(onnx::AttributeProto& proto, NodeId id, onnx::NodeProto* rest) {
  Node& node = graph_->nodes_[static_cast<size_t>(id)];
  const std::string name = proto.name();
  const auto add = [&](Attribute value) { node.attributes.emplace_back(name, std::move(value)); };
  if (!proto.doc_string().empty()) {
    auto* entry = rest->add_attribute();
    entry->set_name(name);
    entry->set_doc_string(proto.doc_string());
  }
  switch (proto.ref_attr_name().empty() ? type_of(proto) : Kind::UNDEFINED) {
    case Kind::INT:
      add(proto.i());
      break;
    case Kind::FLOAT:
      add(proto.f());
      break;
    case Kind::STRING:
      add(proto.s());
      break;
    case Kind::INTS:
      add(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
      break;
    case Kind::FLOATS:
      add(std::vector<float>(proto.floats().begin(), proto.floats().end()));
      break;
    case Kind::STRINGS:
      add(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
      break;
    case Kind::TENSOR: {
      const std::string where =
          context_.where + ": node '" + shown(node.label(*graph_)) + "', attribute '" + shown(name) + "'";
      add(HONE_TRY(tensor_from_proto(proto.t(), context_.payloads, where)));
      std::string left = tensor_rest(*proto.mutable_t(), true);
      if (left.empty()) break;
      auto* entry = rest->attribute_size() > 0 && rest->attribute().rbegin()->name() == name
                        ? rest->mutable_attribute(rest->attribute_size() - 1)
                        : rest->add_attribute();
      entry->set_name(name);
      entry->mutable_t()->ParseFromString(left);
      break;
    }
    case Kind::GRAPH: {
      GraphReader reader(context_, &scope_, graph_->names_);
      HONE_TRY(reader.read_graph(*proto.mutable_g()));
      add(std::move(reader.graph_));
      break;
    }
    default:
      embed_payloads(proto, context_.payloads);
      add(OpaqueAttribute{proto.SerializeAsString()});
      break;
  }
  return {};
}

Status GraphReader::read_outputs(onnx::GraphProto& proto) {
  for (const auto& info : proto.output()) {
    const ValueId id = resolve(info.name());
    if (id == kNoValue)
      return fail(bad_input("graph output is made by no node: '" + shown(info.name()) + "'", context_.where));
    Value& value = graph_->values_[static_cast<size_t>(id)];
    value.is_output = true;
    if (value.type.kind == TypeKind::kUnknown) value.type = type_from_proto(info.type());
    carried(id).output = info.SerializeAsString();
    graph_->outputs_.push_back(id);
  }
  return {};
}

// Takes the entries that describe a value of the graph; others stay where they are (but their names are taken).
void GraphReader::read_value_infos(onnx::GraphProto& proto) {
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> left;
  for (auto& info : *proto.mutable_value_info()) {
    const ValueId id = graph_->find_value(info.name());
    if (id == kNoValue || graph_->value(id).has_value_info) {
      graph_->names_->values.insert(info.name());
      left.Add(std::move(info));
      continue;
    }
    Value& value = graph_->values_[static_cast<size_t>(id)];
    value.has_value_info = true;
    if (value.type.kind == TypeKind::kUnknown) value.type = type_from_proto(info.type());
    carried(id).value_info = info.SerializeAsString();
  }
  proto.mutable_value_info()->Swap(&left);
}

Status GraphReader::check_order() {
  const NodeId in_cycle = graph_->sort();
  if (in_cycle == kNoNode) return {};
  const Node& node = graph_->node(in_cycle);
  return fail(bad_input("graph has a cycle", context_.where + ": node '" + shown(node.label(*graph_)) + "'"));
}

void GraphReader::read_types(const onnx::GraphProto& proto, Graph& graph) {
  const auto take = [&](const auto& infos) {
    for (const auto& info : infos) {
      const ValueId id = graph.find_value(info.name());
      if (id == kNoValue) continue;
      Type type = type_from_proto(info.type());
      if (type.kind != TypeKind::kUnknown) graph.values_[static_cast<size_t>(id)].type = std::move(type);
    }
  };
  take(proto.value_info());
  take(proto.output());
  for (const auto& node : proto.node()) {
    if (node.output_size() == 0) continue;
    for (const auto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      const ValueId output = graph.find_value(node.output(0));
      if (output == kNoValue || graph.value(output).producer == kNoNode) continue;
      const auto* held = graph.producer(output)->attribute(attribute.name());
      if (const auto* inner = held != nullptr ? std::get_if<std::shared_ptr<Graph>>(held) : nullptr) {
        read_types(attribute.g(), **inner);
        for (Value& value : (*inner)->values_) {
          const ValueId outer = value.is_outer() ? graph.find_value(value.name) : kNoValue;
          if (outer != kNoValue) value.type = graph.value(outer).type;
        }
      }
    }
  }
}

void GraphReader::forget_inferred_types(Graph& graph) {
  for (size_t i = 0; i < graph.values_.size(); ++i) {
    Value& value = graph.values_[i];
    if (graph.value_dead_[i] != 0 || value.is_input || value.is_output || value.initializer || value.has_value_info ||
        value.is_sparse)
      continue;
    // Nothing can infer the outputs of operators ONNX does not know: what a rule said of them stays.
    const Node* producer = graph.producer(static_cast<ValueId>(i));
    if (producer != nullptr && producer->domain.empty()) value.type = {};
  }
  for (size_t i = 0; i < graph.nodes_.size(); ++i) {
    if (graph.node_dead_[i] != 0) continue;
    for (const auto& inner : graph.subgraphs(static_cast<NodeId>(i))) forget_inferred_types(*inner);
  }
}

void GraphReader::substitute(Graph& graph, const std::map<std::string, int64_t>& symbols) {
  for (Value& value : graph.values_) {
    if (!value.type.shape) continue;
    for (Dim& dim : *value.type.shape) {
      const auto found = dim.known() ? symbols.end() : symbols.find(dim.symbol);
      if (found != symbols.end()) dim = {found->second, {}};
    }
  }
  for (size_t i = 0; i < graph.nodes_.size(); ++i) {
    if (graph.node_dead_[i] != 0) continue;
    for (const auto& inner : graph.subgraphs(static_cast<NodeId>(i))) substitute(*inner, symbols);
  }
}

}  // namespace hone::model
