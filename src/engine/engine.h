// Engine: what executes a Model. One folder per engine; engines.def lists them; one conformance suite tests them all.
//
// An engine runs inside a worker process (worker/worker.h), never in hone itself: a crash takes the Trial, not the Run.
// Settings are strings by id, declared by the engine with type, default and documentation, so that the command line,
// the docs, the journal and best/settings.json all speak of them in the same words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/result.h"
#include "model/tensor.h"

namespace hone::engine {

// Setting id -> value. An id that is absent has the engine's default. Ids starting with "process." (huge pages,
// arenas) can't be set from inside a running process, so whoever starts the worker applies them, for every engine: it
// adds process_environment() to the worker's environment. Engines ignore them.
using Settings = std::map<std::string, std::string>;

struct SettingInfo {
  std::string id;                    // "intra_op_threads"; "config.*" stands for every id that starts with "config."
  std::string type;                  // "int" (>= 0), "float", "bool" (on/off, true/false, 1/0), "enum", "string"
  std::string default_value;         // what the engine does when it is absent
  std::vector<std::string> choices;  // for "enum"; for "int" and "float": words allowed besides numbers
  std::string doc;                   // one sentence, with the engine's own name of it
  bool lossy = false;                // may change results beyond rounding (precision hints)
};

// What is run: which model, by which engine, how. The thing a Change changes.
struct Configuration {
  std::string engine = "onnxruntime";
  fs::path model;
  Settings settings;
  Json to_json() const;
  static Result<Configuration> from_json(const Json& value);
  bool operator==(const Configuration&) const = default;
};

struct TensorInfo {
  std::string name;
  model::DType dtype = model::DType::kUndefined;
  std::vector<int64_t> dims;  // -1 = dynamic
  bool rank_known = true;     // false: dims is empty and says nothing
  bool is_tensor = true;      // false: sequence, map, optional (not supported as input)
};

struct Capabilities {
  bool available = false;
  std::string version;               // "1.32.0"
  std::string reason;                // why it is not available and how to get it
  std::vector<std::string> details;  // providers, devices, CPU features: what doctor prints
};

// What the engine's own profiler wrote; profile/ reads it by content.
struct RawProfile {
  std::vector<fs::path> files;
  int iterations = 0;
};

class Session {
 public:
  virtual ~Session() = default;
  virtual const std::vector<TensorInfo>& inputs() const = 0;
  virtual const std::vector<TensorInfo>& outputs() const = 0;
  // Makes `sample` the input of the following run()s; allocates outputs when the engine binds them. Not timed.
  virtual Status bind(const model::NamedTensors& sample) = 0;
  // One inference. This is what is timed; it returns when the outputs are complete.
  virtual Status run() = 0;
  // The outputs of the last run(), copied, in the model's output order.
  virtual Result<model::NamedTensors> fetch() = 0;
  // The clock run() is timed with; the fake engine has its own.
  virtual Clock& clock() { return steady_clock(); }
  // Ends a profiling session (opened with OpenOptions::profile_dir) and says what was written.
  virtual Result<RawProfile> end_profile() = 0;
};

struct OpenOptions {
  fs::path profile_dir;        // non-empty: the engine's per-node profiler is on and writes there
  uint64_t instance_seed = 0;  // for the fake engine's noise
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view id() const = 0;
  virtual Capabilities probe() const = 0;
  virtual const std::vector<SettingInfo>& settings() const = 0;
  // The profile format its profiler writes (an id of profile/formats.def).
  virtual std::string_view profile_format() const = 0;
  // Compiles or loads the model. The engine's own message is passed on, trimmed to its first meaningful line.
  virtual Result<std::unique_ptr<Session>> open(const fs::path& model, const Settings& settings,
                                                const OpenOptions& options) const = 0;
};

// All engines, in the order of engines.def. The fake engine is among them; `hidden` tells it from the real ones.
const std::vector<const Engine*>& all_engines();
// True for engines that are for tests only: doctor lists them and the loop tries them only with HONE_FAKE_ENGINE=1.
bool hidden(const Engine& engine);
// kUsage error with the known names and the nearest one when there is no such engine.
Result<const Engine*> find_engine(std::string_view id);
// Settings every engine has, applied to the worker process: process.huge_pages, process.malloc_arena_max, ...
const std::vector<SettingInfo>& process_settings();
// The environment variables that apply the process-wide settings, to be set before the worker process starts (glibc
// reads them once, at start). `inherited_tunables`: the GLIBC_TUNABLES the worker would inherit; it is kept.
std::map<std::string, std::string> process_environment(const Settings& settings,
                                                       std::string_view inherited_tunables = {});
// The declaration of a setting of this engine or of the process; nullptr when there is none.
const SettingInfo* find_setting(const Engine& engine, std::string_view id);
// True for the words that mean yes in a bool setting.
bool setting_is_on(std::string_view value);
// Ok when every id is declared by the engine (or process-wide) and every value fits its type.
Status validate(const Engine& engine, const Settings& settings);
// The settings of the accuracy reference: the original model in onnxruntime, all graph optimizations off.
Configuration accuracy_reference(const fs::path& model);

}  // namespace hone::engine
