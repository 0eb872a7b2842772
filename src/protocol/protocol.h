// Protocol: what makes two measurements comparable (product.md). Fixed once per Run; its hash is on every Measurement;
// measurements under different Protocols are never compared: that is an error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hone::protocol {

struct Protocol {
  std::map<std::string, std::vector<int64_t>> shapes;  // input name -> fixed dims, from --shape and the data
  std::string data_sha256;                             // of the samples' content; also for synthetic ones
  bool synthetic = true;                               // made by hone, not given by the user
  int64_t sample_count = 0;
  uint64_t seed = 0;
  int threads = 0;                        // cores the workers may use (CPU affinity), 0 = all of the machine
  double settle_ms = 20, block_ms = 100;  // measuring.md section 3
  int min_settle_iterations = 2, min_block_iterations = 3;
  std::string accuracy_level = "numeric";  // bitwise | numeric | quality

  Json to_json() const;
  static Result<Protocol> from_json(const Json& value);
  // SHA-256 of the canonical JSON; the first 8 digits are what tables show.
  std::string hash() const;
};

// Ok when both are the same Protocol; else an Error (kind kBadInput) that names the fields that differ.
Status require_same(const Protocol& a, const Protocol& b);

}  // namespace hone::protocol
