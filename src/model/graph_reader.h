// GraphReader: onnx.GraphProto -> Graph, with the checks that make the Graph's promises true: every name defined once,
// everything read exists (here or outside), tensors fit their shapes, no cycle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/graph.h"
#include "model/onnx_tensor.h"

namespace hone::model {

struct ReadContext {
  const Payloads& payloads;
  std::string where;  // the file
  int64_t ir_version = 0;
  std::shared_ptr<std::map<std::string, int64_t, std::less<>>> opsets;
};

class GraphReader {
 public:
  // Consumes `proto`.
  static Result<std::shared_ptr<Graph>> read(onnx::GraphProto& proto, const ReadContext& context);
  // Takes over the types that shape inference has added to `proto` (same structure as `graph`).
  static void read_types(const onnx::GraphProto& proto, Graph& graph);
  // Forgets the types that are not declared by the file and can be inferred again.
  static void forget_inferred_types(Graph& graph);
  // Replaces symbolic dims by numbers in every type.
  static void substitute(Graph& graph, const std::map<std::string, int64_t>& symbols);
  // Names that must stay though no node reads them.
  static void pin(Graph& graph, const std::string& name) { graph.pinned_.insert(name); }

 private:
  struct Scope {
    const Graph* graph;
    const Scope* outer;
  };
  GraphReader(const ReadContext& context, const Scope* outer, std::shared_ptr<Graph::Names> names);

  Status read_graph(onnx::GraphProto& proto);
  Status read_inputs(onnx::GraphProto& proto);
  Status read_initializers(onnx::GraphProto& proto);
  Status define_outputs(onnx::GraphProto& proto);
  Status read_nodes(onnx::GraphProto& proto);
  Status read_node(onnx::NodeProto& proto, NodeId id);
  Status read_attribute(onnx::AttributeProto& proto, NodeId id, onnx::NodeProto* rest);
  Status read_outputs(onnx::GraphProto& proto);
  void read_value_infos(onnx::GraphProto& proto);
  Status check_order();

  // The value of that name here, or a capture from outside; kNoValue when there is none.
  ValueId resolve(const std::string& name);
  Result<ValueId> define(const std::string& name, const char* what, const std::string& where);
  ValueCarried& carried(ValueId id);
  std::string at_node(const onnx::NodeProto& node) const;
  std::string at_tensor(const std::string& name) const;

  const ReadContext& context_;
  std::shared_ptr<Graph> graph_;
  Scope scope_;
  std::unordered_map<ValueId, ValueCarried> carried_;
};

}  // namespace hone::model
