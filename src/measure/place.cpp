// SPDX-License-Identifier: Apache-2.0
#include "measure/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace hone::measure {

namespace {

constexpr size_t kRecent = 200;  // canaries: about 15 instance pairs

// One way, between two L3 domains or not. Zen 4: near 37..44 ns, far 159..190 (measuring.md 1.1), so 100. Intel's
// server chips have one L3 on a mesh whose clock varies: 65..152 ns without a gap on a busy Sapphire Rapids guest.
constexpr double kPingBoundNs = 100, kIntelPingBoundNs = 200;

}  // namespace

Calibration default_calibration(std::string_view cpuinfo) {
  Calibration calibration;
  const size_t flags = cpuinfo.find("flags");
  const size_t end = cpuinfo.find('\n', flags == std::string_view::npos ? 0 : flags);
  // Without a flags line (other architectures) nothing is known: then the canary looks.
  calibration.one_place = flags != std::string_view::npos &&
                          cpuinfo.substr(flags, end - flags).find(" hypervisor") == std::string_view::npos;
  const bool intel = cpuinfo.find("GenuineIntel") != std::string_view::npos;
  calibration.ping_bounds_ns = {intel ? kIntelPingBoundNs : kPingBoundNs};
  return calibration;
}

Calibration default_calibration() {
  std::ifstream file("/proc/cpuinfo");
  std::stringstream text;
  text << file.rdbuf();
  return default_calibration(text.str());
}

std::string place_of(const worker::Canary& canary, const Calibration& calibration, double fma_usual_ms) {
  if (calibration.one_place || canary.ping_ns <= 0) return kOne;
  // Both CPUs: one slow CPU alone was interrupted, two slow ones share a core.
  const double faster_ms = std::min(canary.fma_ms[0], canary.fma_ms[1]);
  if (fma_usual_ms > 0 && faster_ms >= calibration.sibling_ratio * fma_usual_ms) return kSibling;
  const auto& bounds = calibration.ping_bounds_ns;
  const auto above = std::count_if(bounds.begin(), bounds.end(), [&](double b) { return canary.ping_ns >= b; });
  if (above == 0) return kNear;
  return above == 1 ? kFar : fmt::format("{}{}", kFar, above);
}

std::string Places::classify(const worker::Canary& canary) {
  auto& recent = watch_.recent_fma_ms;
  recent.push_back(std::min(canary.fma_ms[0], canary.fma_ms[1]));
  if (recent.size() > kRecent) recent.pop_front();
  if (calibration_.fma_usual_ms > 0) return place_of(canary, calibration_, calibration_.fma_usual_ms);
  // Not the shortest: turbo alone makes fixed work take 0.24..0.39 ms on a shared Sapphire Rapids.
  std::vector<double> sorted(recent.begin(), recent.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return place_of(canary, calibration_, *middle);
}

std::string Places::classify(const worker::BlockResult& block) {
  const std::string before = classify(block.before), after = classify(block.after);
  return before == after ? before : kMoved;
}

Json Calibration::to_json() const {
  return {{"one_place", one_place},
          {"ping_bounds_ns", ping_bounds_ns},
          {"sibling_ratio", sibling_ratio},
          {"fma_usual_ms", fma_usual_ms},
          {"measured", measured}};
}

Result<Calibration> Calibration::from_json(const Json& value) {
  Calibration c;
  c.one_place = HONE_TRY(json_field<bool>(value, "one_place"));
  c.ping_bounds_ns = HONE_TRY(json_field<std::vector<double>>(value, "ping_bounds_ns"));
  c.sibling_ratio = HONE_TRY(json_field<double>(value, "sibling_ratio"));
  c.fma_usual_ms = HONE_TRY(json_field<double>(value, "fma_usual_ms"));
  c.measured = HONE_TRY(json_field<bool>(value, "measured"));
  return c;
}

}  // namespace hone::measure
