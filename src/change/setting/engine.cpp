// engine: run the model by another engine. OpenVINO at f32 was 1.3-1.5 x on unfused CNNs, 1.0-1.2 x elsewhere and
// 0.7 x on a small decoder (peers.md C2): worth a try on every model, and a verdict decides. Settings are the new
// engine's own; process-wide ones are kept.
//
// Rewrites that help one engine can hide the pattern that another one's own fusions look for (a detector on OpenVINO:
// 2.2 x from the original model, 1.4 x from the one rewritten for ONNX Runtime). So the other engine gets the original
// model, and its own rewrites come after; that it takes the rewritten one over is a second proposal.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "change/setting/setting_change.h"

namespace hone::change {

namespace {

constexpr const char *kModel = "model", *kRewritten = "rewritten";  // the parameter for the second proposal

class EngineChange final : public Change {
 public:
  const ChangeInfo& info() const override {
    static const ChangeInfo info{"engine",
                                 Kind::kEngine,
                                 accuracy::Class::kReassociating,
                                 "the present engine -> another one",
                                 {"low_efficiency_kernels", "conv_float", "matmul_weights_float"}};
    return info;
  }

  std::vector<Proposal> propose(const Context& context, std::string* why_not) const override {
    const diagnose::Finding* slow = context.diagnosis.find("low_efficiency_kernels");
    std::vector<Proposal> proposals;
    for (const std::string& id : context.engines) {
      if (id == context.best.engine) continue;
      Proposal p = set("engine", id, fmt::format("{} has other kernels and fusions for this model", id),
                       slow != nullptr ? Expectation{1.3, slow->upper_bound, 0.5} : Expectation{1.1, 1.6, 0.5});
      p.change = info().id;
      p.accuracy = info().accuracy;
      p.finding = slow != nullptr ? slow->id : std::string();
      p.cost_seconds = 15;
      proposals.push_back(p);
      if (context.best.model == context.original) continue;
      p.params[kModel] = kRewritten;
      p.hypothesis += ", and the rewrites made so far help it too";
      proposals.push_back(std::move(p));
    }
    if (proposals.empty()) *why_not = "no other engine is available or allowed";
    return proposals;
  }

  Result<Applied> apply(const Proposal& proposal, const Context& context, const fs::path&) const override {
    Applied applied;
    applied.configuration.engine = proposal.params.at("engine");
    applied.configuration.model = proposal.params.contains(kModel) ? context.best.model : context.original;
    for (const auto& [id, value] : context.best.settings)
      if (id.starts_with("process.")) applied.configuration.settings[id] = value;
    if (applied.configuration.engine == "openvino")
      for (const auto& [input, dims] : context.shapes)
        applied.configuration.settings["shape." + input] = fmt::format("{}", fmt::join(dims, "x"));
    applied.patch = settings_diff(context.best, applied.configuration);
    applied.summary = "engine " + applied.configuration.engine;
    const bool same = applied.configuration.model == context.best.model;
    applied.export_log = (same ? "the model is unchanged\n" : "back to the original model\n") + applied.patch;
    return applied;
  }
};

}  // namespace

const Change& engine_change() {
  static const EngineChange change;
  return change;
}

}  // namespace hone::change
