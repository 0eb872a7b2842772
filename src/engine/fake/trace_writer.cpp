// SPDX-License-Identifier: Apache-2.0
#include "engine/fake/trace_writer.h"

#include "base/json.h"

namespace hone::engine::fake {

namespace {

// Whole microseconds, as in the real file; begin and end are rounded, so that rounding does not add up.
Json event(const char* category, const std::string& name, double start_us, double end_us, Json arguments) {
  const auto start = static_cast<int64_t>(start_us), end = static_cast<int64_t>(end_us);
  return {{"cat", category}, {"pid", 1},  {"tid", 1},     {"dur", end - start},
          {"ts", start},     {"ph", "X"}, {"name", name}, {"args", std::move(arguments)}};
}

}  // namespace

Status write_trace(const fs::path& path, const std::vector<NodeCost>& nodes, const std::vector<RunTime>& runs) {
  Json events = Json::array();
  events.push_back(event("Session", "model_loading_uri", 0, 1, {{"engine", "fake"}}));
  for (const RunTime& run : runs) {
    const double start = static_cast<double>(run.start_ns) / 1000,
                 duration = static_cast<double>(run.duration_ns) / 1000;
    const double scale = duration / total_us(nodes);
    double at = start;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const NodeCost& node = nodes[i];
      Json arguments = {{"op_name", node.op}, {"provider", "FakeExecutionProvider"}, {"node_index", std::to_string(i)}};
      if (!node.input_types.empty()) arguments["input_type_shape"] = Json::parse(node.input_types);
      events.push_back(event("Node", node.name + "_kernel_time", at, at + node.us * scale, std::move(arguments)));
      at += node.us * scale;
    }
    events.push_back(event("Session", "model_run", start, start + duration, Json::object()));
  }
  return write_file(path, dump_json(events));
}

}  // namespace hone::engine::fake
