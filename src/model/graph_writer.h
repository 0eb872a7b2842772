// GraphWriter: Graph -> onnx.GraphProto, nodes in topological order, with everything that was carried along.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/graph.h"
#include "model/onnx_tensor.h"

namespace hone::model {

class GraphWriter {
 public:
  // `payloads` receives the large tensors when data is kFull; else it may be null.
  GraphWriter(TensorData data, int64_t ir_version, Payloads* payloads)
      : data_(data), ir_version_(ir_version), payloads_(payloads) {}
  void write(const Graph& graph, onnx::GraphProto* proto);

 private:
  void write_inputs(const Graph& graph, onnx::GraphProto* proto);
  void write_outputs(const Graph& graph, onnx::GraphProto* proto);
  void write_values(const Graph& graph, onnx::GraphProto* proto);
  void write_node(const Graph& graph, const Node& node, onnx::NodeProto* proto);
  void write_attribute(const std::string& name, const Attribute& value, onnx::AttributeProto* proto);

  TensorData data_;
  int64_t ir_version_;
  Payloads* payloads_;
};

}  // namespace hone::model
