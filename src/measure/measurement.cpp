// The JSON forms of Measurement and Comparison: what the journal and the documents of product.md hold.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "measure/measure.h"

namespace hone::measure {

namespace {

// JSON has no infinity; an upper bound that isn't known is null.
Json bound(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json spread_json(const Spread& s) {
  return {{"median", s.median}, {"p5", s.p5},     {"p95", s.p95},        {"min", s.min},
          {"q25", s.q25},       {"mean", s.mean}, {"samples", s.samples}};
}

Spread spread_from(const Json& v) {
  Spread s;
  for (const auto& [name, into] : {std::pair{"median", &s.median},
                                   {"p5", &s.p5},
                                   {"p95", &s.p95},
                                   {"min", &s.min},
                                   {"q25", &s.q25},
                                   {"mean", &s.mean}})
    v.at(name).get_to(*into);
  v.at("samples").get_to(s.samples);
  return s;
}

Json optional_spread(const std::optional<Spread>& spread) { return spread ? spread_json(*spread) : Json(); }

std::optional<Spread> optional_spread_from(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return spread_from(value);
}

Json look_json(const Look& l) {
  return {{"pairs", l.pairs},
          {"mean", l.mean},
          {"sd", l.sd},
          {"floor_used", l.floor_used},
          {"sample_sd", l.sample_sd},
          {"level", l.level},
          {"low", l.low},
          {"high", l.high},
          {"low95", l.low95},
          {"high_level", l.high_level}};
}

Look look_from(const Json& v) {
  Look l;
  v.at("pairs").get_to(l.pairs);
  v.at("floor_used").get_to(l.floor_used);
  for (const auto& [name, into] : {std::pair{"mean", &l.mean},
                                   {"sd", &l.sd},
                                   {"sample_sd", &l.sample_sd},
                                   {"level", &l.level},
                                   {"low", &l.low},
                                   {"high", &l.high},
                                   {"low95", &l.low95},
                                   {"high_level", &l.high_level}})
    v.at(name).get_to(*into);
  return l;
}

template <class Enum>
Enum word_from(const Json& value, std::initializer_list<Enum> all) {
  const auto text = value.get<std::string>();
  for (const Enum e : all)
    if (to_text(e) == text) return e;
  throw nlohmann::json::out_of_range::create(403, "no such word: " + text, &value);
}

}  // namespace

Json Measurement::to_json() const {
  return {{"execute_ms", spread_json(execute_ms)},
          {"h2d_ms", optional_spread(h2d_ms)},
          {"d2h_ms", optional_spread(d2h_ms)},
          {"peak_memory_bytes", peak_memory_bytes},
          {"open_seconds", open_seconds},
          {"place", place},
          {"protocol_hash", protocol_hash},
          {"warnings", warnings},
          {"samples_ms", samples_ms}};
}

Result<Measurement> Measurement::from_json(const Json& v) {
  return json_document<Measurement>("measurement", [&](Measurement* m) {
    m->execute_ms = spread_from(v.at("execute_ms"));
    m->h2d_ms = optional_spread_from(v.at("h2d_ms"));
    m->d2h_ms = optional_spread_from(v.at("d2h_ms"));
    v.at("peak_memory_bytes").get_to(m->peak_memory_bytes);
    v.at("open_seconds").get_to(m->open_seconds);
    v.at("place").get_to(m->place);
    v.at("protocol_hash").get_to(m->protocol_hash);
    v.at("warnings").get_to(m->warnings);
    v.at("samples_ms").get_to(m->samples_ms);
  });
}

Json Comparison::to_json() const {
  Json looks_json = Json::array();
  for (const auto& look : looks) looks_json.push_back(look_json(look));
  return {{"outcome", to_text(outcome)},
          {"decision", to_text(decision)},
          {"speedup", {{"estimate", speedup.estimate}, {"low", speedup.low}, {"high", bound(speedup.high)}}},
          {"a_ms", a_ms},
          {"b_ms", b_ms},
          {"a", spread_json(a)},
          {"b", spread_json(b)},
          {"a_peak_bytes", a_peak_bytes},
          {"b_peak_bytes", b_peak_bytes},
          {"place", place},
          {"sd", sd},
          {"seconds", seconds},
          {"retries", retries},
          {"waited_s", waited_s},
          {"looks", looks_json},
          {"pairs", pairs},
          {"protocol_hash", protocol_hash},
          {"warnings", warnings}};
}

Result<Comparison> Comparison::from_json(const Json& v) {
  return json_document<Comparison>("comparison", [&](Comparison* c) {
    c->outcome = word_from(v.at("outcome"), {Outcome::kFaster, Outcome::kSlower, Outcome::kSame, Outcome::kUndecided});
    c->decision =
        word_from(v.at("decision"), {Decision::kGoOn, Decision::kKeep, Decision::kRollBack, Decision::kUndecided});
    v.at("speedup").at("estimate").get_to(c->speedup.estimate);
    v.at("speedup").at("low").get_to(c->speedup.low);
    const Json& high = v.at("speedup").at("high");
    c->speedup.high = high.is_null() ? std::numeric_limits<double>::infinity() : high.get<double>();
    for (const auto& look : v.at("looks")) c->looks.push_back(look_from(look));
    v.at("pairs").get_to(c->pairs);
    v.at("place").get_to(c->place);
    c->a = spread_from(v.at("a"));
    c->b = spread_from(v.at("b"));
    for (const auto& [name, into] : {std::pair{"a_ms", &c->a_ms},
                                     {"b_ms", &c->b_ms},
                                     {"seconds", &c->seconds},
                                     {"waited_s", &c->waited_s},
                                     {"sd", &c->sd}})
      v.at(name).get_to(*into);
    v.at("a_peak_bytes").get_to(c->a_peak_bytes);
    v.at("b_peak_bytes").get_to(c->b_peak_bytes);
    v.at("retries").get_to(c->retries);
    v.at("warnings").get_to(c->warnings);
    v.at("protocol_hash").get_to(c->protocol_hash);
  });
}

std::optional<double> smallest_provable(const Comparison& comparison) {
  if (comparison.pairs.size() < 2) return std::nullopt;
  return smallest_provable(comparison.sd);
}

}  // namespace hone::measure
