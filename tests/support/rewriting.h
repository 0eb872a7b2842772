// Rewriting a model written as text, for the tests of rules.
//
//   const auto done = rewritten({"remove-identity"}, R"(agraph (float[N,2] x) => (float[N,2] y) { a = Identity(x) y =
//   Relu(a) })"); EXPECT_EQ(done.lines, "y = Relu(x)\n");
//
// Every rewrite is done with the structure checked after each rule, and once more on its own result: twice must be
// once. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "change/rewrite/driver.h"
#include "model/model.h"
#include "support/differential.h"
#include "support/graph_lines.h"

namespace hone::test {

// "opset" graphs: the text after the model header.
inline model::Model model_of(std::string_view graph, int opset = 17, std::string_view domains = "") {
  const std::string text = fmt::format("<ir_version: 8, opset_import: [\"\" : {}{}]>\n{}", opset, domains, graph);
  Result<model::Model> model = model::Model::from_text(text);
  if (!model) throw std::runtime_error(model.error().line());
  const Status checked = model->check();
  if (!checked) throw std::runtime_error(checked.error().line());
  return std::move(*model);
}

struct Rewritten {
  model::Model before, after;
  std::string lines;             // of `after`
  size_t fired = 0;              // of all rules
  std::vector<std::string> why;  // refusals, "node: sentence"
};

inline std::vector<const change::Rule*> rules_of(const std::vector<std::string>& ids) {
  std::vector<const change::Rule*> rules;
  for (const std::string& id : ids) rules.push_back(change::find_rule(id).value());
  return rules;
}

inline change::RewriteOptions strict_options() {
  change::RewriteOptions options;
  options.check_each_rule = true;
  return options;
}

inline Rewritten rewritten(const std::vector<const change::Rule*>& rules, model::Model before) {
  Rewritten out{before.clone(), std::move(before), {}, 0, {}};
  const auto report = change::rewrite(out.after, rules, strict_options());
  if (!report) throw std::runtime_error(report.error().line());
  out.lines = graph_lines(out.after.graph());
  out.fired = report->fired();
  for (const change::RuleReport& rule : report->rules)
    for (const change::Refusal& refusal : rule.refused) out.why.push_back(refusal.node + ": " + refusal.why);
  const auto again = change::rewrite(out.after, rules, strict_options());
  EXPECT_EQ(again.has_value() ? again->fired() : 0, 0U) << "rewriting twice is not rewriting once";
  EXPECT_TRUE(again.has_value());
  EXPECT_EQ(graph_lines(out.after.graph()), out.lines);
  return out;
}

inline Rewritten rewritten(const std::vector<std::string>& ids, std::string_view graph, int opset = 17) {
  return rewritten(rules_of(ids), model_of(graph, opset));
}

// Rewrites and compares before and after in ONNX Runtime; what the loosest of the rules promises decides how.
inline void expect_same_outputs(const Rewritten& done, const std::vector<std::string>& ids) {
  DifferentialOptions options;
  for (const change::Rule* rule : rules_of(ids))
    options.accuracy_class = std::max(options.accuracy_class, rule->info().accuracy);
  const auto comparison = compare_models(done.before, done.after, options);
  ASSERT_TRUE(comparison.has_value()) << comparison.error().line();
  EXPECT_TRUE(comparison->same) << comparison->why << "\n" << done.lines;
}

}  // namespace hone::test
