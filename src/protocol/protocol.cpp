// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"

namespace hone::protocol {

Json Protocol::to_json() const {
  Json named_shapes = Json::object();
  for (const auto& [name, dims] : shapes) named_shapes[name] = dims;
  return Json{{"shapes", std::move(named_shapes)},
              {"data_sha256", data_sha256},
              {"synthetic", synthetic},
              {"sample_count", sample_count},
              {"seed", seed},
              {"threads", threads},
              {"settle_ms", settle_ms},
              {"block_ms", block_ms},
              {"min_settle_iterations", min_settle_iterations},
              {"min_block_iterations", min_block_iterations},
              {"accuracy_level", accuracy_level}};
}

Result<Protocol> Protocol::from_json(const Json& value) {
  Protocol out;
  out.shapes = HONE_TRY(json_field<std::map<std::string, std::vector<int64_t>>>(value, "shapes"));
  out.data_sha256 = HONE_TRY(json_field<std::string>(value, "data_sha256"));
  out.synthetic = HONE_TRY(json_field<bool>(value, "synthetic"));
  out.sample_count = HONE_TRY(json_field<int64_t>(value, "sample_count"));
  out.seed = HONE_TRY(json_field<uint64_t>(value, "seed"));
  out.threads = HONE_TRY(json_field<int>(value, "threads"));
  out.settle_ms = HONE_TRY(json_field<double>(value, "settle_ms"));
  out.block_ms = HONE_TRY(json_field<double>(value, "block_ms"));
  out.min_settle_iterations = HONE_TRY(json_field<int>(value, "min_settle_iterations"));
  out.min_block_iterations = HONE_TRY(json_field<int>(value, "min_block_iterations"));
  out.accuracy_level = HONE_TRY(json_field<std::string>(value, "accuracy_level"));
  return out;
}

std::string Protocol::hash() const { return sha256_hex(dump_json_line(to_json())); }

Status require_same(const Protocol& a, const Protocol& b) {
  const Json left = a.to_json(), right = b.to_json();
  std::vector<std::string> differences;
  for (const auto& [key, value] : left.items()) {
    if (right.at(key) == value) continue;
    differences.push_back(fmt::format("{} {} / {}", key, dump_json_line(value), dump_json_line(right.at(key))));
  }
  if (differences.empty()) return {};
  return fail(bad_input(
      fmt::format("measurements under different protocols can't be compared: {}", fmt::join(differences, ", ")),
      fmt::format("protocols {} and {}", a.hash().substr(0, 8), b.hash().substr(0, 8)),
      "measure both under one protocol"));
}

}  // namespace hone::protocol
