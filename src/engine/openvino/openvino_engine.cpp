// The openvino engine: reads the same ONNX file, compiles it for the CPU.
// SPDX-License-Identifier: Apache-2.0
#include "engine/checks.h"
#include "engine/engine.h"
#include "engine/message.h"
#include "engine/openvino/loader.h"
#include "engine/openvino/options.h"
#include "engine/openvino/session.h"

namespace hone::engine {

namespace {

class OpenVinoEngine final : public Engine {
 public:
  std::string_view id() const override { return "openvino"; }
  std::string_view profile_format() const override { return "openvino_profile"; }
  const std::vector<SettingInfo>& settings() const override { return openvino::setting_table(); }

  Capabilities probe() const override {
    Capabilities out;
    const auto plugin = openvino::load_plugin();
    if (!plugin) {
      out.reason = plugin.error().line();
      return out;
    }
    try {
      out.version = (*plugin)->version();
      out.details = (*plugin)->details();
      out.available = true;
    } catch (const std::exception& e) {
      out.reason = first_meaningful_line(e.what());
    }
    return out;
  }

  Result<std::unique_ptr<Session>> open(const fs::path& model, const Settings& settings,
                                        const OpenOptions& options) const override {
    HONE_TRY(validate(*this, settings));
    HONE_TRY(require_files(model, options));
    const auto request = HONE_TRY(openvino::open_request(model, settings, options));
    openvino::Plugin* plugin = HONE_TRY(openvino::load_plugin());
    return openvino::OpenVinoSession::open(*plugin, request, options);
  }
};

}  // namespace

const Engine& openvino_engine() {
  static const OpenVinoEngine engine;
  return engine;
}

}  // namespace hone::engine
