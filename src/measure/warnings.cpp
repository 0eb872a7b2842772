// SPDX-License-Identifier: Apache-2.0
#include "measure/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace hone::measure {

namespace {

// The thresholds of measuring.md section 4.
constexpr double kPlaceShare = .05;
constexpr double kBusyPairShare = .10;
constexpr double kForeignCpus = .25;
constexpr double kFrequencyChange = .03;
constexpr double kStealShare = .01;
constexpr double kWeakestProof = 1.06;
constexpr double kTailDifference = .03;
constexpr size_t kPairsForPlaceEffect = 6;
constexpr double kAbsentSeconds = 30;

}  // namespace

void Observations::add_block(const worker::BlockResult& block, char side, const std::string& place) {
  ++blocks_[place];
  if (side == 'A') a_q25_ms_[place].push_back(block.q25);
  timed_s_ += block.timed_s;
  steal_s_ += block.steal_s;
  pair_timed_s_ += block.timed_s;
  pair_foreign_s_ += std::max(0., block.busy_cpu_s - block.own_cpu_s);
  for (const auto& canary : {block.before, block.after})
    if (canary.fma_ms[0] > 0) pair_fma_ms_[place].push_back(std::min(canary.fma_ms[0], canary.fma_ms[1]));
  if (block.pressure < 0) fallback_ = disturbance(block).source;
}

void Observations::add_tail(const std::string& place, double y50, double y90) {
  y50_[place].push_back(y50);
  y90_[place].push_back(y90);
}

void Observations::end_instance_pair(const ForeignLoad& load) {
  const double foreign = pair_timed_s_ > 0 ? pair_foreign_s_ / pair_timed_s_ : 0;
  if (foreign > kForeignCpus && foreign > worst_load_.cpus) worst_load_ = {foreign, load.name};
  for (const auto& [place, times] : pair_fma_ms_) {
    const double median = median_of(times);
    const double first = watch_.first_fma_ms.try_emplace(place, median).first->second;
    const double change = median / first - 1;
    if (place != kMoved && std::fabs(change) > std::fabs(frequency_change_)) frequency_change_ = change;
  }
  pair_fma_ms_.clear();
  pair_timed_s_ = pair_foreign_s_ = 0;
}

void Observations::say_places(const Facts& facts, std::vector<std::string>* out) const {
  int total = 0;
  for (const auto& [place, count] : blocks_) total += count;
  const auto reference = a_q25_ms_.find(facts.reference);
  for (const auto& [place, count] : blocks_) {
    const double share = static_cast<double>(count) / total;
    if (place == facts.reference || place == kMoved || share <= kPlaceShare || reference == a_q25_ms_.end()) continue;
    const auto there = a_q25_ms_.find(place);
    if (there == a_q25_ms_.end()) continue;
    const double ratio = median_of(there->second) / median_of(reference->second);
    out->push_back(fmt::format(
        "this machine moves between places: {:.0f} % of the time in {}, {:.2f} x {} for this "
        "model; results are for {}",
        share * 100, place, ratio >= 1 ? ratio : 1 / ratio, ratio >= 1 ? "slower" : "faster", facts.reference));
  }
  if (facts.reference != kNear && facts.reference != kOne && facts.reference != kFake) {
    const bool absent = waited_s_ >= kAbsentSeconds;
    out->push_back(fmt::format("measured in {}{}", facts.reference,
                               absent ? fmt::format(": near was not seen in {:.0f} s of waiting", waited_s_) : ""));
  }
}

void Observations::say_effects_differ(const Facts& facts, std::vector<std::string>* out) const {
  const auto surely = [](const InstancePairs& pairs) {
    const Interval interval = fixed_interval(pairs);
    return interval.low > 1 ? 1 : (interval.high < 1 ? -1 : 0);
  };
  for (auto one = facts.by_place.begin(); one != facts.by_place.end(); ++one)
    for (auto other = std::next(one); other != facts.by_place.end(); ++other) {
      if (one->second.size() < kPairsForPlaceEffect || other->second.size() < kPairsForPlaceEffect) continue;
      const int effect = surely(one->second);
      if (effect == 0 || effect + surely(other->second) != 0) continue;
      out->push_back(fmt::format("faster in {}, slower in {}", effect > 0 ? one->first : other->first,
                                 effect > 0 ? other->first : one->first));
    }
}

void Observations::say_load(const Facts& facts, std::vector<std::string>* out) const {
  const double busy_share = block_pairs_ > 0 ? static_cast<double>(busy_pairs_) / block_pairs_ : 0;
  if (worst_load_.cpus > 0)
    out->push_back(fmt::format("the machine is busy: {} up to {:.1f} CPU",
                               worst_load_.name.empty() ? "others use" : worst_load_.name + " and others use",
                               worst_load_.cpus));
  else if (busy_share > kBusyPairShare)
    out->push_back(
        fmt::format("the machine is busy: {:.0f} % of block pairs were disturbed for more than {:.0f} % of "
                    "their time",
                    busy_share * 100, facts.highest_pressure * 100));
  if (timed_s_ > 0 && steal_s_ / timed_s_ > kStealShare)
    out->push_back(fmt::format("the host takes CPU time: {:.1f} % stolen", steal_s_ / timed_s_ * 100));
  if (fallback_ && facts.real_clock)
    out->push_back(fmt::format(
        "no pressure information (/proc/pressure) here: disturbed blocks are told from {}",
        *fallback_ == Disturbance::Source::kRunQueue ? "the run queue wait" : "/proc/stat and involuntary switches"));
}

void Observations::say_frequency(std::vector<std::string>* out) const {
  if (std::fabs(frequency_change_) > kFrequencyChange)
    out->push_back(fmt::format("the clock frequency changed: fixed work took up to {:.0f} % {} time than at first",
                               std::fabs(frequency_change_) * 100, frequency_change_ > 0 ? "more" : "less"));
}

void Observations::say_tail(const Facts& facts, std::vector<std::string>* out) const {
  for (const auto& [name, values] : {std::pair{"median", &y50_}, {"90 % quantile", &y90_}}) {
    const auto found = values->find(facts.reference);
    if (found == values->end()) continue;
    const double tail = mean_of(found->second);
    const bool signs_differ = (tail > 0) != (facts.mean > 0) && std::min(std::fabs(tail), std::fabs(facts.mean)) > .01;
    if (std::fabs(tail - facts.mean) <= kTailDifference && !signs_differ) continue;
    out->push_back(
        fmt::format("the {} tells another story: {:.3f} x there, {:.3f} x by the lower quartile that decides", name,
                    std::exp(tail), std::exp(facts.mean)));
    return;  // one of the two is enough
  }
}

std::vector<std::string> Observations::sentences(const Facts& facts) const {
  std::vector<std::string> out;
  say_places(facts, &out);
  say_effects_differ(facts, &out);
  if (facts.real_clock) say_load(facts, &out);
  say_frequency(&out);
  if (facts.same_configuration && smallest_provable(facts.sd) > kWeakestProof)
    out.push_back(fmt::format("below {:.0f} % nothing can be proven for this model here",
                              (smallest_provable(facts.sd) - 1) * 100));
  if (!facts.same_configuration) say_tail(facts, &out);
  return out;
}

}  // namespace hone::measure
