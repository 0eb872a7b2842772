// Place: where the hypervisor has put our CPUs, told from a canary (measuring.md 1.1). Only blocks of one place are
// compared: the effect of a change differs by place, so places can neither be mixed nor normalised away.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/result.h"
#include "worker/worker.h"

namespace hone::measure {

inline constexpr const char* kNear = "near";
inline constexpr const char* kFar = "far";
inline constexpr const char* kSibling = "sibling";
inline constexpr const char* kMoved = "moved";  // changed inside a block
inline constexpr const char* kOne = "one";      // bare metal, or one CPU: nothing can move
inline constexpr const char* kFake = "fake";    // the engine brings its own clock

// The thresholds of this machine; `hone doctor` measures them (calibrate.h).
struct Calibration {
  bool one_place = false;
  // Pings below the first bound are near, then far, far2, far3, ... Default: default_calibration().
  std::vector<double> ping_bounds_ns;
  double sibling_ratio = 1.5;  // both CPUs' FMA work takes so many times its usual time
  double fma_usual_ms = 0;     // 0 = not known: the median of the last 200 canaries
  bool measured = false;       // by doctor, not a default

  Json to_json() const;
  static Result<Calibration> from_json(const Json& value);
};

// Bare metal (no "hypervisor" CPU flag): one place. A virtual machine: the thresholds measured for its kind of CPU.
Calibration default_calibration();
// The same, from the text of /proc/cpuinfo.
Calibration default_calibration(std::string_view cpuinfo);
// What `hone doctor --calibrate` stored for this kind of machine, else the default.
Calibration machine_calibration();
Calibration machine_calibration(const fs::path& folder);
// Stores it in the cache folder, for the runs to come.
Status store_calibration(const Calibration& calibration);
Status store_calibration(const Calibration& calibration, const fs::path& folder);

// `fma_usual_ms`: see Calibration; 0 = the canary can't be told to be sibling.
std::string place_of(const worker::Canary& canary, const Calibration& calibration, double fma_usual_ms);

// What one process has seen of the machine so far; shared by the comparisons of a Run, so that a change of the clock
// frequency since its beginning is noticed.
struct MachineWatch {
  std::deque<double> recent_fma_ms;            // of the last 200 canaries: their median is the usual time
  std::map<std::string, double> first_fma_ms;  // place -> median of the first instance pair there
};

// Classifies canaries; learns the usual FMA time when the calibration does not have it.
class Places {
 public:
  Places(const Calibration& calibration, MachineWatch& watch) : calibration_(calibration), watch_(watch) {}
  std::string classify(const worker::Canary& canary);
  // The place of a block: kMoved when its canaries differ.
  std::string classify(const worker::BlockResult& block);
  // Where a comparison starts to look: kNear, or kOne when there is nothing else.
  std::string first_reference() const { return calibration_.one_place ? kOne : kNear; }

 private:
  const Calibration& calibration_;
  MachineWatch& watch_;
};

}  // namespace hone::measure
