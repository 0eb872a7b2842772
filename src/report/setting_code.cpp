// How each engine setting is written in Python and C++. A test holds these tables against the engines' own settings.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "report/load_snippet.h"

namespace hone::report {

std::string literal(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\{:03o}", c);
    else
      out += static_cast<char>(c);
  }
  return out + "\"";
}

namespace {

bool on(const std::string& value) { return engine::setting_is_on(value); }

// Values that stand in code without quotes must be numbers, whoever wrote the journal.
bool is_whole(const std::string& value) {
  return !value.empty() && value.size() < 20 && value.find_first_not_of("0123456789") == std::string::npos;
}

SettingCode session_entry(const std::string& key, const std::string& value) {
  return {fmt::format("options.add_session_config_entry({}, {})", literal(key), literal(value)),
          fmt::format("options.AddConfigEntry({}, {});", literal(key), literal(value))};
}

struct EntryRow {
  const char* id;
  const char* key;
  enum { kText, kOneWhenOn, kOneWhenOff } how;
};

constexpr std::array<EntryRow, 16> kEntries = {{
    {"disabled_optimizers", "optimization.disable_specified_optimizers", EntryRow::kText},
    {"intra_op_spinning", "session.intra_op.allow_spinning", EntryRow::kOneWhenOn},
    {"inter_op_spinning", "session.inter_op.allow_spinning", EntryRow::kOneWhenOn},
    {"intra_op_spin_us", "session.intra_op.spin_duration_us", EntryRow::kText},
    {"force_spinning_stop", "session.force_spinning_stop", EntryRow::kOneWhenOn},
    {"intra_op_affinity", "session.intra_op_thread_affinities", EntryRow::kText},
    {"dynamic_block_base", "session.dynamic_block_base", EntryRow::kText},
    {"prepacking", "session.disable_prepacking", EntryRow::kOneWhenOff},
    {"use_device_allocator_for_initializers", "session.use_device_allocator_for_initializers", EntryRow::kOneWhenOn},
    {"denormals_as_zero", "session.set_denormal_as_zero", EntryRow::kOneWhenOn},
    {"gelu_approximation", "optimization.enable_gelu_approximation", EntryRow::kOneWhenOn},
    {"qdq_fusion", "session.disable_quant_qdq", EntryRow::kOneWhenOff},
    {"qdq_cleanup", "session.enable_quant_qdq_cleanup", EntryRow::kOneWhenOn},
    {"x64_quant_precision", "session.x64quantprecision", EntryRow::kOneWhenOn},
    {"matmulnbits_accuracy_level", "session.qdq_matmulnbits_accuracy_level", EntryRow::kText},
    {"function_inlining", "session.disable_aot_function_inlining", EntryRow::kOneWhenOff},
}};

std::optional<SettingCode> session_option(const std::string& id, const std::string& value) {
  if (id == "intra_op_threads" || id == "inter_op_threads") {
    if (!is_whole(value)) return std::nullopt;
    const char* word = id == "intra_op_threads" ? "Intra" : "Inter";
    return SettingCode{fmt::format("options.{}_num_threads = {}", id.substr(0, 8), value),
                       fmt::format("options.Set{}OpNumThreads({});", word, value)};
  }
  if (id == "execution_mode") {
    const char* word = value == "parallel" ? "ORT_PARALLEL" : "ORT_SEQUENTIAL";
    return SettingCode{fmt::format("options.execution_mode = ort.ExecutionMode.{}", word),
                       fmt::format("options.SetExecutionMode({});", word)};
  }
  if (id == "graph_optimization") {
    static const std::map<std::string, std::string> levels = {{"disabled", "ORT_DISABLE_ALL"},
                                                              {"basic", "ORT_ENABLE_BASIC"},
                                                              {"extended", "ORT_ENABLE_EXTENDED"},
                                                              {"layout", "ORT_ENABLE_LAYOUT"},
                                                              {"all", "ORT_ENABLE_ALL"}};
    const auto found = levels.find(value);
    if (found == levels.end()) return std::nullopt;
    // ORT_ENABLE_LAYOUT is newer than some C headers; its number is 3.
    const std::string cpp = value == "layout" ? "static_cast<GraphOptimizationLevel>(3)" : found->second;
    return SettingCode{"options.graph_optimization_level = ort.GraphOptimizationLevel." + found->second,
                       fmt::format("options.SetGraphOptimizationLevel({});", cpp)};
  }
  if (id == "memory_arena")
    return SettingCode{on(value) ? "options.enable_cpu_mem_arena = True" : "options.enable_cpu_mem_arena = False",
                       on(value) ? "options.EnableCpuMemArena();" : "options.DisableCpuMemArena();"};
  if (id == "memory_pattern")
    return SettingCode{on(value) ? "options.enable_mem_pattern = True" : "options.enable_mem_pattern = False",
                       on(value) ? "options.EnableMemPattern();" : "options.DisableMemPattern();"};
  if (id == "deterministic_compute")
    return SettingCode{
        on(value) ? "options.use_deterministic_compute = True" : "options.use_deterministic_compute = False",
        on(value) ? "options.SetDeterministicCompute(true);" : "options.SetDeterministicCompute(false);"};
  if (id == "custom_ops")
    return SettingCode{fmt::format("options.register_custom_ops_library({})", literal(value)),
                       fmt::format("options.RegisterCustomOpsLibrary({});", literal(value))};
  if (id == "optimized_model")
    return SettingCode{fmt::format("options.optimized_model_filepath = {}", literal(value)),
                       fmt::format("options.SetOptimizedModelFilePath({});", literal(value))};
  return std::nullopt;
}

}  // namespace

std::optional<SettingCode> onnxruntime_setting_code(const std::string& id, const std::string& value) {
  if (auto code = session_option(id, value)) return code;
  for (const EntryRow& row : kEntries) {
    if (id != row.id) continue;
    if (row.how == EntryRow::kText) return session_entry(row.key, value);
    return session_entry(row.key, on(value) == (row.how == EntryRow::kOneWhenOn) ? "1" : "0");
  }
  if (id.starts_with("config.")) return session_entry(id.substr(7), value);
  if (id.starts_with("free_dimension.")) {
    if (!is_whole(value)) return std::nullopt;
    const std::string name = literal(id.substr(15));
    return SettingCode{
        fmt::format("options.add_free_dimension_override_by_name({}, {})", name, value),
        fmt::format("Ort::ThrowOnError(Ort::GetApi().AddFreeDimensionOverrideByName(options, {}, {}));", name, value)};
  }
  if (id == "arena_shrinkage" || id.starts_with("run_config.")) {
    const std::string key = id == "arena_shrinkage" ? "memory.enable_memory_arena_shrinkage" : id.substr(11);
    const std::string text = id == "arena_shrinkage" ? (on(value) ? "cpu:0" : "") : value;
    return SettingCode{fmt::format("run_options.add_run_config_entry({}, {})", literal(key), literal(text)),
                       fmt::format("run_options.AddConfigEntry({}, {});", literal(key), literal(text))};
  }
  if (id == "output_binding")
    return SettingCode{"# output_binding: bind outputs once with session.io_binding() to save their allocation",
                       "// output_binding: bind outputs once with Ort::IoBinding to save their allocation"};
  return std::nullopt;
}

std::optional<SettingCode> openvino_setting_code(const std::string& id, const std::string& value) {
  static const std::map<std::string, std::string> keys = {
      {"inference_precision", "INFERENCE_PRECISION_HINT"},
      {"performance_hint", "PERFORMANCE_HINT"},
      {"num_streams", "NUM_STREAMS"},
      {"inference_num_threads", "INFERENCE_NUM_THREADS"},
      {"cache_dir", "CACHE_DIR"},
      {"enable_cpu_pinning", "ENABLE_CPU_PINNING"},
      {"enable_hyper_threading", "ENABLE_HYPER_THREADING"},
      {"scheduling_core_type", "SCHEDULING_CORE_TYPE"},
      {"tbb_partitioner", "TBB_PARTITIONER"},
      {"denormals_as_zero", "CPU_DENORMALS_OPTIMIZATION"},
      {"dynamic_quantization_group_size", "DYNAMIC_QUANTIZATION_GROUP_SIZE"},
      {"kv_cache_precision", "KV_CACHE_PRECISION"},
      {"sparse_weights_decompression_rate", "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE"}};
  const auto found = keys.find(id);
  const std::string key = found != keys.end() ? found->second : id.starts_with("property.") ? id.substr(9) : "";
  if (key.empty()) return std::nullopt;
  if (id == "performance_hint" && value == "none")
    return SettingCode{"# performance_hint: none, OpenVINO's plain defaults", "// performance_hint: none"};
  std::string text = value;
  if (id == "performance_hint" || id == "tbb_partitioner" || value == "auto")
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (id == "scheduling_core_type")
    text = value == "any" ? "ANY_CORE" : value == "pcore_only" ? "PCORE_ONLY" : "ECORE_ONLY";
  if (id.starts_with("enable_") || id == "denormals_as_zero") text = on(value) ? "YES" : "NO";
  return SettingCode{fmt::format("config[{}] = {}", literal(key), literal(text)),
                     fmt::format("config[{}] = {};", literal(key), literal(text))};
}

std::string environment_prefix(const engine::Settings& settings) {
  std::string out;
  for (const auto& [name, value] : engine::process_environment(settings)) {
    const bool plain = std::all_of(value.begin(), value.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || std::string_view("_.:=").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) out += name + "=" + value + " ";
  }
  return out;
}

}  // namespace hone::report
