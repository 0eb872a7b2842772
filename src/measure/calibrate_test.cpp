// SPDX-License-Identifier: Apache-2.0
#include "measure/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace hone::measure {
namespace {

Calibration guest() {
  Calibration c;
  c.ping_bounds_ns = {100};
  return c;
}

struct Stay {
  double ping, fma;
  int canaries;
};

std::vector<CanarySample> canaries(const std::vector<Stay>& stays, double spread = .04) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<CanarySample> out;
  for (const auto& stay : stays)
    for (int i = 0; i < stay.canaries; ++i) {
      const double fma = stay.fma * (1 + .002 * normal(random));
      out.push_back(
          {static_cast<double>(out.size()) * .03, {stay.ping * std::exp(spread * normal(random)), {fma, fma * 1.001}}});
    }
  return out;
}

TEST(AnalyseCanaries, FindsThePlacesOfTheReferenceMachine) {
  const auto report = analyse_canaries(
      canaries({{40, .487, 400}, {172, .487, 100}, {40, .487, 300}, {35, .975, 12}, {172, .487, 60}}), guest());
  ASSERT_EQ(report.places.size(), 3u);
  EXPECT_EQ(report.places[0].name, kNear);
  EXPECT_EQ(report.places[1].name, kFar);
  EXPECT_EQ(report.places[2].name, kSibling);
  EXPECT_NEAR(report.places[1].share, 160. / 872, 1e-9);
  EXPECT_NEAR(report.places[0].longest_s, 399 * .03, 1e-9);
  ASSERT_EQ(report.calibration.ping_bounds_ns.size(), 1u);
  EXPECT_NEAR(report.calibration.ping_bounds_ns[0], 83, 12);
  EXPECT_NEAR(report.calibration.fma_usual_ms, .487, .002);
  EXPECT_TRUE(report.calibration.measured);
}

TEST(AnalyseCanaries, NamesMoreThanTwoByTheOrderOfTheirPing) {
  const auto report = analyse_canaries(canaries({{30, .4, 100}, {300, .4, 100}, {90, .4, 100}}), guest());
  ASSERT_EQ(report.places.size(), 3u);
  EXPECT_EQ(report.places[0].name, kNear);
  EXPECT_EQ(report.places[1].name, kFar);
  EXPECT_EQ(report.places[2].name, "far2");
}

TEST(AnalyseCanaries, OneWidePlaceIsNotCutByTheDefault) {
  // As on a busy Sapphire Rapids guest: 65..150 ns without a gap.
  const auto report = analyse_canaries(canaries({{90, .34, 1000}}, .18), guest());
  EXPECT_EQ(report.places.size(), 1u);
  EXPECT_GT(report.calibration.ping_bounds_ns[0], 150);
}

TEST(AnalyseCanaries, AFarPlaceAloneIsStillFar) {
  const auto report = analyse_canaries(canaries({{172, .487, 500}}), guest());
  ASSERT_EQ(report.places.size(), 1u);
  EXPECT_EQ(report.places[0].name, kFar);
}

TEST(AnalyseCanaries, AFewInterruptedCanariesAreNoPlace) {
  const auto report = analyse_canaries(canaries({{40, .487, 500}, {900, .487, 2}, {40, .487, 100}}), guest());
  EXPECT_EQ(report.calibration.ping_bounds_ns, std::vector<double>{100});
}

TEST(AnalyseCanaries, BareMetalHasOnePlace) {
  Calibration metal = guest();
  metal.one_place = true;
  const auto report = analyse_canaries(canaries({{40, .487, 50}, {172, .487, 50}}), metal);
  ASSERT_EQ(report.places.size(), 1u);
  EXPECT_EQ(report.places[0].name, kOne);
}

TEST(AnalyseCanaries, OnlyAQuietAndLongLookIsWorthKeeping) {
  MachineReport report = analyse_canaries(canaries({{40, .487, 500}}), guest());
  EXPECT_TRUE(worth_keeping(report));
  report.pressure = .5;
  EXPECT_FALSE(worth_keeping(report));
  EXPECT_FALSE(worth_keeping(analyse_canaries(canaries({{40, .487, 50}}), guest())));
}

Curve curve(double steady, double first, double slow_until_ms) {
  Curve out;
  double at = 0;
  while (at < 160) {
    const double ms = steady * (out.empty() ? first : (at < slow_until_ms ? 1.1 : 1));
    out.push_back(ms);
    at += ms;
  }
  return out;
}

TEST(Settle, IsWhereIterationsComeWithinTwoPercent) {
  double first = 0;
  EXPECT_NEAR(settle_from({curve(.5, 4, 17), curve(.5, 4, 17), curve(.5, 5, 17)}, &first), 18, 1.01);
  EXPECT_NEAR(first, 4, 1e-9);
  EXPECT_EQ(settle_from({curve(.5, 1, 0)}, &first), 5) << "never less than 5 ms";
  EXPECT_NEAR(settle_from({curve(12, 1.3, 0), curve(12, 1.3, 0)}, &first), 12, 1e-9) << "one slow iteration of 12 ms";
  EXPECT_EQ(settle_from({}, &first), 5);
}

TEST(Block, IsShortWhereShortOnesSpreadNoMore) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::vector<Curve> between, inside;
  for (int i = 0; i < 20; ++i) {
    const double level = std::exp(.02 * normal(random));
    Curve a, b;
    for (int k = 0; k < 160; ++k) a.push_back(level * (1 + .002 * normal(random)));
    const double early = std::exp(.05 * normal(random));
    for (int k = 0; k < 160; ++k) b.push_back(k < 60 ? early : 1.);
    between.push_back(a);
    inside.push_back(b);
  }
  EXPECT_EQ(block_from(between, 5), 50) << "the spread is between blocks: longer ones do not help";
  EXPECT_EQ(block_from(inside, 5), 100);
  EXPECT_EQ(block_from({}, 5), 100);
}

TEST(Topology, ReadsSysfs) {
  auto folder = ScratchFolder::create("hone-sysfs");
  ASSERT_TRUE(folder);
  const auto put = [&](const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories((folder->path() / path).parent_path()));
    ASSERT_TRUE(write_file(folder->path() / path, text));
  };
  // Two packages of two cores of two threads; each package is an L3 and a node.
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string at = "cpu/cpu" + std::to_string(cpu) + "/";
    const int package = cpu % 4 / 2;
    put(at + "topology/physical_package_id", std::to_string(package) + "\n");
    put(at + "topology/core_id", std::to_string(cpu % 2) + "\n");
    put(at + "cache/index3/shared_cpu_list", package == 0 ? "0-1,4-5\n" : "2-3,6-7\n");
  }
  put("node/node0/cpulist", "0-1,4-5\n");
  put("node/node1/cpulist", "2-3,6-7\n");
  const Topology topology = read_topology({0, 1, 2, 3, 4, 5, 6, 7}, folder->path());
  EXPECT_EQ(topology.cores(), 4);
  EXPECT_EQ(topology.l3_domains(), 2);
  EXPECT_EQ(topology.nodes(), 2);
  EXPECT_EQ(pin_set(topology, 2), (std::vector<int>{0, 1})) << "one thread per core, inside one L3";
  EXPECT_EQ(pin_set(topology, 4), (std::vector<int>{0, 1, 2, 3})) << "no L3 has so many cores";
  EXPECT_TRUE(pin_set(topology, 5).empty());
  const Topology second = read_topology({1, 2, 3, 6}, folder->path());
  EXPECT_EQ(cpus_for(2, second), (std::vector<int>{2, 3})) << "near each other, not the first two";
  EXPECT_EQ(cpus_for(5, topology), (std::vector<int>{0, 1, 2, 3, 4})) << "more than there are cores: the first ones";
  EXPECT_TRUE(cpus_for(8, topology).empty()) << "all";
  EXPECT_TRUE(cpus_for(0, topology).empty()) << "all";
  EXPECT_EQ(read_topology({0, 1}, folder->path() / "none").cores(), 2) << "nothing known: every CPU a core";
  EXPECT_EQ(parse_cpu_list("0-2,7,9-10\n"), (std::vector<int>{0, 1, 2, 7, 9, 10}));
  EXPECT_TRUE(parse_cpu_list("").empty());
}

TEST(CalibrateMachine, RunsCanariesHere) {
  CalibrateOptions options;
  options.seconds = .1;
  options.period_s = .01;
  auto report = calibrate_machine(options);
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_GE(report->canaries, 1);
  EXPECT_EQ(report->topology.cpus.size(), worker::usable_cpus().size());
  EXPECT_GT(report->calibration.fma_usual_ms, 0);
  EXPECT_TRUE(report->to_json().contains("places"));
  options.cancelled = [] { return true; };
  EXPECT_EQ(calibrate_machine(options).error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace hone::measure
