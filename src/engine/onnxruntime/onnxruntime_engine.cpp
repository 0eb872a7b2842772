// The onnxruntime engine: hone's default, and the accuracy reference of every Run.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "engine/checks.h"
#include "engine/engine.h"
#include "engine/onnxruntime/options.h"
#include "engine/onnxruntime/ort.h"
#include "engine/onnxruntime/session.h"

namespace hone::engine {

namespace {

class OnnxRuntimeEngine final : public Engine {
 public:
  std::string_view id() const override { return "onnxruntime"; }
  std::string_view profile_format() const override { return "onnxruntime_trace"; }
  const std::vector<SettingInfo>& settings() const override { return ort::setting_table(); }

  Capabilities probe() const override {
    Capabilities out;
    out.version = ort::ort_version();
    if (!ort::ort_available()) {
      out.reason = fmt::format(
          "the library is {}, hone was built for API version {}: run scripts/setup, or point "
          "ONNXRUNTIME_ROOT at a newer one",
          out.version, ORT_API_VERSION);
      return out;
    }
    out.available = true;
    out.details.push_back(fmt::format("providers: {}", fmt::join(Ort::GetAvailableProviders(), ", ")));
    out.details.push_back(Ort::GetBuildInfoString());
    return out;
  }

  Result<std::unique_ptr<Session>> open(const fs::path& model, const Settings& settings,
                                        const OpenOptions& options) const override {
    HONE_TRY(validate(*this, settings));
    if (!ort::ort_available()) return fail(tool_failed("onnxruntime is not available", {}, probe().reason));
    HONE_TRY(require_files(model, options));
    return ort::OrtSession::open(model, settings, options);
  }
};

}  // namespace

const Engine& onnxruntime_engine() {
  static const OnnxRuntimeEngine engine;
  return engine;
}

}  // namespace hone::engine
