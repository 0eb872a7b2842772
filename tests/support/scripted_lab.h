// ScriptedLab: a Lab in memory with a hidden truth: how much each Change really gains, which one crashes or is wrong.
// Measurements are drawn from a seeded noise model and decided by the real rule, so a whole optimization takes
// milliseconds. It can throw Crash at any of its calls: what a kill -9 looks like from inside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "loop/lab.h"
#include "measure/decide.h"

namespace hone::test {

struct Crash {};

struct ScriptedChange {
  std::string id;
  std::string kind = "graph";  // graph: a line in the model file; setting: params; engine: params["engine"]
  std::map<std::string, std::string> params = {};
  double gain = 1;  // the truth: how many times as fast
  double predicted = 1.1, upper_bound = 1.5, chance = 0.5, cost = 10;
  std::string finding = {};
  accuracy::Class accuracy = accuracy::Class::kExact;
  bool passes_gate = true;
  std::string fails_at = {};  // "apply", "check", "compare": with kToolFailed
  std::string voids = {};     // the change whose gain is gone once this one is in
  bool restarts = false;      // engine: goes back to the original model
  change::Proposal proposal() const {
    change::Proposal p;
    p.change = id;
    p.params = params;
    p.hypothesis = id + " helps";
    p.finding = finding;
    p.predicted = predicted;
    p.upper_bound = upper_bound;
    p.chance = chance;
    p.cost_seconds = cost;
    p.accuracy = accuracy;
    return p;
  }
};

struct ScriptedWorld {
  std::vector<ScriptedChange> changes;
  double baseline_ms = 10, sd = 0.02;
  bool synthetic = false, reference_fails = false;
  std::vector<diagnose::Finding> findings;
  std::map<std::string, std::string> environment = {{"device", "test CPU"}, {"cores", "2"}, {"engine.scripted", "1"}};
};

class ScriptedLab final : public loop::Lab {
 public:
  explicit ScriptedLab(ScriptedWorld world) : world_(std::move(world)) {}

  std::function<void(const std::string&)> at_call;  // may throw Crash
  std::vector<std::string> calls;
  struct Fixed {
    int pairs = 0;
    double budget_s = 0;
  };
  std::vector<Fixed> fixed;  // the calls of compare_fixed()
  double true_ms(const engine::Configuration& c) const { return world_.baseline_ms / gain(c); }
  ScriptedWorld& world() { return world_; }

  Result<loop::Facts> facts(const run::Plan& plan) override {
    loop::Facts facts;
    facts.hone_version = "test";
    facts.model_sha256 = HONE_TRY(sha256_of_file(plan.model));
    facts.environment = world_.environment;
    return facts;
  }
  Result<loop::Fixed> fix(const run::Plan& plan, const fs::path& samples) override {
    call("fix");
    HONE_TRY(make_directories(samples));
    loop::Fixed fixed;
    fixed.protocol.seed = plan.seed;
    fixed.protocol.synthetic = world_.synthetic;
    fixed.protocol.data_sha256 = std::string(64, '0');
    fixed.source = "scripted";
    return fixed;
  }
  Status begin(const run::Record& record) override {
    hash_ = record.protocol->hash();
    original_ = record.plan.model;
    return {};
  }
  Status reference(const fs::path& outputs, const loop::Task&) override {
    call("reference");
    if (world_.reference_fails) return fail(bad_input("the engine refuses the model", "node 3"));
    return make_directories(outputs);
  }
  Result<accuracy::Report> check(const engine::Configuration& tried, accuracy::Class accuracy_class, const loop::Task&,
                                 run::TrialLogs* logs) override {
    call("check");
    logs->converted = run::StepLog{"open", "engine says hello\n", 0, "", "", 0};
    accuracy::Report report;
    report.accuracy_class = accuracy_class;
    report.samples = 4;
    for (const ScriptedChange* c : inside(tried)) {
      if (c->fails_at == "check") return fail(tool_failed("worker died by signal 11 (SIGSEGV)", c->id));
      if (!c->passes_gate || c->accuracy > accuracy_class) {
        report.passed = false;
        report.why = "output y: cosine 0.5";
      }
    }
    logs->accuracy = run::StepLog{"compare", "", report.passed ? 0 : 1, "", "", 0};
    return report;
  }
  Result<measure::Measurement> measure(const engine::Configuration& what, const loop::Task& task) override {
    call("measure");
    std::mt19937_64 random(task.seed);
    std::normal_distribution<double> noise(0, world_.sd);
    measure::Measurement m;
    for (int i = 0; i < 20; ++i) m.samples_ms.push_back(true_ms(what) * std::exp(noise(random)));
    m.execute_ms = {true_ms(what), true_ms(what), true_ms(what), true_ms(what), true_ms(what), true_ms(what), 20};
    m.peak_memory_bytes = 100'000'000;
    m.place = "fake";
    m.protocol_hash = hash_;
    return m;
  }
  Result<loop::Compared> compare(const engine::Configuration& a, const engine::Configuration& b,
                                 const loop::Task& task) override {
    call("compare");
    for (const ScriptedChange* c : inside(b))
      if (c->fails_at == "compare") return fail(timed_out("no answer for 120 s", c->id));
    std::mt19937_64 random(task.seed);
    loop::Compared out = empty(a, b);
    const measure::Rule rule;
    for (size_t look = 0; look < rule.looks.size(); ++look) {
      while (static_cast<int>(out.comparison.pairs.size()) < rule.looks[look]) add_pair(out, a, b, random);
      out.comparison.looks.push_back(measure::look_at(out.comparison.pairs, rule, look));
      const measure::Look& l = out.comparison.looks.back();
      out.comparison.decision = measure::decide(l, rule, look + 1 == rule.looks.size());
      out.comparison.speedup = {std::exp(l.mean), std::exp(l.low), std::exp(l.high)};
      out.comparison.outcome = measure::outcome_of(l, rule);
      out.comparison.sd = l.sd;
      if (out.comparison.decision != measure::Decision::kGoOn) break;
    }
    return finish(std::move(out));
  }
  Result<loop::Compared> compare_fixed(const engine::Configuration& a, const engine::Configuration& b, int pairs,
                                       const loop::Task& task) override {
    call("compare_fixed");
    fixed.push_back({pairs, task.budget_s});
    std::mt19937_64 random(task.seed);
    loop::Compared out = empty(a, b);
    for (int i = 0; i < pairs; ++i) add_pair(out, a, b, random);
    out.comparison.speedup = measure::fixed_interval(out.comparison.pairs);
    out.comparison.sd = std::max(measure::sample_sd(out.comparison.pairs), measure::sd_floor(out.comparison.pairs));
    return finish(std::move(out));
  }
  Result<double> screen(const engine::Configuration& a, const engine::Configuration& b,
                        const loop::Task& task) override {
    call("screen");
    std::mt19937_64 random(task.seed);
    std::normal_distribution<double> noise(0, world_.sd);
    return true_ms(a) / true_ms(b) * std::exp(noise(random));
  }
  Result<diagnose::Diagnosis> profile(const engine::Configuration& what, double, const loop::Task&) override {
    call("profile");
    diagnose::Diagnosis d;
    d.latency_ms = true_ms(what);
    d.findings = world_.findings;
    d.machine.cpu = "test CPU";
    d.machine.cores = 2;
    return d;
  }
  Result<std::vector<loop::Candidate>> propose(const engine::Configuration& best, const diagnose::Diagnosis&) override {
    std::vector<loop::Candidate> out;
    const auto has = inside(best);
    for (const ScriptedChange& c : world_.changes)
      if (std::find(has.begin(), has.end(), &c) == has.end() &&
          (c.kind != "engine" || best.engine != c.params.at("engine")))
        out.push_back({c.proposal(), c.kind});
    return out;
  }
  Result<change::Applied> apply(const change::Proposal& proposal, const engine::Configuration& best,
                                const diagnose::Diagnosis&, const fs::path& folder) override {
    call("apply");
    const ScriptedChange& c = *find(proposal.key());
    if (c.fails_at == "apply") return fail(unsupported("the rewrite broke the model", c.id));
    change::Applied applied;
    applied.configuration = best;
    applied.summary = c.id + " applied";
    applied.export_log = "1 site\n";
    applied.patch = "+" + c.id + "\n";
    if (c.kind == "setting")
      for (const auto& [id, value] : c.params) applied.configuration.settings[id] = value;
    else if (c.kind == "engine")
      applied.configuration = {c.params.at("engine"), c.restarts ? original_ : best.model, {}};
    else {
      applied.configuration.model = folder / "model.onnx";
      HONE_TRY(write_file(applied.configuration.model, HONE_TRY(read_file(best.model)) + proposal.key() + "\n"));
      applied.nodes_before = 10;
      applied.nodes_after = 9;
    }
    return applied;
  }
  Status copy_model(const fs::path& model, const fs::path& to) override {
    call("copy_model");
    return write_file(to, HONE_TRY(read_file(model)));
  }

 private:
  void call(const std::string& name) {
    calls.push_back(name);
    if (at_call) at_call(name);
  }
  const ScriptedChange* find(const std::string& key) const {
    for (const ScriptedChange& c : world_.changes)
      if (c.proposal().key() == key) return &c;
    return nullptr;
  }
  std::vector<const ScriptedChange*> inside(const engine::Configuration& configuration) const {
    std::vector<const ScriptedChange*> out;
    const std::string text = read_file(configuration.model).value_or(std::string());
    for (const ScriptedChange& c : world_.changes) {
      bool in = c.kind == "setting" || c.kind == "engine";
      if (c.kind == "setting")
        for (const auto& [id, value] : c.params) {
          auto found = configuration.settings.find(id);
          in = in && found != configuration.settings.end() && found->second == value;
        }
      else if (c.kind == "engine")
        in = configuration.engine == c.params.at("engine");
      else
        in = text.find(c.proposal().key() + "\n") != std::string::npos;
      if (in) out.push_back(&c);
    }
    return out;
  }
  double gain(const engine::Configuration& configuration) const {
    const auto in = inside(configuration);
    std::set<std::string> voided;
    for (const ScriptedChange* c : in) voided.insert(c->voids);
    double out = 1;
    for (const ScriptedChange* c : in)
      if (!voided.contains(c->id)) out *= c->gain;
    return out;
  }
  loop::Compared empty(const engine::Configuration& a, const engine::Configuration& b) const {
    loop::Compared out;
    out.comparison.a_ms = true_ms(a);
    out.comparison.b_ms = true_ms(b);
    out.comparison.a_peak_bytes = out.comparison.b_peak_bytes = 100'000'000;
    out.comparison.place = "fake";
    out.comparison.protocol_hash = hash_;
    return out;
  }
  void add_pair(loop::Compared& out, const engine::Configuration& a, const engine::Configuration& b,
                std::mt19937_64& random) const {
    std::normal_distribution<double> noise(0, world_.sd);
    const double instance = noise(random) / 2;
    const double truth = std::log(true_ms(a) / true_ms(b));
    out.comparison.pairs.push_back({truth + instance + noise(random), truth + instance + noise(random)});
    for (char side : {'A', 'B'}) {
      measure::BlockRow row;
      row.pair = static_cast<int>(out.comparison.pairs.size()) - 1;
      row.side = side;
      row.place = "fake";
      row.block.q25 = side == 'A' ? true_ms(a) : true_ms(b);
      out.blocks.push_back(row);
    }
  }
  Result<loop::Compared> finish(loop::Compared out) const {
    out.comparison.seconds = 0.8 * static_cast<double>(out.comparison.pairs.size());
    return out;
  }

  ScriptedWorld world_;
  std::string hash_;
  fs::path original_;
};

}  // namespace hone::test
