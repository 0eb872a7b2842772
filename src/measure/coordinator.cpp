// SPDX-License-Identifier: Apache-2.0
#include "measure/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/statistics.h"
#include "measure/warnings.h"

namespace hone::measure {

namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a good hash of a counter.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// All that one place has given so far.
struct AtPlace {
  InstancePairs pairs;
  std::vector<double> samples_ms[2], q25_ms[2];  // of sides A and B
};

class Coordinator {
 public:
  Coordinator(BlockSource& source, const Plan& plan, const Calibration& calibration, MachineWatch& watch,
              const Progress& progress)
      : source_(source),
        plan_(plan),
        progress_(progress),
        places_(calibration, watch),
        observations_(watch),
        reference_(places_.first_reference()) {}

  Result<Comparison> run();

 private:
  struct BlockPair {
    worker::BlockResult a, b;
    std::string a_place, b_place;
    std::string place;    // of all four canaries
    std::string invalid;  // why it does not count
  };
  struct Slots {  // of one instance pair
    int pair = 0, next_slot = 0, extra = 0, done = 0;
    double waited_s = 0;
    bool waited_enough = false;
    std::map<std::string, std::vector<double>> good;  // place -> y
  };

  Status check_cancelled() const;
  size_t pairs_at(const std::string& place) const {
    const auto found = at_.find(place);
    return found == at_.end() ? 0 : found->second.pairs.size();
  }
  bool over_budget() const { return plan_.budget_s > 0 && source_.now_s() - start_s_ > plan_.budget_s; }
  Status start_both(int pair);
  Status instance_pair(int pair);
  Status wait_for_reference(Slots& slots);
  Result<BlockPair> block_pair(Slots& slots, bool b_first);
  void judge_block_pair(BlockPair& both);
  void count(Slots& slots, const BlockPair& both);
  void journal(const Slots& slots, const BlockPair& both, bool b_first);
  Status read_peaks();
  void end_pair(Slots& slots);
  bool look(Look* taken, bool* looked);
  void decide_fixed();
  void conclude(bool decided);
  void finish(bool decided);

  BlockSource& source_;
  const Plan& plan_;
  const Progress& progress_;
  Places places_;
  Observations observations_;
  std::string reference_;
  std::map<std::string, AtPlace> at_;
  Comparison result_;
  double start_s_ = 0;
  size_t sample_ = 0;  // goes round: both blocks of a pair run the same one
};

Status Coordinator::check_cancelled() const {
  if (progress_.cancelled && progress_.cancelled()) return fail(interrupted("the measurement was interrupted"));
  return {};
}

Status Coordinator::start_both(int pair) {
  const bool b_first = draw_for(plan_.seed, pair).b_starts_first;
  for (const char side : {b_first ? 'B' : 'A', b_first ? 'A' : 'B'})
    if (auto status = source_.start(side, pair); !status)
      return fail(std::move(status).error().with(fmt::format("side {}", side)));
  // Only now it is known that the engine has its own clock: then there is nothing to wait for.
  if (!source_.real_clock()) reference_ = kFake;
  return {};
}

Status Coordinator::wait_for_reference(Slots& slots) {
  if (reference_ == kOne || reference_ == kFake) return {};
  while (!slots.waited_enough) {
    HONE_TRY(check_cancelled());
    if (over_budget() || places_.classify(HONE_TRY(source_.canary())) == reference_) return {};
    const double before_s = source_.now_s();
    source_.sleep_s(plan_.poll_s);
    slots.waited_s += source_.now_s() - before_s;
    slots.waited_enough = slots.waited_s >= plan_.longest_wait_s;
  }
  return {};
}

Result<Coordinator::BlockPair> Coordinator::block_pair(Slots& slots, bool b_first) {
  BlockPair both;
  for (const char side : {b_first ? 'B' : 'A', b_first ? 'A' : 'B'}) {
    HONE_TRY(check_cancelled());
    auto block = source_.block(side, sample_);
    if (!block) return fail(std::move(block).error().with(fmt::format("side {}, instance pair {}", side, slots.pair)));
    (side == 'A' ? both.a : both.b) = std::move(*block);
  }
  judge_block_pair(both);
  return both;
}

void Coordinator::judge_block_pair(BlockPair& both) {
  bool too_busy = false;
  if (!source_.real_clock()) {
    both.place = both.a_place = both.b_place = kFake;
  } else {
    const std::string a = both.a_place = places_.classify(both.a), b = both.b_place = places_.classify(both.b);
    both.place = a == b ? a : kMoved;
    const double worst = std::max(disturbance(both.a).share, disturbance(both.b).share);
    too_busy = worst >= plan_.highest_pressure;
    if (both.place == kMoved)
      both.invalid = a == b ? "moved inside a block" : fmt::format("places differ: A {}, B {}", a, b);
    else if (too_busy)
      both.invalid = fmt::format("disturbed for {:.0f} % of its time", worst * 100);
    observations_.add_block(both.a, 'A', a);
    observations_.add_block(both.b, 'B', b);
  }
  observations_.add_block_pair(too_busy);
}

void Coordinator::count(Slots& slots, const BlockPair& both) {
  if (!both.invalid.empty()) return;
  slots.good[both.place].push_back(std::log(both.a.q25 / both.b.q25));
  observations_.add_tail(both.place, std::log(both.a.q50 / both.b.q50), std::log(both.a.q90 / both.b.q90));
  AtPlace& there = at_[both.place];
  const worker::BlockResult* blocks[2] = {&both.a, &both.b};
  for (int side = 0; side < 2; ++side) {
    there.q25_ms[side].push_back(blocks[side]->q25);
    const auto& samples = blocks[side]->samples_ms;
    there.samples_ms[side].insert(there.samples_ms[side].end(), samples.begin(), samples.end());
  }
}

void Coordinator::journal(const Slots& slots, const BlockPair& both, bool b_first) {
  if (!progress_.on_block) return;
  for (int i = 0; i < 2; ++i) {
    const char side = (i == 0) == b_first ? 'B' : 'A';
    BlockRow row;
    row.pair = slots.pair;
    row.slot = slots.next_slot + i;
    row.side = side;
    row.pid = source_.pid(side);
    row.block = side == 'A' ? both.a : both.b;
    row.place = side == 'A' ? both.a_place : both.b_place;
    row.invalid = both.invalid;
    progress_.on_block(row);
  }
}

Status Coordinator::read_peaks() {
  if (!source_.real_clock()) return {};
  result_.a_peak_bytes = std::max(result_.a_peak_bytes, HONE_TRY(source_.peak_bytes('A')));
  result_.b_peak_bytes = std::max(result_.b_peak_bytes, HONE_TRY(source_.peak_bytes('B')));
  return {};
}

void Coordinator::end_pair(Slots& slots) {
  for (auto& [place, y] : slots.good) at_[place].pairs.push_back(std::move(y));
  for (const auto& [place, there] : at_)  // the one with most; the present one when equal
    if (there.pairs.size() > pairs_at(reference_)) reference_ = place;
  result_.waited_s += slots.waited_s;
  observations_.add_wait(slots.waited_s);
  observations_.end_instance_pair(source_.real_clock() ? source_.foreign_load() : ForeignLoad());
}

Status Coordinator::instance_pair(int pair) {
  HONE_TRY(start_both(pair));
  Slots slots;
  slots.pair = pair;
  slots.extra = plan_.extra_block_pairs;
  const bool baab = draw_for(plan_.seed, pair).baab;
  while (slots.done < plan_.block_pairs && !over_budget()) {
    HONE_TRY(wait_for_reference(slots));
    const bool b_first = (slots.done % 2 == 1) != baab;  // AB BA, or BA AB
    const BlockPair both = HONE_TRY(block_pair(slots, b_first));
    count(slots, both);
    journal(slots, both, b_first);
    slots.next_slot += 2;
    if (both.invalid.empty() && (both.place == reference_ || slots.waited_enough)) {
      ++slots.done;
      ++sample_;
    } else if (slots.extra-- == 0) {
      break;
    } else {
      ++result_.retries;
    }
  }
  HONE_TRY(read_peaks());
  source_.stop();
  end_pair(slots);
  return {};
}

// Takes the look that the reference place has reached, if any. True: it decided.
bool Coordinator::look(Look* taken, bool* looked) {
  const auto& pairs = at_[reference_].pairs;
  const size_t next = result_.looks.size();
  if (plan_.fixed_pairs > 0) return pairs.size() >= static_cast<size_t>(plan_.fixed_pairs);
  if (next >= plan_.rule.looks.size() || pairs.size() < static_cast<size_t>(plan_.rule.looks[next])) return false;
  *looked = true;
  *taken = look_at(pairs, plan_.rule, next);
  const bool last = next + 1 == plan_.rule.looks.size();
  result_.looks.push_back(*taken);
  result_.decision = decide(*taken, plan_.rule, last);
  result_.outcome = outcome_of(*taken, plan_.rule);
  if (last) return true;
  if (plan_.rule.until_outcome) return result_.outcome != Outcome::kUndecided;
  return result_.decision != Decision::kGoOn;
}

// The words of a fixed number of pairs: those of a look, with the two-sided interval for its bounds.
void Coordinator::decide_fixed() {
  const Interval& i = result_.speedup;
  const double bar = plan_.rule.minimum_effect;
  result_.decision = i.low > bar ? Decision::kKeep : (i.high < bar ? Decision::kRollBack : Decision::kUndecided);
  if (i.low > bar)
    result_.outcome = Outcome::kFaster;
  else if (i.high < bar && i.low > 1 / bar)
    result_.outcome = Outcome::kSame;
  else if (i.high < 1)
    result_.outcome = Outcome::kSlower;
}

void Coordinator::conclude(bool decided) {
  const auto& looks = result_.looks;
  if (!looks.empty() && looks.back().pairs == static_cast<int>(result_.pairs.size()))
    result_.speedup = {std::exp(looks.back().mean), std::exp(looks.back().low), std::exp(looks.back().high)};
  else
    result_.speedup = fixed_interval(result_.pairs);
  if (plan_.fixed_pairs > 0) decide_fixed();
  if (result_.decision == Decision::kGoOn) result_.decision = Decision::kUndecided;
  if (decided) return;
  const int wanted = plan_.fixed_pairs > 0 ? plan_.fixed_pairs : plan_.rule.looks.back();
  result_.warnings.push_back(fmt::format("stopped {} with {} of {} instance pairs in {}",
                                         over_budget() ? "by the time budget" : "before enough blocks were undisturbed",
                                         result_.pairs.size(), wanted, reference_));
}

// Everything that is a function of the blocks in the reference place.
void Coordinator::finish(bool decided) {
  AtPlace& there = at_[reference_];
  result_.pairs = there.pairs;
  result_.place = reference_;
  result_.a_ms = median_of(there.q25_ms[0]);
  result_.b_ms = median_of(there.q25_ms[1]);
  result_.a = spread_of(std::move(there.samples_ms[0]));
  result_.b = spread_of(std::move(there.samples_ms[1]));
  result_.sd = sample_sd(result_.pairs);
  result_.seconds = source_.now_s() - start_s_;
  Observations::Facts facts;
  for (const auto& [place, at] : at_) facts.by_place[place] = at.pairs;
  facts.reference = reference_;
  const auto means = pair_means(result_.pairs);
  for (const double z : means) facts.mean += z / static_cast<double>(means.size());
  facts.sd = result_.sd;
  facts.same_configuration = plan_.same_configuration;
  facts.real_clock = source_.real_clock();
  facts.highest_pressure = plan_.highest_pressure;
  result_.warnings = observations_.sentences(facts);
  conclude(decided);
}

Result<Comparison> Coordinator::run() {
  start_s_ = source_.now_s();
  bool decided = false;
  for (int pair = 1; pair <= plan_.most_attempts && !decided && !over_budget(); ++pair) {
    HONE_TRY(check_cancelled());
    auto status = instance_pair(pair);
    source_.stop();
    if (!status) return fail(std::move(status).error());
    Look taken;
    bool looked = false;
    decided = look(&taken, &looked);
    if (progress_.on_pair) progress_.on_pair(static_cast<int>(at_[reference_].pairs.size()), looked ? &taken : nullptr);
  }
  finish(decided);
  return std::move(result_);
}

}  // namespace

Draw draw_for(uint64_t seed, int pair) {
  const uint64_t bits = mix(mix(seed) + static_cast<uint64_t>(pair));
  return {(bits & 1) != 0, (bits & 2) != 0};
}

uint64_t instance_seed(uint64_t seed, int pair, char side) {
  return mix(mix(seed) + (static_cast<uint64_t>(pair) << 8) + static_cast<uint64_t>(side));
}

Spread spread_of(std::vector<double> samples_ms) {
  Spread spread;
  if (samples_ms.empty()) return spread;
  std::sort(samples_ms.begin(), samples_ms.end());
  spread.samples = static_cast<int64_t>(samples_ms.size());
  spread.min = samples_ms.front();
  spread.p5 = quantile_of_sorted(samples_ms, .05);
  spread.q25 = quantile_of_sorted(samples_ms, .25);
  spread.median = quantile_of_sorted(samples_ms, .50);
  spread.p95 = quantile_of_sorted(samples_ms, .95);
  spread.mean = mean_of(samples_ms);
  return spread;
}

Result<Comparison> run_comparison(BlockSource& source, const Plan& plan, const Calibration& calibration,
                                  MachineWatch& watch, const Progress& progress) {
  return Coordinator(source, plan, calibration, watch, progress).run();
}

}  // namespace hone::measure
