// Profile: interning, the choice of a format, nesting. SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/format.h"

namespace hone::profile {

#define HONE_PROFILE_FORMAT(id, about) \
  Likelihood sniff_##id(const Input&); \
  Result<Profile> read_##id(const Input&);
#include "profile/formats.def"
#undef HONE_PROFILE_FORMAT

const std::vector<Format>& all_formats() {
  static const std::vector<Format> formats = {
#define HONE_PROFILE_FORMAT(id, about) {#id, about, sniff_##id, read_##id},
#include "profile/formats.def"
#undef HONE_PROFILE_FORMAT
  };
  return formats;
}

StringId Strings::intern(std::string_view text) {
  if (auto found = ids_.find(text); found != ids_.end()) return found->second;
  const auto id = static_cast<StringId>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

namespace {

std::string known_formats() {
  std::string names;
  for (const Format& format : all_formats()) names += fmt::format("{}{}", names.empty() ? "" : ", ", format.id);
  return names;
}

Result<const Format*> choose(const Input& input) {
  const Format* best = nullptr;
  const Format* rival = nullptr;
  Likelihood likelihood = Likelihood::kNo;
  for (const Format& format : all_formats()) {
    const Likelihood claim = format.sniff(input);
    if (claim == Likelihood::kNo) continue;
    if (claim > likelihood) {
      best = &format;
      rival = nullptr;
      likelihood = claim;
    } else if (claim == likelihood) {
      rival = &format;
    }
  }
  if (best == nullptr)
    return fail(bad_input("not a profile of a known format", input.path.string(), "known formats: " + known_formats()));
  if (rival != nullptr)
    return fail(bad_input(fmt::format("the file could be {} or {}", best->id, rival->id), input.path.string()));
  return best;
}

}  // namespace

Result<Profile> read(const Input& input) {
  if (input.bytes.empty())
    return fail(bad_input("empty file", input.path.string(), "the profiled program ended before it wrote its profile"));
  const Format* format = HONE_TRY(choose(input));
  Profile profile = HONE_TRY(format->read(input));
  profile.format = format->id;
  profile.files = {input.path};
  return profile;
}

Result<Profile> read(const fs::path& path) {
  const auto file = HONE_TRY(MappedFile::open(path));
  const auto bytes = file->bytes();
  return read(Input{path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
}

void mark_nested(Profile& profile) {
  auto& kernels = profile.kernels;
  // Rows of a profile are in order of their end: of two with the same start and length the later one is the outer.
  // Rows of no length are steps in a sequence, and keep it.
  std::vector<uint32_t> order(kernels.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Kernel &x = kernels[a], &y = kernels[b];
    if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
    if (x.duration_ns != y.duration_ns) return x.duration_ns > y.duration_ns;
    return x.duration_ns > 0 ? a > b : a < b;
  });
  std::vector<Kernel> sorted;
  sorted.reserve(kernels.size());
  for (uint32_t i : order) sorted.push_back(kernels[i]);
  kernels = std::move(sorted);

  // A coarse clock cuts start and length apart, so a child may seem to end up to two units after its parent.
  const int64_t slack = profile.resolution_ns > 1 ? 2 * profile.resolution_ns : 0;
  std::unordered_map<int32_t, std::vector<size_t>> open_by_stream;  // kernels that may contain the next one
  for (size_t i = 0; i < kernels.size(); ++i) {
    Kernel& kernel = kernels[i];
    kernel.self_ns = kernel.duration_ns;
    kernel.children = 0;
    auto& open = open_by_stream[kernel.stream];
    const int64_t end = kernel.start_ns + kernel.duration_ns;
    auto contains = [&](const Kernel& outer) {
      const int64_t outer_end = outer.start_ns + outer.duration_ns;
      return kernel.start_ns < outer_end && end <= outer_end + slack && kernel.step == outer.step;
    };
    while (!open.empty() && !contains(kernels[open.back()])) open.pop_back();
    if (!open.empty()) {
      Kernel& outer = kernels[open.back()];
      outer.self_ns -= std::min(outer.self_ns, kernel.duration_ns);
      outer.children += 1;
    }
    open.push_back(i);
  }
}

}  // namespace hone::profile
