// One compiled OpenVINO model and its inference request.
//
// Inputs point at the sample's own bytes; outputs are OpenVINO's buffers, which it keeps between inferences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "engine/openvino/plugin.h"
#include "engine/openvino/profile_writer.h"

namespace hone::engine::openvino {

class OpenVinoSession final : public Session {
 public:
  static Result<std::unique_ptr<Session>> open(Plugin& plugin, const OpenRequest& request, const OpenOptions& options);
  const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  const std::vector<TensorInfo>& outputs() const override { return outputs_; }
  Status bind(const model::NamedTensors& sample) override;
  Status run() override;
  Result<model::NamedTensors> fetch() override;
  Result<RawProfile> end_profile() override;

 private:
  OpenVinoSession() = default;
  Status run_profiled();

  std::string where_;
  std::unique_ptr<PluginSession> session_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<model::Tensor> bound_;  // keep the bytes OpenVINO reads
  bool is_bound_ = false;
  fs::path profile_dir_;
  ProfileData profile_;
};

}  // namespace hone::engine::openvino
