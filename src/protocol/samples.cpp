// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "protocol/data.h"

namespace hone::protocol {

std::string sample_file_name(size_t index) { return fmt::format("sample_{:04}.npz", index); }

Status write_samples(const fs::path& folder, const std::vector<model::NamedTensors>& samples) {
  HONE_TRY(make_directories(folder));
  for (size_t i = 0; i < samples.size(); ++i) HONE_TRY(write_npz(folder / sample_file_name(i), samples[i]));
  // What an earlier, longer set left behind would be read as part of this one.
  std::error_code code;
  for (size_t i = samples.size(); fs::remove(folder / sample_file_name(i), code); ++i) {
  }
  if (code) return fail(io_error("can't remove an old sample (" + code.message() + ")", folder.string()));
  return {};
}

Result<std::vector<fs::path>> sample_files(const fs::path& folder) {
  std::error_code code;
  size_t found = 0;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("sample_") && name.ends_with(".npz")) ++found;
  }
  if (code) return fail(bad_input("can't read folder (" + code.message() + ")", folder.string()));
  std::vector<fs::path> files;
  for (size_t i = 0; i < found; ++i) {
    files.push_back(folder / sample_file_name(i));
    if (!fs::exists(files.back(), code))
      return fail(bad_input("a sample file is missing", files.back().string(), "write the samples again"));
  }
  return files;
}

Result<std::vector<model::NamedTensors>> read_samples(const fs::path& folder, size_t limit) {
  const auto files = HONE_TRY(sample_files(folder));
  std::vector<model::NamedTensors> samples;
  for (const auto& file : files) {
    if (limit != 0 && samples.size() == limit) break;
    samples.push_back(HONE_TRY(read_npz(file)));
  }
  return samples;
}

}  // namespace hone::protocol
