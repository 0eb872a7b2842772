// SPDX-License-Identifier: Apache-2.0
#include "run/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "run/shell.h"

namespace hone::run {

namespace {

std::string plain(std::string text) { return text.empty() ? "-" : one_line(std::move(text)); }

std::string number(double value, const char* format = "{:.6g}") {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : std::string("-");
}

std::string microseconds(double ms) { return number(ms * 1000, "{:.1f}"); }

std::string interval(const measure::Interval& i, double scale = 1, const char* format = "{:.3f}") {
  return fmt::format("[{}, {}]", number(i.low * scale, format), number(i.high * scale, format));
}

struct Timing {
  std::string execute = "-", interval = "-", h2d = "-", d2h = "-", h2d_n = "-", d2h_n = "-", e2e = "-", peak = "-";
};

Timing timing_of(const Trial& t) {
  Timing out;
  if (t.measurement) {
    const measure::Measurement& m = *t.measurement;
    out.execute = microseconds(m.execute_ms.median);
    out.interval = fmt::format("[{}, {}]", microseconds(m.execute_ms.p5), microseconds(m.execute_ms.p95));
    if (m.h2d_ms) out.h2d = microseconds(m.h2d_ms->median), out.h2d_n = std::to_string(m.h2d_ms->samples);
    if (m.d2h_ms) out.d2h = microseconds(m.d2h_ms->median), out.d2h_n = std::to_string(m.d2h_ms->samples);
    const double whole = m.execute_ms.median + (m.h2d_ms ? m.h2d_ms->median : 0) + (m.d2h_ms ? m.d2h_ms->median : 0);
    out.e2e = microseconds(whole);
    out.peak = number(static_cast<double>(m.peak_memory_bytes) / 1e6, "{:.1f}");
  } else if (t.comparison) {
    const measure::Comparison& c = *t.comparison;
    out.execute = out.e2e = microseconds(c.b_ms);
    out.interval = fmt::format("[{}, {}]", microseconds(c.b.p5), microseconds(c.b.p95));
    if (c.b_peak_bytes > 0) out.peak = number(static_cast<double>(c.b_peak_bytes) / 1e6, "{:.1f}");
  }
  return out;
}

struct Worst {
  std::string max_abs = "-", mean_abs = "-", rmse = "-", cosine = "-", snr = "-", topk = "-", quality = "-";
};

Worst worst_of(const std::optional<accuracy::Report>& report) {
  Worst out;
  if (!report) return out;
  if (report->quality) out.quality = number(*report->quality);
  if (report->outputs.empty()) return out;
  double max_abs = 0, mean_abs = 0, rmse = 0, cosine = 1, snr = INFINITY, topk = 2;
  for (const accuracy::Metrics& m : report->outputs) {
    max_abs = std::max(max_abs, m.max_abs);
    mean_abs = std::max(mean_abs, m.mean_abs);
    rmse = std::max(rmse, m.rmse);
    cosine = std::min(cosine, m.cosine);
    snr = std::min(snr, m.snr_db);
    if (m.topk_match) topk = std::min(topk, *m.topk_match);
  }
  out.max_abs = number(max_abs, "{:.3g}");
  out.mean_abs = number(mean_abs, "{:.3g}");
  out.rmse = number(rmse, "{:.3g}");
  out.cosine = number(cosine, "{:.8f}");
  out.snr = std::isinf(snr) ? "equal" : number(snr, "{:.1f}");
  if (topk <= 1) out.topk = number(topk, "{:.4f}");
  return out;
}

std::string accuracy_word(const Trial& t) {
  if (!t.accuracy) return "n.a.";
  return fmt::format("{} ({})", t.accuracy->passed ? "pass" : "fail", t.accuracy->level);
}

}  // namespace

const std::vector<std::string_view>& trial_columns() {
  static const std::vector<std::string_view> columns = {
      "trial",     "parent",     "stage",      "change",     "change_class", "hypothesis", "finding",
      "predicted", "execute_us", "execute_ci", "h2d_us",     "d2h_us",       "h2d_n",      "d2h_n",
      "e2e_us",    "peak_mb",    "vs_best",    "vs_best_ci", "vs_original",  "max_abs",    "mean_abs",
      "rmse",      "cosine",     "snr_db",     "topk",       "quality",      "accuracy",   "verdict",
      "reason",    "protocol",   "artifacts",  "profile",    "started",      "seconds"};
  return columns;
}

std::vector<std::string> trial_cells(const Trial& t, const Record& record) {
  const bool tried = !t.proposal.change.empty();
  const bool final = t.stage == Stage::kFinal;
  const Timing timing = timing_of(t);
  const Worst worst = worst_of(t.accuracy);
  const ProfileRow* profile = record.profile_of(t.number);
  const bool beside_best = t.comparison && !final;
  return {std::to_string(t.number),
          t.parent < 0 ? "-" : std::to_string(t.parent),
          std::string(to_text(t.stage)),
          plain(t.title()),
          tried ? std::string(accuracy::to_text(t.proposal.accuracy)) : "-",
          plain(t.proposal.hypothesis),
          plain(t.proposal.finding),
          tried ? number(t.proposal.predicted, "{:.3f}") : "-",
          timing.execute,
          timing.interval,
          timing.h2d,
          timing.d2h,
          timing.h2d_n,
          timing.d2h_n,
          timing.e2e,
          timing.peak,
          beside_best ? number(t.comparison->speedup.estimate, "{:.3f}") : "-",
          beside_best ? interval(t.comparison->speedup) : "-",
          t.vs_original ? number(t.vs_original->estimate, "{:.3f}") : "-",
          worst.max_abs,
          worst.mean_abs,
          worst.rmse,
          worst.cosine,
          worst.snr,
          worst.topk,
          worst.quality,
          accuracy_word(t),
          std::string(t.outcome()),
          t.verdict ? plain(t.verdict->reason) : "-",
          record.protocol ? record.protocol->hash().substr(0, 8) : "-",
          plain(t.dir),
          profile != nullptr ? profile->dir : "-",
          plain(t.started),
          number(t.seconds, "{:.1f}")};
}

std::string trials_tsv(const Record& record) {
  std::string out = fmt::format("{}\n", fmt::join(trial_columns(), "\t"));
  for (const Trial& t : record.trials) out += fmt::format("{}\n", fmt::join(trial_cells(t, record), "\t"));
  return out;
}

std::string trials_md(const Record& record) {
  std::string out = fmt::format("| {} |\n|{}\n", fmt::join(trial_columns(), " | "), [] {
    std::string dashes;
    for (size_t i = 0; i < trial_columns().size(); ++i) dashes += " --- |";
    return dashes;
  }());
  for (const Trial& t : record.trials) {
    std::vector<std::string> cells = trial_cells(t, record);
    for (std::string& cell : cells)
      for (size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.replace(at, 1, "\\|");
    out += fmt::format("| {} |\n", fmt::join(cells, " | "));
  }
  return out;
}

}  // namespace hone::run
