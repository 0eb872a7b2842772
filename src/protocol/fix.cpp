// SPDX-License-Identifier: Apache-2.0
#include "protocol/fix.h"

namespace hone::protocol {

Result<Fixed> fix(const model::Model& model, const FixOptions& options) {
  Fixed fixed;
  fixed.data = options.data.empty()
                   ? HONE_TRY(synthesize(model.graph(), options.shapes, options.synthetic_count, options.seed))
                   : HONE_TRY(load_data(options.data, model.graph(), options.shapes, options.sample_limit));
  Protocol& protocol = fixed.protocol;
  protocol.shapes = shapes_of(fixed.data);
  protocol.data_sha256 = fixed.data.sha256();
  protocol.synthetic = fixed.data.synthetic;
  protocol.sample_count = static_cast<int64_t>(fixed.data.samples.size());
  protocol.seed = options.seed;
  protocol.threads = options.threads;
  protocol.accuracy_level = options.accuracy_level;
  return fixed;
}

}  // namespace hone::protocol
