// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "accuracy/accuracy.h"
#include "accuracy/quality.h"
#include "protocol/data.h"

namespace hone::accuracy {

Result<Report> compare_folders(const fs::path& reference, const fs::path& tried, const Gate& gate, Class accuracy_class,
                               bool synthetic) {
  const auto left = HONE_TRY(protocol::sample_files(reference));
  const auto right = HONE_TRY(protocol::sample_files(tried));
  if (left.empty()) return fail(bad_input("no sample_NNNN.npz in folder", reference.string()));
  if (left.size() != right.size())
    return fail(bad_input(fmt::format("{} samples of outputs, the reference has {}", right.size(), left.size()),
                          tried.string(), "run the same samples through both models"));
  std::vector<Metrics> worst;
  for (size_t i = 0; i < left.size(); ++i)
    merge(worst, compare_outputs(HONE_TRY(protocol::read_npz(left[i])), HONE_TRY(protocol::read_npz(right[i]))));
  Report report = judge(std::move(worst), gate, accuracy_class, static_cast<int64_t>(left.size()), synthetic);
  if (gate.level != "quality") return report;
  const double base =
      gate.quality_reference ? *gate.quality_reference : HONE_TRY(run_quality_command(gate.quality_command, reference));
  judge_quality(report, base, HONE_TRY(run_quality_command(gate.quality_command, tried)), gate);
  return report;
}

}  // namespace hone::accuracy
