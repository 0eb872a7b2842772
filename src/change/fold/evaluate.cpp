// SPDX-License-Identifier: Apache-2.0
#include "change/fold/evaluate.h"

#include <map>
#include <string_view>

#include "change/fold/layout.h"

namespace hone::change::fold {

#define HONE_KERNEL(op, function) Outcome function(const Call& call);
#include "change/fold/kernels.def"
#undef HONE_KERNEL

namespace {

using Kernel = Outcome (*)(const Call&);

const std::map<std::string_view, Kernel>& kernels() {
  static const std::map<std::string_view, Kernel> kKernels = {
#define HONE_KERNEL(op, function) {#op, &function},
#include "change/fold/kernels.def"
#undef HONE_KERNEL
  };
  return kKernels;
}

}  // namespace

bool can_evaluate(const model::Node& node) { return node.domain.empty() && kernels().contains(node.op_type); }

Outcome evaluate(const Call& call) {
  if (!can_evaluate(call.node)) return {};
  for (const model::Tensor* input : call.inputs)
    if (input != nullptr && !has_whole_bytes(input->dtype()))
      return Outcome::not_evaluated("it reads " + model::dtype_name(input->dtype()));
  return kernels().at(call.node.op_type)(call);
}

bool fits(const Call& call, model::DType dtype, const std::vector<int64_t>& dims) {
  const int64_t count = model::element_count(dims);
  return count >= 0 && static_cast<size_t>(count) <= call.max_bytes &&
         model::packed_size(dtype, count) <= call.max_bytes;
}

}  // namespace hone::change::fold
