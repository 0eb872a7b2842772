// What a Model holds: the Graph, and the ModelProto around it (functions, metadata, training info) without it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>

#include "model/graph.h"
#include "model/model.h"
#include "model/onnx_tensor.h"

namespace hone::model {

struct Model::State {
  fs::path path;
  onnx::ModelProto rest;  // without its graph; tensors in functions refer to `payloads`
  Payloads payloads;
  std::shared_ptr<Graph> graph;
  bool external = false;  // it was loaded from a model with external data

  // From a file's bytes, which `owner` (and `file`, when they lie in one) keeps.
  static Result<std::unique_ptr<State>> parse(std::span<const std::byte> bytes,
                                              const std::shared_ptr<const void>& owner,
                                              const std::shared_ptr<const MappedFile>& file, const fs::path& path);
  // Makes the graph from `proto`, whose large tensors refer to payloads; `where` is for errors.
  static Result<std::unique_ptr<State>> read(onnx::ModelProto proto, Payloads payloads, const std::string& where);
  // The whole as a ModelProto. With kFull, `out` receives the payloads that are referred to.
  onnx::ModelProto write(TensorData data, Payloads* out) const;
};

}  // namespace hone::model
