// The border between hone and OpenVINO: hone-openvino.so, a small shared library, is loaded when the openvino engine is
// first asked for anything.
//
// Why not link OpenVINO: a machine without it (or with one that does not load) must run hone all the same and hear the
// reason from probe(); and a worker of another engine should not carry OpenVINO's libraries, threads and memory.
// The plugin knows nothing of hone but this file; both sides are built by one compiler, so std types may cross.
// Its functions throw std::exception; the engine's side turns that into Errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hone::engine::openvino {

// An input or output. dtype has the numbers of onnx.TensorProto.DataType; 0 = a type hone has no tensors for.
struct Port {
  std::string name;
  int32_t dtype = 0;
  std::vector<int64_t> dims;  // -1 = dynamic
  bool rank_known = true;
};

// Bytes somewhere else, in raw_data layout.
struct View {
  int32_t dtype = 0;
  std::vector<int64_t> dims;
  const void* data = nullptr;
  size_t bytes = 0;
};

// A node of the compiled model, from OpenVINO's runtime model and profiling info.
struct NodeInfo {
  std::string name, type, exec_type;
  std::vector<std::string> original;  // nodes of the model it stands for
  std::vector<Port> inputs, outputs;
  int64_t average_us = 0;  // over all inferences since the model was compiled, whole microseconds
};

struct OpenRequest {
  std::string model;
  std::map<std::string, std::string> properties;       // OpenVINO's own names and words
  std::map<std::string, std::vector<int64_t>> shapes;  // input -> dims to fix, -1 = stays dynamic
  std::string cache_dir;
  bool profile = false;
};

class PluginSession {
 public:
  virtual ~PluginSession() = default;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  // A property of the compiled model, as OpenVINO prints it: what it really does.
  virtual std::string property(const std::string& name) const = 0;
  // By input index; the bytes must stay until the next bind.
  virtual void bind(const std::vector<View>& tensors) = 0;
  virtual void run() = 0;
  // Views into the session; good until the next run or bind.
  virtual std::vector<View> outputs_of_last_run() = 0;
  // In order of execution; with OpenRequest::profile.
  virtual std::vector<NodeInfo> nodes() = 0;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string version() const = 0;
  virtual std::vector<std::string> details() const = 0;
  virtual std::unique_ptr<PluginSession> open(const OpenRequest& request) = 0;
};

// Grows with every change of this file: a plugin of another build is refused.
inline constexpr int kPluginInterface = 1;
// extern "C" Plugin* hone_openvino_plugin(int interface): null when `interface` is not its own.
inline constexpr const char* kPluginSymbol = "hone_openvino_plugin";

}  // namespace hone::engine::openvino
