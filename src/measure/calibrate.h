// Calibration for `hone doctor`: what this machine is for measuring. Which places its CPUs are moved between, how busy
// it is, how long a thawed worker needs to settle, and how small an effect can be proven here (measuring.md section 5).
//
// The analysis is pure (canaries and curves in, thresholds out); only the two calibrate_* functions run anything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "measure/measure.h"
#include "measure/place.h"
#include "measure/topology.h"

namespace hone::measure {

struct PlaceSeen {
  std::string name;
  double share = 0;                // of the canaries
  double ping_ns = 0, fma_ms = 0;  // medians
  double longest_s = 0;            // longest stay
};

struct MachineReport {
  Calibration calibration;
  std::vector<PlaceSeen> places;  // in order of ping; sibling last
  int canaries = 0;
  double seconds = 0;
  double pressure = -1;  // share of the time somebody waited for a CPU, -1 when the kernel does not say
  bool has_pressure = false, has_schedstat = false;
  Topology topology;
  std::vector<int> pin;  // bare metal: the CPUs to pin workers to; empty = leave them
  std::vector<std::string> warnings;
  Json to_json() const;
};

struct ModelReport {
  double settle_ms = 0;         // until iterations after a thaw are within 2 % of steady, at least 5
  double block_ms = 100;        // 50 where blocks of 50 ms spread no more than those of 100 ms
  double first_iteration = 1;   // of steady, after a thaw
  double sd = 0;                // of z, in the A/A
  double smallest_speedup = 0;  // that is kept with 80 % power
  Comparison aa;
  Json to_json() const;
};

struct CanarySample {
  double time_s = 0;
  worker::Canary canary;
};

// Splits the canaries into places: siblings by FMA time against its mode; the others where sorted pings have a gap of
// more than 1.5 x with at least 1 % of the canaries (and 3) on either side.
MachineReport analyse_canaries(const std::vector<CanarySample>& samples, const Calibration& defaults);

// One thawed worker's iterations, in order, in milliseconds.
using Curve = std::vector<double>;
// See ModelReport::settle_ms; also gives the first iteration over steady (medians over the curves).
double settle_from(const std::vector<Curve>& curves, double* first_iteration);
// 50 when the robust spread of the curves' q25 over their first 50 ms is no more than 1.1 x that over all, else 100.
double block_from(const std::vector<Curve>& curves, double settle_ms);

struct CalibrateOptions {
  double seconds = 30;
  double period_s = .03;
  std::vector<int> cpus;  // those the workers will use; empty = ours
  std::function<bool()> cancelled;
  std::function<void(double share)> on_progress;
};
// Does not store the calibration: store_calibration() (place.h) when `worth_keeping`.
Result<MachineReport> calibrate_machine(const CalibrateOptions& options);
// Long enough (100 canaries), and not on a machine that others kept busy.
bool worth_keeping(const MachineReport& report);
// With one model: 20 thaws of one worker, then an A/A of `pairs` instance pairs.
Result<ModelReport> calibrate_model(const engine::Configuration& what, const Bench& bench, int pairs = 6);

}  // namespace hone::measure
