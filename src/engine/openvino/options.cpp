// One table says everything about a setting: its words for people, and which OpenVINO property it is.
//
// hone's defaults differ from OpenVINO's where those lose precision without being asked: OpenVINO computes in bfloat16
// on CPUs that can (AVX512_BF16, AMX), quantizes activations of models with compressed weights to int8, and stores
// key/value caches in 8 bits. Here each of these is a setting that says so.
// SPDX-License-Identifier: Apache-2.0
#include "engine/openvino/options.h"

#include <charconv>

#include "engine/setting_value.h"

namespace hone::engine::openvino {

namespace {

struct Row {
  SettingInfo info;
  const char* property = nullptr;
  bool always = false;  // hone's default is given to OpenVINO even when the setting is absent
};

// clang-format off
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {{"inference_precision", "enum", "f32", {"f32", "bf16", "f16"}, "Type the CPU computes in; OpenVINO itself would take bf16 where the CPU has it", true}, "INFERENCE_PRECISION_HINT", true},
      {{"performance_hint", "enum", "latency", {"latency", "throughput", "none"}, "What OpenVINO plans for; none = its plain defaults"}},
      {{"num_streams", "int", "", {"auto"}, "Inferences that can run at once, each with a part of the threads; absent = by the hint"}, "NUM_STREAMS"},
      {{"inference_num_threads", "int", "0", {}, "Threads of all streams together; 0 = all cores"}, "INFERENCE_NUM_THREADS"},
      {{"static_shapes", "bool", "on", {}, "The model is compiled for the shapes given by shape.*; off: for any shape"}},
      {{"shape.*", "string", "", {}, "Shape of an input the model is compiled for: shape.images=1x3x224x224; ? = stays dynamic; scalar = no dims"}},
      {{"cache_dir", "string", "", {}, "Folder where compiled models are kept, so that later starts are faster"}, "CACHE_DIR"},
      {{"enable_cpu_pinning", "bool", "", {}, "Each thread stays on one core; absent = OpenVINO decides"}, "ENABLE_CPU_PINNING"},
      {{"enable_hyper_threading", "bool", "", {}, "Both logical processors of a core are used; absent = OpenVINO decides"}, "ENABLE_HYPER_THREADING"},
      {{"scheduling_core_type", "enum", "any", {"any", "pcore_only", "ecore_only"}, "Kind of cores on hybrid CPUs"}, "SCHEDULING_CORE_TYPE"},
      {{"tbb_partitioner", "enum", "static", {"static", "auto"}, "How loops are cut over threads"}, "TBB_PARTITIONER"},
      {{"denormals_as_zero", "bool", "off", {}, "Denormal floats become zero"}, "CPU_DENORMALS_OPTIMIZATION"},
      {{"dynamic_quantization_group_size", "int", "0", {}, "Activations before compressed weights are quantized to int8 in groups of this size; 0 = not; OpenVINO itself takes 32", true}, "DYNAMIC_QUANTIZATION_GROUP_SIZE", true},
      {{"kv_cache_precision", "enum", "f32", {"f32", "bf16", "f16", "u8"}, "Type of key/value caches of stateful models; OpenVINO itself takes u8", true}, "KV_CACHE_PRECISION", true},
      {{"sparse_weights_decompression_rate", "float", "1", {}, "Weights with at least this share of zeros are stored packed"}, "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE"},
      {{"property.*", "string", "", {}, "Any property of the CPU plugin by OpenVINO's own name: property.ENABLE_MMAP=NO"}},
  };
  return table;
}
// clang-format on

std::string property_value(const SettingInfo& info, const std::string& value) {
  if (info.type == "bool") return setting_is_on(value) ? "YES" : "NO";
  if (info.id == "tbb_partitioner" || value == "auto") return value == "static" ? "STATIC" : "AUTO";
  if (info.id == "scheduling_core_type")
    return value == "any" ? "ANY_CORE" : (value == "pcore_only" ? "PCORE_ONLY" : "ECORE_ONLY");
  return value;
}

Result<std::vector<int64_t>> parse_dims(const std::string& id, const std::string& text) {
  std::vector<int64_t> out;
  if (text == "scalar" || text.empty()) return out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    int64_t dim = -1;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, dim);
    const bool dynamic = text.compare(at, end - at, "?") == 0 || text.compare(at, end - at, "-1") == 0;
    if (!dynamic && (error != std::errc() || stop != text.data() + end || dim < 0))
      return fail(usage_error("bad value of setting " + id, '"' + text + '"', "dims like 1x3x224x224; ? = dynamic"));
    out.push_back(dynamic ? -1 : dim);
    at = end + 1;
  }
  return out;
}

}  // namespace

const std::vector<SettingInfo>& setting_table() {
  static const std::vector<SettingInfo> table = [] {
    std::vector<SettingInfo> out;
    for (const Row& row : rows()) {
      out.push_back(row.info);
      if (row.property != nullptr) out.back().doc += std::string(" (") + row.property + ")";
    }
    return out;
  }();
  return table;
}

Result<OpenRequest> open_request(const fs::path& model, const Settings& settings, const OpenOptions& options) {
  OpenRequest out;
  out.model = model.string();
  out.profile = !options.profile_dir.empty();
  for (const Row& row : rows())
    if (row.property != nullptr && (row.always || settings.contains(row.info.id)))
      out.properties[row.property] =
          property_value(row.info, setting_text(settings, row.info.id, row.info.default_value));
  const std::string hint = setting_text(settings, "performance_hint", "latency");
  if (hint != "none") out.properties["PERFORMANCE_HINT"] = hint == "latency" ? "LATENCY" : "THROUGHPUT";
  for_settings_below(settings, "property.",
                     [&](const std::string& name, const std::string& value) { out.properties[name] = value; });
  if (!setting_bool(settings, "static_shapes", true)) return out;
  for (const auto& [id, value] : settings)
    if (id.starts_with("shape.")) out.shapes[id.substr(6)] = HONE_TRY(parse_dims(id, value));
  return out;
}

}  // namespace hone::engine::openvino
