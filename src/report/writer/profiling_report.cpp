// step2_analysis/profiling_report.md: where the baseline's time goes, and the findings with their evidence.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/sentences.h"

namespace hone::report {

namespace {

constexpr size_t kOperatorsShown = 20;

std::string findings_table(const diagnose::Diagnosis& d) {
  if (d.findings.empty()) return "none\n";
  std::string out =
      "| priority | finding | share | at most | evidence | direction |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const diagnose::Finding& f : d.findings)
    out +=
        fmt::format("| P{} | {} | {:.1f} % | {:.2f} x | {} | {} |\n", static_cast<int>(f.priority), f.id, f.share * 100,
                    f.upper_bound, escape_markdown_cell(f.evidence), escape_markdown_cell(f.direction));
  return out;
}

}  // namespace

std::string profiling_report(const run::Record& record) {
  std::string out = "# Profile of the baseline\n\n";
  const diagnose::Diagnosis* d = diagnosis_before(record);
  if (d == nullptr) return out + "No profile was taken.\n";
  out += fmt::format("One inference takes {}: kernels {}, outside kernels {}. ", milliseconds(d->latency_ms),
                     milliseconds(d->kernel_ms), milliseconds(d->outside_ms));
  if (d->roof_ms > 0) out += fmt::format("The roofline of this machine allows {}.", milliseconds(d->roof_ms));
  out += fmt::format("\n\nMachine: {}, {} cores, {:.0f} GFLOP/s float32, {:.1f} GB/s.\n\n", d->machine.cpu,
                     d->machine.cores, d->machine.gflops_f32, d->machine.bandwidth_gbs);
  out += "## Findings\n\n" + findings_table(*d) + "\n## Classes\n\n| class | ms | share |\n| --- | --- | --- |\n";
  for (const diagnose::ClassTime& c : d->classes)
    out += fmt::format("| {} | {:.4f} | {:.1f} % |\n", c.name, c.ms, c.share * 100);
  out +=
      "\n## Operators\n\n| node | type | ms | share | GFLOP/s | of the roof |\n| --- | --- | --- | --- | --- | --- |\n";
  for (size_t i = 0; i < d->operators.size() && i < kOperatorsShown; ++i) {
    const diagnose::OperatorTime& o = d->operators[i];
    out += fmt::format("| {} | {} | {:.4f} | {:.1f} % | {} | {} |\n", escape_markdown_cell(o.node), o.type, o.ms,
                       o.share * 100, o.flops > 0 && o.ms > 0 ? fmt::format("{:.1f}", o.flops / o.ms / 1e6) : "-",
                       o.efficiency > 0 ? fmt::format("{:.0f} %", o.efficiency * 100) : "-");
  }
  return out;
}

}  // namespace hone::report
