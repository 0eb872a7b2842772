// SPDX-License-Identifier: Apache-2.0
#include "engine/openvino/profile_writer.h"

#include <algorithm>

#include "base/json.h"
#include "model/tensor.h"

namespace hone::engine::openvino {

int64_t mean_ns(int64_t average_us_after_first, int64_t average_us_after_last, int64_t iterations) {
  if (iterations < 2) return average_us_after_last * 1000;
  const int64_t sum_us = iterations * average_us_after_last - average_us_after_first;
  return std::max<int64_t>(sum_us * 1000 / (iterations - 1), 0);
}

namespace {

Json types(const std::vector<Port>& ports) {
  Json out = Json::array();
  for (const Port& port : ports) {
    Json one = {{"dtype", model::dtype_name(static_cast<model::DType>(port.dtype))}};
    const bool known = port.rank_known && std::ranges::all_of(port.dims, [](int64_t dim) { return dim >= 0; });
    if (known) one["dims"] = port.dims;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Status write_profile(const fs::path& path, const ProfileData& data) {
  const auto count = static_cast<int64_t>(data.wall_ns.size());
  Json nodes = Json::array();
  for (size_t i = 0; i < data.after_last.size(); ++i) {
    const NodeInfo& node = data.after_last[i];
    const int64_t first = i < data.after_first.size() ? data.after_first[i].average_us : 0;
    Json one = {{"name", node.name}, {"type", node.type}, {"exec_type", node.exec_type}};
    one["mean_ns"] = mean_ns(first, node.average_us, count);
    if (!node.original.empty()) one["original"] = node.original;
    one["inputs"] = types(node.inputs);
    one["outputs"] = types(node.outputs);
    nodes.push_back(std::move(one));
  }
  Json iterations = Json::array();
  for (int64_t i = count > 1 ? 1 : 0; i < count; ++i)
    iterations.push_back({{"wall_ns", data.wall_ns[static_cast<size_t>(i)]}});
  return write_file(path, dump_json({{"schema", "hone.openvino_profile/1"},
                                     {"version", data.version},
                                     {"model", data.model},
                                     {"nodes", std::move(nodes)},
                                     {"iterations", std::move(iterations)}}));
}

}  // namespace hone::engine::openvino
