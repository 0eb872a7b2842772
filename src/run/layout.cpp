// SPDX-License-Identifier: Apache-2.0
#include "run/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace hone::run {

std::string patch_name(int trial, std::string_view change) {
  return fmt::format("patch_{:03}_{}", trial, slug(change));
}

Result<fs::path> make_run_folder(const fs::path& parent, const fs::path& model, std::string_view day) {
  HONE_TRY(make_directories(parent));
  const std::string name = fmt::format("{}_{}_optimization", day, slug(model.stem().string()));
  for (int n = 1; n < 10'000; ++n) {
    const fs::path folder = parent / (n == 1 ? name : fmt::format("{}_{}", name, n));
    std::error_code code;
    // create_directory is the atomic test: of two hones that start at once, one gets the name.
    if (fs::create_directory(folder, code)) return folder;
    if (code) return fail(io_error("can't make folder (" + code.message() + ")", folder.string()));
  }
  return fail(usage_error("too many runs of one model on one day", parent.string(), "give another folder with --out"));
}

fs::path portable(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  if (relative.empty() || *relative.begin() == "..") return path;
  return relative;
}

fs::path located(const fs::path& path, const fs::path& folder) {
  return path.empty() || path.is_absolute() ? path : folder / path;
}

engine::Configuration portable(engine::Configuration configuration, const fs::path& folder) {
  configuration.model = portable(configuration.model, folder);
  return configuration;
}

engine::Configuration located(engine::Configuration configuration, const fs::path& folder) {
  configuration.model = located(configuration.model, folder);
  return configuration;
}

Status sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int code = descriptor < 0 || ::fsync(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  // Some file systems refuse to sync a folder (EINVAL); there is nothing more one can do there.
  if (code != 0 && code != EINVAL)
    return fail(io_error(fmt::format("can't sync folder ({})", std::strerror(code)), folder.string()));
  return {};
}

Result<std::vector<std::string>> remove_half_made(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code code;
  for (auto it = fs::recursive_directory_iterator(folder, code); !code && it != fs::recursive_directory_iterator();
       it.increment(code)) {
    if (it->path().extension() != ".tmp") continue;
    found.push_back(it->path());
    if (it->is_directory(code)) it.disable_recursion_pending();
  }
  if (code) return fail(io_error("can't read folder (" + code.message() + ")", folder.string()));
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (const fs::path& path : found) {
    fs::remove_all(path, code);
    if (code) return fail(io_error("can't remove a half-made file (" + code.message() + ")", path.string()));
    names.push_back(portable(path, folder).string());
  }
  return names;
}

}  // namespace hone::run
