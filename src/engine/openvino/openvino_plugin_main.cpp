// hone-openvino.so: plugin.h on top of OpenVINO's C++ API. The only file that includes OpenVINO.
// SPDX-License-Identifier: Apache-2.0
#include <openvino/openvino.hpp>
#include <sstream>
#include <stdexcept>

#include "engine/openvino/plugin.h"

namespace hone::engine::openvino {

namespace {

struct TypePair {
  ov::element::Type_t type;
  int32_t dtype;  // onnx.TensorProto.DataType
};

constexpr TypePair kTypes[] = {
    {ov::element::f32, 1},   {ov::element::u8, 2},      {ov::element::i8, 3},      {ov::element::u16, 4},
    {ov::element::i16, 5},   {ov::element::i32, 6},     {ov::element::i64, 7},     {ov::element::boolean, 9},
    {ov::element::f16, 10},  {ov::element::f64, 11},    {ov::element::u32, 12},    {ov::element::u64, 13},
    {ov::element::bf16, 16}, {ov::element::f8e4m3, 17}, {ov::element::f8e5m2, 19}, {ov::element::u4, 21},
    {ov::element::i4, 22},
};

int32_t dtype_of(const ov::element::Type& type) {
  for (const auto& pair : kTypes)
    if (pair.type == type) return pair.dtype;
  return 0;
}

ov::element::Type type_of(int32_t dtype) {
  for (const auto& pair : kTypes)
    if (pair.dtype == dtype) return pair.type;
  throw std::invalid_argument("a tensor type OpenVINO does not have");
}

Port port_of(const ov::element::Type& type, const ov::PartialShape& shape) {
  Port out;
  out.dtype = dtype_of(type);
  out.rank_known = shape.rank().is_static();
  if (!out.rank_known) return out;
  for (const auto& dim : shape) out.dims.push_back(dim.is_static() ? dim.get_length() : -1);
  return out;
}

// The ONNX name. A tensor may carry several names once an Identity is gone; the result node keeps the output's own.
std::string output_name(const ov::Output<const ov::Node>& port) {
  const auto& names = port.get_names();
  std::string name = port.get_node()->get_friendly_name();
  if (const size_t suffix = name.rfind("/sink_port_"); suffix != std::string::npos) name.resize(suffix);
  if (names.empty() || names.count(name) != 0) return name;
  return *names.begin();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');)
    if (!part.empty()) out.push_back(part);
  return out;
}

class OpenVinoSession final : public PluginSession {
 public:
  OpenVinoSession(ov::Core& core, const OpenRequest& request) {
    auto model = core.read_model(request.model);
    reshape(*model, request.shapes);
    ov::AnyMap properties(request.properties.begin(), request.properties.end());
    if (!request.cache_dir.empty()) properties[ov::cache_dir.name()] = request.cache_dir;
    if (request.profile) properties[ov::enable_profiling.name()] = true;
    // Names are read before compiling, which may change the model.
    for (const auto& input : static_cast<const ov::Model&>(*model).inputs()) {
      inputs_.push_back(port_of(input.get_element_type(), input.get_partial_shape()));
      inputs_.back().name = input.get_names().empty() ? input.get_node()->get_friendly_name() : input.get_any_name();
    }
    for (const auto& output : static_cast<const ov::Model&>(*model).outputs()) {
      outputs_.push_back(port_of(output.get_element_type(), output.get_partial_shape()));
      outputs_.back().name = output_name(output);
    }
    compiled_ = core.compile_model(model, "CPU", properties);
    request_ = compiled_.create_infer_request();
  }

  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  std::string property(const std::string& name) const override {
    return compiled_.get_property(name).as<std::string>();
  }

  void bind(const std::vector<View>& tensors) override {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const ov::Shape shape(tensors[i].dims.begin(), tensors[i].dims.end());
      const auto type = type_of(tensors[i].dtype);
      // A tensor without elements has no memory to point to: OpenVINO makes its own.
      request_.set_input_tensor(i, tensors[i].bytes == 0 ? ov::Tensor(type, shape)
                                                         : ov::Tensor(type, shape, const_cast<void*>(tensors[i].data)));
    }
  }

  void run() override { request_.infer(); }

  std::vector<View> outputs_of_last_run() override {
    std::vector<View> out;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const ov::Tensor tensor = request_.get_output_tensor(i);
      const ov::Shape shape = tensor.get_shape();
      View view{dtype_of(tensor.get_element_type()), {shape.begin(), shape.end()}, nullptr, tensor.get_byte_size()};
      if (view.bytes != 0) view.data = tensor.data();
      out.push_back(std::move(view));
    }
    return out;
  }

  std::vector<NodeInfo> nodes() override {
    std::map<std::string, NodeInfo> known = runtime_nodes();
    std::vector<NodeInfo> out;
    for (const ov::ProfilingInfo& info : request_.get_profiling_info()) {
      NodeInfo node = known[info.node_name];
      node.name = info.node_name;
      node.type = info.node_type;
      node.exec_type = info.exec_type;
      node.average_us = info.status == ov::ProfilingInfo::Status::EXECUTED ? info.real_time.count() : 0;
      out.push_back(std::move(node));
    }
    return out;
  }

 private:
  // Shapes of names that are no inputs are left to the caller to refuse.
  static void reshape(ov::Model& model, const std::map<std::string, std::vector<int64_t>>& shapes) {
    std::map<std::string, ov::PartialShape> wanted;
    for (const auto& input : model.inputs())
      for (const auto& name : input.get_names())
        if (const auto found = shapes.find(name); found != shapes.end())
          wanted[name] = ov::PartialShape(std::vector<ov::Dimension>(found->second.begin(), found->second.end()));
    if (!wanted.empty()) model.reshape(wanted);
  }

  // What the compiled model says about its nodes, by name: shapes, types, the model's own nodes.
  std::map<std::string, NodeInfo> runtime_nodes() const {
    std::map<std::string, NodeInfo> out;
    const auto runtime = compiled_.get_runtime_model();
    for (const auto& op : runtime->get_ops()) {
      NodeInfo& node = out[op->get_friendly_name()];
      if (const auto found = op->get_rt_info().find("originalLayersNames"); found != op->get_rt_info().end())
        node.original = split(found->second.as<std::string>());
      for (const auto& input : op->inputs())
        node.inputs.push_back(port_of(input.get_element_type(), input.get_partial_shape()));
      for (const auto& output : op->outputs())
        node.outputs.push_back(port_of(output.get_element_type(), output.get_partial_shape()));
    }
    return out;
  }

  std::vector<Port> inputs_, outputs_;
  ov::CompiledModel compiled_;
  ov::InferRequest request_;
};

class OpenVinoPlugin final : public Plugin {
 public:
  std::string version() const override { return ov::get_openvino_version().buildNumber; }

  std::vector<std::string> details() const override {
    std::vector<std::string> out{"device: CPU, " + core_.get_property("CPU", ov::device::full_name)};
    std::string words;
    for (const auto& word : core_.get_property("CPU", ov::device::capabilities)) words += " " + word;
    out.push_back("capabilities:" + words);
    return out;
  }

  std::unique_ptr<PluginSession> open(const OpenRequest& request) override {
    return std::make_unique<OpenVinoSession>(core_, request);
  }

 private:
  mutable ov::Core core_;
};

}  // namespace

}  // namespace hone::engine::openvino

extern "C" __attribute__((visibility("default"))) hone::engine::openvino::Plugin* hone_openvino_plugin(int interface) {
  using namespace hone::engine::openvino;
  if (interface != kPluginInterface) return nullptr;
  static Plugin* plugin = new OpenVinoPlugin;  // never destroyed: sessions may outlive the statics of this library
  return plugin;
}
