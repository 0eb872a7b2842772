// One table says everything about a setting: its words for people, and how it reaches ONNX Runtime. Most are entries of
// ONNX Runtime's own key/value configuration; those name the key, so that a reader finds ONNX Runtime's documentation.
// SPDX-License-Identifier: Apache-2.0
#include "engine/onnxruntime/options.h"

#include "engine/setting_value.h"

namespace hone::engine::ort {

namespace {

// What a setting that is a configuration entry writes.
enum class Entry { kNone, kText, kOneWhenOn, kOneWhenOff };

struct Row {
  SettingInfo info;
  const char* key = nullptr;  // ONNX Runtime's configuration key
  Entry entry = Entry::kNone;
};

// clang-format off
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {{"intra_op_threads", "int", "0", {}, "Threads inside one operator, the calling one included; 0 = one per physical core (SetIntraOpNumThreads)"}},
      {{"inter_op_threads", "int", "0", {}, "Threads over independent operators, with execution_mode=parallel; 0 = one per physical core (SetInterOpNumThreads)"}},
      {{"execution_mode", "enum", "sequential", {"sequential", "parallel"}, "One operator after the other, or independent branches at once (SetExecutionMode)"}},
      {{"graph_optimization", "enum", "all", {"disabled", "basic", "extended", "layout", "all"}, "Level of ONNX Runtime's own graph optimizer (SetGraphOptimizationLevel)"}},
      {{"disabled_optimizers", "string", "", {}, "Optimizers of ONNX Runtime to leave out, separated by commas: NchwcTransformer,GeluFusion"}, "optimization.disable_specified_optimizers", Entry::kText},
      {{"intra_op_spinning", "bool", "on", {}, "Idle threads inside an operator spin before they sleep"}, "session.intra_op.allow_spinning", Entry::kOneWhenOn},
      {{"inter_op_spinning", "bool", "on", {}, "Idle threads over operators spin before they sleep"}, "session.inter_op.allow_spinning", Entry::kOneWhenOn},
      {{"intra_op_spin_us", "int", "", {}, "Longest spin of an idle thread inside an operator, in microseconds"}, "session.intra_op.spin_duration_us", Entry::kText},
      {{"force_spinning_stop", "bool", "off", {}, "Spinning stops as soon as an inference ends"}, "session.force_spinning_stop", Entry::kOneWhenOn},
      {{"intra_op_affinity", "string", "", {}, "CPUs of each thread but the calling one, numbered from 1: 1-4;5-8"}, "session.intra_op_thread_affinities", Entry::kText},
      {{"dynamic_block_base", "int", "0", {}, "Work of an operator is cut into blocks that get smaller: rest / (threads * base); 0 = equal blocks"}, "session.dynamic_block_base", Entry::kText},
      {{"memory_arena", "bool", "on", {}, "Memory of tensors comes from an arena that keeps it (EnableCpuMemArena)"}},
      {{"memory_pattern", "bool", "on", {}, "Memory of all intermediate tensors is planned as one block once shapes repeat; sequential mode only (EnableMemPattern)"}},
      {{"arena_shrinkage", "bool", "off", {}, "The arena gives unused memory back after each inference (memory.enable_memory_arena_shrinkage=cpu:0)"}},
      {{"prepacking", "bool", "on", {}, "Weights are laid out for the kernels once, at load; costs memory"}, "session.disable_prepacking", Entry::kOneWhenOff},
      {{"use_device_allocator_for_initializers", "bool", "off", {}, "Weights are allocated one by one and not from the arena"}, "session.use_device_allocator_for_initializers", Entry::kOneWhenOn},
      {{"denormals_as_zero", "bool", "off", {}, "Denormal floats become zero, in the thread that opens the session and in the session's own"}, "session.set_denormal_as_zero", Entry::kOneWhenOn},
      {{"deterministic_compute", "bool", "off", {}, "Kernels that have a deterministic form use it (SetDeterministicCompute)"}},
      {{"gelu_approximation", "bool", "off", {}, "Gelu is computed by its tanh approximation (FastGelu)", true}, "optimization.enable_gelu_approximation", Entry::kOneWhenOn},
      {{"qdq_fusion", "bool", "on", {}, "QuantizeLinear/DequantizeLinear pairs become integer operators"}, "session.disable_quant_qdq", Entry::kOneWhenOff},
      {{"qdq_cleanup", "bool", "off", {}, "QuantizeLinear/DequantizeLinear pairs left between float operators are removed", true}, "session.enable_quant_qdq_cleanup", Entry::kOneWhenOn},
      {{"x64_quant_precision", "bool", "off", {}, "U8U8 instead of U8S8 products where U8S8 can overflow (AVX2, AVX-512 without VNNI)"}, "session.x64quantprecision", Entry::kOneWhenOn},
      {{"matmulnbits_accuracy_level", "int", "4", {}, "Accuracy level of MatMulNBits made from DequantizeLinear and MatMul: 1 = float32 ... 4 = int8", true}, "session.qdq_matmulnbits_accuracy_level", Entry::kText},
      {{"function_inlining", "bool", "on", {}, "Functions of the model are inlined before optimization"}, "session.disable_aot_function_inlining", Entry::kOneWhenOff},
      {{"output_binding", "bool", "off", {}, "Outputs are written into buffers allocated once (I/O binding); off: each inference allocates them"}},
      {{"optimized_model", "string", "", {}, "Where to write the graph after ONNX Runtime's optimizer (SetOptimizedModelFilePath)"}},
      {{"custom_ops", "string", "", {}, "Shared library with custom operators (RegisterCustomOpsLibrary)"}},
      {{"free_dimension.*", "int", "", {}, "Fixes a symbolic dimension by its name or denotation: free_dimension.batch=1 (AddFreeDimensionOverrideByName, AddFreeDimensionOverride)"}},
      {{"config.*", "string", "", {}, "Any session configuration entry by ONNX Runtime's own key: config.session.disable_quant_qdq=1; keys it does not know have no effect"}},
      {{"run_config.*", "string", "", {}, "Any run configuration entry by ONNX Runtime's own key"}},
  };
  return table;
}
// clang-format on

GraphOptimizationLevel level(const std::string& word) {
  if (word == "disabled") return ORT_DISABLE_ALL;
  if (word == "basic") return ORT_ENABLE_BASIC;
  if (word == "extended") return ORT_ENABLE_EXTENDED;
  // ORT_ENABLE_LAYOUT: in the library since 1.22, not in these headers.
  if (word == "layout") return static_cast<GraphOptimizationLevel>(3);
  return ORT_ENABLE_ALL;
}

void add_entries(const Settings& settings, Ort::SessionOptions& out) {
  for (const Row& row : rows()) {
    if (row.entry == Entry::kNone || !settings.contains(row.info.id)) continue;
    const std::string value = setting_text(settings, row.info.id);
    const bool one = (row.entry == Entry::kOneWhenOn) == setting_is_on(value);
    out.AddConfigEntry(row.key, row.entry == Entry::kText ? value.c_str() : (one ? "1" : "0"));
  }
  for_settings_below(settings, "config.", [&](const std::string& key, const std::string& value) {
    out.AddConfigEntry(key.c_str(), value.c_str());
  });
}

void add_free_dimensions(const Settings& settings, Ort::SessionOptions& out) {
  for_settings_below(settings, "free_dimension.", [&](const std::string& name, const std::string& value) {
    const int64_t size = std::atoll(value.c_str());
    // The C++ class wraps neither. Which of the two a word is only the model knows, so both are set.
    Ort::ThrowOnError(Ort::GetApi().AddFreeDimensionOverrideByName(out, name.c_str(), size));
    Ort::ThrowOnError(Ort::GetApi().AddFreeDimensionOverride(out, name.c_str(), size));
  });
}

}  // namespace

const std::vector<SettingInfo>& setting_table() {
  static const std::vector<SettingInfo> table = [] {
    std::vector<SettingInfo> out;
    for (const Row& row : rows()) {
      out.push_back(row.info);
      if (row.key != nullptr) out.back().doc += std::string(" (") + row.key + ")";
    }
    return out;
  }();
  return table;
}

Result<Ort::SessionOptions> session_options(const Settings& settings, const OpenOptions& options) {
  return guard("session options", [&] {
    Ort::SessionOptions out;
    out.SetIntraOpNumThreads(setting_int(settings, "intra_op_threads", 0));
    out.SetInterOpNumThreads(setting_int(settings, "inter_op_threads", 0));
    out.SetExecutionMode(setting_text(settings, "execution_mode") == "parallel" ? ORT_PARALLEL : ORT_SEQUENTIAL);
    out.SetGraphOptimizationLevel(level(setting_text(settings, "graph_optimization", "all")));
    if (!setting_bool(settings, "memory_arena", true)) out.DisableCpuMemArena();
    if (!setting_bool(settings, "memory_pattern", true)) out.DisableMemPattern();
    if (setting_bool(settings, "deterministic_compute", false)) out.SetDeterministicCompute(true);
    if (const auto path = setting_text(settings, "optimized_model"); !path.empty())
      out.SetOptimizedModelFilePath(path.c_str());
    if (const auto path = setting_text(settings, "custom_ops"); !path.empty())
      out.RegisterCustomOpsLibrary(path.c_str());
    add_entries(settings, out);
    add_free_dimensions(settings, out);
    if (!options.profile_dir.empty()) out.EnableProfiling((options.profile_dir / "onnxruntime_profile").c_str());
    return out;
  });
}

Result<Ort::RunOptions> run_options(const Settings& settings) {
  return guard("run options", [&] {
    Ort::RunOptions out;
    if (setting_bool(settings, "arena_shrinkage", false))
      out.AddConfigEntry("memory.enable_memory_arena_shrinkage", "cpu:0");
    for_settings_below(settings, "run_config.", [&](const std::string& key, const std::string& value) {
      out.AddConfigEntry(key.c_str(), value.c_str());
    });
    return out;
  });
}

}  // namespace hone::engine::ort
