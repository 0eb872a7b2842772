// report.html: one self-contained page, no network: headline, how the latency fell, every trial with its interval,
// where the time goes before and after, the roofline, accuracy, findings, all trials with their reasons, how to load
// the result. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "report/assets.h"
#include "report/load_snippet.h"
#include "report/sentences.h"

namespace hone::report {

namespace {

std::string h(std::string_view text) { return escape_html(text); }

// JSON inside a script element: "</" would end it.
std::string script_json(const Json& value) {
  std::string text = dump_json_line(value), out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '<') out += text.compare(i, 4, "<!--") == 0 ? "\\u200b" : "";
    if (text[i] == '<' && i + 1 < text.size() && text[i + 1] == '/') out += '\\';
  }
  return out;
}

Json steps_json(const run::Record& record) {
  Json steps = Json::array();
  if (const auto before = record.baseline_ms()) steps.push_back({{"name", "original"}, {"ms", *before}});
  const run::Trial* best = record.best();
  if (best == nullptr || steps.empty()) return steps;
  for (const run::Trial* trial : record.chain(best->number))
    if (trial->comparison) steps.push_back({{"name", trial->title()}, {"ms", trial->comparison->b_ms}});
  return steps;
}

Json trials_json(const run::Record& record) {
  Json trials = Json::array();
  for (const run::Trial& trial : record.trials) {
    if (!trial.verdict) continue;
    const measure::Interval none{0, 0, 0};
    const measure::Interval& interval = trial.comparison ? trial.comparison->speedup : none;
    trials.push_back({{"number", trial.number},
                      {"name", trial.title()},
                      {"verdict", verdict::to_text(trial.verdict->kind)},
                      {"estimate", interval.estimate},
                      {"low", interval.low},
                      {"high", interval.high},
                      {"reason", trial.verdict->reason}});
  }
  return trials;
}

void add_time(Json& time, Json& points, const diagnose::Diagnosis* d, const char* when) {
  if (d == nullptr) return;
  Json classes = Json::array();
  for (const diagnose::ClassTime& c : d->classes) classes.push_back({{"name", c.name}, {"ms", c.ms}});
  classes.push_back({{"name", "outside kernels"}, {"ms", std::max(0.0, d->outside_ms)}});
  time.push_back({{"name", when}, {"classes", classes}});
  for (const diagnose::OperatorTime& o : d->operators)
    if (o.flops > 0 && o.bytes > 0 && o.ms > 0)
      points.push_back({{"node", o.node},
                        {"when", when},
                        {"intensity", o.flops / o.bytes},
                        {"gflops", o.flops / o.ms / 1e6},
                        {"share", o.share}});
}

Json data_json(const run::Record& record) {
  Json time = Json::array(), points = Json::array();
  const diagnose::Diagnosis* before = diagnosis_before(record);
  add_time(time, points, before, "before");
  add_time(time, points, diagnosis_after(record), "after");
  return {{"steps", steps_json(record)},
          {"trials", trials_json(record)},
          {"time", time},
          {"roofline",
           {{"gflops", before != nullptr ? before->machine.gflops_f32 : 0},
            {"gbs", before != nullptr ? before->machine.bandwidth_gbs : 0},
            {"points", points}}}};
}

std::string card(std::string_view css, std::string_view label, std::string_view value, std::string_view more) {
  return fmt::format(
      "<div class=\"card {}\"><div class=\"label\">{}</div><div class=\"value\">{}</div><div "
      "class=\"more\">{}</div></div>\n",
      css, label, value, more);
}

std::string cards(const run::Record& record) {
  const auto speedup = record.speedup();
  const auto before = record.baseline_ms(), after = record.best_ms();
  const run::Trial* best = record.best();
  const bool gained = best != nullptr && best->number != 0 && speedup;
  std::string out = "<div class=\"cards\">\n";
  out += gained ? card("main", "speed-up, measured again at the end", fmt::format("{:.2f} ×", speedup->estimate),
                       fmt::format("95 % interval [{:.2f}, {:.2f}]", speedup->low, speedup->high))
                : card("main flat", "speed-up", "no gain beyond noise", h(smallest_gain_sentence(record)));
  out += card("", "latency", after ? milliseconds(*after) : "?", before ? "original: " + milliseconds(*before) : "");
  if (const accuracy::Report* report = final_accuracy(record))
    out += card("", "accuracy",
                report->passed ? "<span class=\"pass\">passed</span>" : "<span class=\"fail\">not passed</span>",
                h(gate_sentence(*report)));
  out += card("", "stopped because", record.stops.empty() ? "?" : h(record.stops.front().reason),
              record.stops.empty() ? "" : h(record.stops.front().evidence));
  return out + "</div>\n";
}

std::string trials_table(const run::Record& record) {
  std::string out =
      "<table><tr><th>#</th><th>change</th><th>answers</th><th>predicted</th><th>measured</th><th>verdict</"
      "th><th>files</th></tr>\n";
  for (const run::Trial& trial : record.trials) {
    if (!trial.verdict) continue;
    out += fmt::format(
        "<tr class=\"{}\"><td>{}</td><td><b>{}</b><br><span class=\"note\">{}</span></td><td>{}</td><td "
        "class=\"num\">{:.2f} x</td><td class=\"num\">{}</td><td>{}</td><td><a href=\"{}\">{}</a></td></tr>\n",
        verdict::to_text(trial.verdict->kind), trial.number, h(trial.title()), h(trial.proposal.hypothesis),
        h(trial.proposal.finding), trial.proposal.predicted, trial.comparison ? ratio(trial.comparison->speedup) : "–",
        "<b>" + verdict_word(trial) + "</b>: " + h(trial.verdict->reason), h(trial.dir), "files");
  }
  return out + "</table>\n";
}

std::string accuracy_table(const run::Record& record) {
  const accuracy::Report* report = final_accuracy(record);
  if (report == nullptr) return "<p class=\"note\">Not checked.</p>";
  std::string out =
      "<p class=\"note\">Reference: the original model in ONNX Runtime with every graph optimization off.</p>"
      "<table><tr><th>output</th><th>max abs</th><th>mean abs</th><th>rmse</th><th>cosine</th><th>SNR</th><th>max abs "
      "/ largest</th><th>top-1</th></tr>\n";
  for (const accuracy::Metrics& m : report->outputs)
    out += fmt::format(
        "<tr><td>{}</td><td class=\"num\">{:.3g}</td><td class=\"num\">{:.3g}</td><td class=\"num\">{:.3g}</td><td "
        "class=\"num\">{:.7f}</td><td class=\"num\">{:.1f} dB</td><td class=\"num\">{:.3g}</td><td "
        "class=\"num\">{}</td></tr>\n",
        h(m.name), m.max_abs, m.mean_abs, m.rmse, m.cosine, m.snr_db, m.relative_max,
        m.topk_match ? fmt::format("{:.1f} %", *m.topk_match * 100) : "–");
  return out + "</table>\n";
}

std::string findings_table(const diagnose::Diagnosis* d) {
  if (d == nullptr || d->findings.empty()) return "<p class=\"note\">None.</p>";
  std::string out =
      "<table><tr><th>priority</th><th>finding</th><th>share</th><th>can gain at most</th><th>evidence</th><th>what "
      "can be done</th></tr>\n";
  for (const diagnose::Finding& f : d->findings)
    out += fmt::format(
        "<tr><td>P{}</td><td><b>{}</b><br>{}</td><td class=\"num\">{:.0f} %</td><td class=\"num\">{:.2f} "
        "x</td><td>{}</td><td>{}</td></tr>\n",
        static_cast<int>(f.priority), h(f.id), h(f.title), f.share * 100, f.upper_bound, h(f.evidence), h(f.direction));
  return out + "</table>\n";
}

std::string facts(const run::Record& record) {
  std::string out = "<table>\n";
  auto row = [&](std::string_view key, std::string_view value) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", h(key), h(value));
  };
  row("model", fmt::format("{} ({}, sha256 {})", record.plan.model.filename().string(),
                           bytes_text(static_cast<double>(record.model_bytes)), record.model_sha256.substr(0, 16)));
  row("data", record.data_source);
  for (const std::string& note : record.data_notes) row("", note);
  if (record.protocol) {
    row("protocol", record.protocol->hash().substr(0, 8));
    for (const auto& [name, dims] : record.protocol->shapes)
      row("input " + name, fmt::format("{}", fmt::join(dims, " x ")));
  }
  row("noise", smallest_gain_sentence(record));
  for (const auto& [key, value] : record.environment) row(key, value);
  return out + "</table>\n";
}

std::string how_to_load_section(const run::Record& record) {
  return "<p>The model and its settings are in <code>best/</code>; <code>best/load.py</code> and "
         "<code>best/load.cpp</code> are these snippets.</p>"
         "<details open><summary>Python</summary><pre>" +
         h(python_snippet(record)) +
         "</pre></details>"
         "<details><summary>C++</summary><pre>" +
         h(cpp_snippet(record)) + "</pre></details>\n";
}

}  // namespace

std::string html(const run::Record& record) {
  const std::string name = h(record.plan.model.filename().string());
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data:\">\n";
  out += fmt::format("<title>{} – hone</title>\n<style>{}</style></head><body><main>\n", name, report_css());
  const auto cpu = record.environment.find("device");
  out += fmt::format("<h1>{}</h1><p class=\"sub\">{} · {} · {}</p>\n", name, h(headline(record)),
                     cpu == record.environment.end() ? "" : h(cpu->second), h(record.created));
  out += cards(record);
  // A chart without data takes its section with it (report.js).
  out += "<section><h2>How the latency fell</h2><div class=\"chart\" id=\"steps\"></div></section>\n";
  out +=
      "<section><h2>Every change that was measured, beside the best of its time</h2><p class=\"note\">The point is the "
      "estimate, "
      "the line its interval; inside the grey band (3 %) a difference is noise. Green was kept.</p>"
      "<div class=\"chart\" id=\"trials\"></div></section>\n";
  out += "<section><h2>Where the time goes</h2><div class=\"chart\" id=\"time\"></div></section>\n";
  out +=
      "<section><h2>Roofline</h2><p class=\"note\">One point per operator, its size the share of the time.</p>"
      "<div class=\"chart\" id=\"roofline\"></div></section>\n";
  out += "<h2>Accuracy</h2>" + accuracy_table(record);
  out += "<h2>Findings before</h2>" + findings_table(diagnosis_before(record));
  out += "<h2>Trials</h2>" + trials_table(record);
  out += "<h2>How to load the result</h2>" + how_to_load_section(record);
  out += "<h2>Protocol and machine</h2>" + facts(record);
  out += "</main>\n<script type=\"application/json\" id=\"data\">" + script_json(data_json(record)) +
         "</script>\n<script>";
  out += echarts_js();
  out += "</script>\n<script>";
  out += report_js();
  return out + "</script></body></html>\n";
}

}  // namespace hone::report
