// Dynamic int8: weights of MatMul and Gemm in int8 per output channel, activations quantized to uint8 at run time.
//
//   y = x W (+ b)  ->  xq, sx, zx = DynamicQuantizeLinear(x)
//                      y = Cast(MatMulInteger(xq, Wq, zx)) * (sx * sw) (+ b)
//
// Wq[k,n] = clip(round(W[k,n] / sw[n]), -127, 127), sw[n] = max_k |W[k,n]| / 127 (ptq.md section 2). ONNX Runtime fuses
// the chain into DynamicQuantizeMatMul. Pays where weights are read from memory or the CPU has integer dot products:
// 2.2-3.9 x on transformers, nothing on convolutions (peers.md C2); lossy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/graph.h"

namespace hone::change {

struct QuantizeOptions {
  int64_t least_elements = int64_t{1} << 16;  // ptq.md section 4: smaller layers cost more than they gain
  bool seven_bit = false;  // |q| <= 63: CPUs without VNNI add pairs of products in int16 (ptq.md 6.1)
  bool skip_last = false;  // the last layer (logits) stays float
};

struct QuantizedLayer {
  std::string name;
  int64_t k = 0, n = 0;
  bool quantized = false;
  std::string why;  // why not
};

// Quantizes in place; answers for every MatMul and Gemm with a constant weight what happened to it.
std::vector<QuantizedLayer> quantize_int8_dynamic(model::Graph& graph, const QuantizeOptions& options);

}  // namespace hone::change
