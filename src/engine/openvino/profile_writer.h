// OpenVINO has no profile file of its own; this writes "hone.openvino_profile/1", which profile/ reads:
//
//   {"schema": "hone.openvino_profile/1", "version": "2026.4.1-...", "model": "m.onnx",
//    "nodes": [{"name": "Multiply_8044", "type": "Convolution", "exec_type": "brgconv_avx512_f32", "mean_ns": 207150,
//               "original": ["conv2d.0", "batch_norm.0"],               nodes of the model it stands for
//               "inputs": [{"dtype": "float32", "dims": [1,3,224,224]}], "outputs": [...]}],
//    "iterations": [{"wall_ns": 4707000}, {"wall_ns": 4698000}]}
//
// OpenVINO's times are averages over all inferences since the model was compiled. The first inference is not like the
// others, so it is taken out: mean = (n * average after n - average after 1) / (n - 1).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/file.h"
#include "engine/openvino/plugin.h"

namespace hone::engine::openvino {

struct ProfileData {
  std::string version, model;
  std::vector<NodeInfo> after_first, after_last;
  std::vector<int64_t> wall_ns;  // of every inference
};

// One node's mean time without the first inference; with one inference, that one. Never negative: averages are whole
// microseconds, so a short node can come out below zero by rounding.
int64_t mean_ns(int64_t average_us_after_first, int64_t average_us_after_last, int64_t iterations);
Status write_profile(const fs::path& path, const ProfileData& data);

}  // namespace hone::engine::openvino
