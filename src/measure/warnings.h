// What a comparison has to say about the machine it ran on (measuring.md section 4): collected while it runs, turned
// into sentences at its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/blocks.h"
#include "measure/coordinator.h"

namespace hone::measure {

class Observations {
 public:
  explicit Observations(MachineWatch& watch) : watch_(watch) {}

  void add_block(const worker::BlockResult& block, char side, const std::string& place);
  void add_block_pair(bool too_busy) { block_pairs_ += 1, busy_pairs_ += too_busy; }
  // One valid block pair's log ratios of the median and of q90.
  void add_tail(const std::string& place, double y50, double y90);
  void end_instance_pair(const ForeignLoad& load);
  void add_wait(double seconds) { waited_s_ += seconds; }

  struct Facts {
    std::map<std::string, InstancePairs> by_place;
    std::string reference;
    double mean = 0;  // of z in the reference place
    double sd = 0;
    bool same_configuration = false;
    bool real_clock = true;
    double highest_pressure = .2;
  };
  std::vector<std::string> sentences(const Facts& facts) const;

 private:
  void say_places(const Facts& facts, std::vector<std::string>* out) const;
  void say_effects_differ(const Facts& facts, std::vector<std::string>* out) const;
  void say_load(const Facts& facts, std::vector<std::string>* out) const;
  void say_frequency(std::vector<std::string>* out) const;
  void say_tail(const Facts& facts, std::vector<std::string>* out) const;

  MachineWatch& watch_;
  std::map<std::string, int> blocks_;                    // by place
  std::map<std::string, std::vector<double>> a_q25_ms_;  // by place
  std::map<std::string, std::vector<double>> y50_, y90_;
  std::map<std::string, std::vector<double>> pair_fma_ms_;  // of the running instance pair
  int block_pairs_ = 0, busy_pairs_ = 0;
  double waited_s_ = 0;
  double timed_s_ = 0, steal_s_ = 0;
  double pair_timed_s_ = 0, pair_foreign_s_ = 0;  // of the running instance pair
  ForeignLoad worst_load_;
  double frequency_change_ = 0;  // largest, as a ratio - 1
  std::optional<Disturbance::Source> fallback_;
};

}  // namespace hone::measure
