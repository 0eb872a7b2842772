// SPDX-License-Identifier: Apache-2.0
#include "measure/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/statistics.h"
#include "measure/coordinator.h"
#include "measure/warnings.h"
#include "worker/counters.h"

namespace hone::measure {

namespace {

constexpr double kGap = 1.5;       // between the pings of two places (measuring.md section 5)
constexpr double kOutliers = .01;  // less than this share is no place
constexpr double kSteady = 1.02;   // within 2 % of steady
constexpr double kLeastSettleMs = 5;
constexpr double kMostSettleMs = 60;
constexpr int kCurves = 20;
constexpr double kRestMs = 150;  // frozen before each curve: about as long as the other side's block

double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + .5)];
}

// Half-sample mode (Bickel 2002): the middle of the densest half, again and again.
double mode_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t from = 0, count = values.size();
  while (count > 2) {
    const size_t half = (count + 1) / 2;
    size_t best = from;
    for (size_t i = from; i + half <= from + count; ++i)
      if (values[i + half - 1] - values[i] < values[best + half - 1] - values[best]) best = i;
    from = best;
    count = half;
  }
  return count == 0 ? 0 : (values[from] + values[from + count - 1]) / 2;
}

double faster_ms(const worker::Canary& canary) { return std::min(canary.fma_ms[0], canary.fma_ms[1]); }

// The bounds between places: the geometric middle of each wide gap that has enough on either side.
std::vector<double> bounds_between(std::vector<double> pings, double default_bound) {
  std::sort(pings.begin(), pings.end());
  const size_t least = std::max<size_t>(3, static_cast<size_t>(kOutliers * static_cast<double>(pings.size())));
  std::vector<double> bounds;
  size_t cluster_start = 0;
  for (size_t i = 1; i < pings.size(); ++i) {
    if (pings[i] / pings[i - 1] <= kGap || i - cluster_start < least || pings.size() - i < least) continue;
    bounds.push_back(std::sqrt(pings[i] * pings[i - 1]));
    cluster_start = i;
  }
  if (!bounds.empty() || pings.empty()) return bounds.empty() ? std::vector<double>{default_bound} : bounds;
  // One place only. The default bound stays, unless it would cut through what was seen.
  const double usual = quantile_of(pings, .5), high = quantile_of(pings, .99);
  return {usual < default_bound ? std::max(default_bound, kGap * high) : default_bound};
}

std::vector<PlaceSeen> places_seen(const std::vector<CanarySample>& samples, const Calibration& calibration) {
  struct Group {
    std::vector<double> ping, fma;
    double longest_s = 0;
  };
  std::map<std::string, Group> groups;
  std::string at;
  double since_s = 0;
  for (const auto& sample : samples) {
    const std::string place = place_of(sample.canary, calibration, calibration.fma_usual_ms);
    if (place != at) since_s = sample.time_s;
    at = place;
    Group& group = groups[place];
    group.ping.push_back(sample.canary.ping_ns);
    group.fma.push_back(faster_ms(sample.canary));
    group.longest_s = std::max(group.longest_s, sample.time_s - since_s);
  }
  std::vector<PlaceSeen> out;
  for (const auto& [name, group] : groups)
    out.push_back({name, static_cast<double>(group.ping.size()) / static_cast<double>(samples.size()),
                   median_of(group.ping), median_of(group.fma), group.longest_s});
  std::sort(out.begin(), out.end(), [](const PlaceSeen& a, const PlaceSeen& b) {
    return std::pair(a.name == kSibling, a.ping_ns) < std::pair(b.name == kSibling, b.ping_ns);
  });
  return out;
}

void add_warnings(MachineReport* report) {
  if (!report->has_pressure)
    report->warnings.push_back(
        "no pressure information (/proc/pressure): disturbed blocks are told from the run queue "
        "wait or /proc/stat");
  if (report->pressure > Plan().highest_pressure)
    report->warnings.push_back(
        fmt::format("the machine is busy: somebody waited for a CPU {:.0f} % of the time", report->pressure * 100));
  for (const auto& place : report->places)
    if (place.share > .05 && place.name != report->places.front().name)
      report->warnings.push_back(
          fmt::format("this machine moves between places: {:.0f} % of the time in {}", place.share * 100, place.name));
}

double robust_sd(std::vector<double> values) {
  const double middle = median_of(values);
  for (double& v : values) v = std::fabs(v - middle);
  return 1.4826 * median_of(std::move(values));
}

// The lower quartile of the iterations that began from_ms..to_ms after the thaw; 0 when there are none.
double q25_between(const Curve& curve, double from_ms, double to_ms) {
  std::vector<double> inside;
  double at_ms = 0;
  for (const double ms : curve) {
    if (at_ms >= from_ms && at_ms < to_ms) inside.push_back(ms);
    at_ms += ms;
  }
  return quantile_of(std::move(inside), .25);
}

double steady_of(const Curve& curve) {
  return median_of(Curve(curve.begin() + static_cast<std::ptrdiff_t>(curve.size() / 2), curve.end()));
}

}  // namespace

MachineReport analyse_canaries(const std::vector<CanarySample>& samples, const Calibration& defaults) {
  MachineReport report;
  report.canaries = static_cast<int>(samples.size());
  report.calibration = defaults;
  if (samples.empty()) return report;
  report.seconds = samples.back().time_s - samples.front().time_s;
  std::vector<double> fma, pings;
  for (const auto& s : samples) fma.push_back(faster_ms(s.canary));
  report.calibration.fma_usual_ms = mode_of(fma);
  for (const auto& s : samples)
    if (s.canary.ping_ns > 0 && faster_ms(s.canary) < defaults.sibling_ratio * report.calibration.fma_usual_ms)
      pings.push_back(s.canary.ping_ns);
  const double default_bound = defaults.ping_bounds_ns.empty() ? 100 : defaults.ping_bounds_ns.front();
  if (!defaults.one_place) report.calibration.ping_bounds_ns = bounds_between(pings, default_bound);
  report.calibration.measured = true;
  report.places = places_seen(samples, report.calibration);
  return report;
}

double settle_from(const std::vector<Curve>& curves, double* first_iteration) {
  // Relative times by when the iteration began, in steps of 1 ms or of one iteration if that takes longer.
  std::vector<double> firsts, steadies;
  for (const auto& curve : curves)
    if (curve.size() >= 4) firsts.push_back(curve.front() / steady_of(curve)), steadies.push_back(steady_of(curve));
  *first_iteration = firsts.empty() ? 1 : median_of(firsts);
  const double step_ms = std::max(1., median_of(steadies));
  std::map<int, std::vector<double>> by_step;
  for (const auto& curve : curves) {
    if (curve.size() < 4) continue;
    const double steady = steady_of(curve);
    double at_ms = 0;
    for (const double ms : curve) {
      by_step[static_cast<int>(at_ms / step_ms)].push_back(ms / steady);
      at_ms += ms;
    }
  }
  double settle_ms = kLeastSettleMs;
  for (const auto& [step, relative] : by_step) {
    const double end_ms = (step + 1) * step_ms;
    if (end_ms > kMostSettleMs) break;
    if (median_of(relative) > kSteady) settle_ms = std::max(settle_ms, end_ms);
  }
  return settle_ms;
}

double block_from(const std::vector<Curve>& curves, double settle_ms) {
  std::vector<double> halves, wholes;
  for (const auto& curve : curves) {
    const double half = q25_between(curve, settle_ms, settle_ms + 50);
    const double whole = q25_between(curve, settle_ms, settle_ms + 100);
    if (half > 0 && whole > 0) halves.push_back(std::log(half)), wholes.push_back(std::log(whole));
  }
  if (halves.size() < 5) return 100;
  return robust_sd(halves) <= 1.1 * robust_sd(wholes) ? 50 : 100;
}

Result<MachineReport> calibrate_machine(const CalibrateOptions& options) {
  const std::vector<int> cpus = options.cpus.empty() ? worker::usable_cpus() : options.cpus;
  std::vector<CanarySample> samples;
  const worker::Counters before = worker::read_counters(cpus);
  const auto now_s = [] { return static_cast<double>(steady_clock().now_ns()) * 1e-9; };
  const double start_s = now_s();
  while (now_s() - start_s < options.seconds) {
    if (options.cancelled && options.cancelled()) return fail(interrupted("the calibration was interrupted"));
    const double at_s = now_s();
    samples.push_back({at_s, HONE_TRY(worker::run_canary(cpus))});
    if (options.on_progress) options.on_progress((at_s - start_s) / options.seconds);
    std::this_thread::sleep_for(std::chrono::duration<double>(options.period_s));
  }
  worker::BlockResult load;
  worker::add_difference(before, worker::read_counters(cpus), &load);
  const Calibration defaults = default_calibration();
  MachineReport report = analyse_canaries(samples, defaults);
  report.pressure = load.pressure;
  report.has_pressure = before.pressure_s >= 0;
  report.has_schedstat = before.run_queue_wait_s >= 0;
  report.topology = read_topology(cpus);
  report.topology.virtual_machine = !defaults.one_place;
  if (defaults.one_place)
    report.pin = pin_set(report.topology, report.topology.cores() / std::max(1, report.topology.l3_domains()));
  add_warnings(&report);
  return report;
}

bool worth_keeping(const MachineReport& report) {
  return report.canaries >= 100 && report.pressure < Plan().highest_pressure;
}

Result<ModelReport> calibrate_model(const engine::Configuration& what, const Bench& bench, int pairs) {
  ModelReport report;
  worker::Options options;
  options.configuration = what;
  options.data = bench.data;
  options.cpus = bench.cpus;
  options.limits = bench.limits;
  options.cancelled = bench.progress.cancelled;
  if (!bench.log_dir.empty()) options.log = bench.log_dir / "worker_calibration.log";
  {
    const auto worker = HONE_TRY(worker::Worker::start(options));
    HONE_TRY(worker->warm_up(200, 10));
    std::vector<Curve> curves;
    for (int i = 0; i < kCurves; ++i) {
      if (bench.progress.cancelled && bench.progress.cancelled())
        return fail(interrupted("the calibration was interrupted"));
      HONE_TRY(worker->freeze());
      if (!worker->fake_clock()) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kRestMs));
      HONE_TRY(worker->thaw());
      const auto block = HONE_TRY(worker->block({.settle_ms = 0,
                                                 .min_settle_iterations = 0,
                                                 .timed_ms = kMostSettleMs + 100,
                                                 .min_iterations = 8,
                                                 .keep_samples = true}));
      curves.push_back(block.samples_ms);
    }
    report.settle_ms = settle_from(curves, &report.first_iteration);
    report.block_ms = block_from(curves, report.settle_ms);
  }
  report.aa = HONE_TRY(compare_fixed(what, what, bench, pairs));
  report.sd = report.aa.sd;
  report.smallest_speedup = smallest_provable(report.sd);
  return report;
}

Json MachineReport::to_json() const {
  Json seen = Json::array();
  for (const auto& p : places)
    seen.push_back({{"name", p.name},
                    {"share", p.share},
                    {"ping_ns", p.ping_ns},
                    {"fma_ms", p.fma_ms},
                    {"longest_s", p.longest_s}});
  return {{"calibration", calibration.to_json()},
          {"places", seen},
          {"canaries", canaries},
          {"seconds", seconds},
          {"pressure", pressure < 0 ? Json() : Json(pressure)},
          {"has_pressure", has_pressure},
          {"has_schedstat", has_schedstat},
          {"topology", topology.to_json()},
          {"pin", pin},
          {"warnings", warnings}};
}

Json ModelReport::to_json() const {
  return {{"settle_ms", settle_ms},
          {"block_ms", block_ms},
          {"first_iteration", first_iteration},
          {"sd", sd},
          {"smallest_speedup", smallest_speedup},
          {"aa", aa.to_json()}};
}

}  // namespace hone::measure
