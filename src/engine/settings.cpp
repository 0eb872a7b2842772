// Validation of settings against what an engine declares, and the settings of the worker process itself.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "engine/engine.h"
#include "engine/suggest.h"

namespace hone::engine {

namespace {

bool matches(const SettingInfo& info, std::string_view id) {
  if (!info.id.ends_with(".*")) return info.id == id;
  const std::string_view prefix(info.id.data(), info.id.size() - 1);
  return id.starts_with(prefix) && id.size() > prefix.size();
}

bool is_bool_word(std::string_view value) {
  static constexpr std::string_view kWords[] = {"on", "off", "true", "false", "1", "0"};
  return std::ranges::find(kWords, value) != std::end(kWords);
}

template <class T>
bool is_number(std::string_view value) {
  T number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() && number >= 0;
}

// What a value should have been, or "" when it fits.
std::string expected(const SettingInfo& info, const std::string& value) {
  if (std::ranges::find(info.choices, value) != info.choices.end()) return {};
  if (info.type == "enum")
    return did_you_mean(value, info.choices, fmt::format("one of {}", fmt::join(info.choices, ", ")));
  if (info.type == "bool" && !is_bool_word(value)) return "on or off";
  const std::string words = info.choices.empty() ? "" : fmt::format(" or {}", fmt::join(info.choices, ", "));
  // INT32_MAX: engines take int; a larger number would wrap.
  if (info.type == "int" && !is_number<int32_t>(value)) return "a whole number from 0" + words;
  if (info.type == "float" && !is_number<double>(value)) return "a number from 0" + words;
  if (info.type == "string" && value.find('\0') != std::string::npos) return "text without NUL";
  return {};
}

}  // namespace

bool setting_is_on(std::string_view value) { return value == "on" || value == "true" || value == "1"; }

const SettingInfo* find_setting(const Engine& engine, std::string_view id) {
  for (const auto* list : {&engine.settings(), &process_settings()})
    for (const auto& info : *list)
      if (matches(info, id)) return &info;
  return nullptr;
}

Status validate(const Engine& engine, const Settings& settings) {
  for (const auto& [id, value] : settings) {
    const SettingInfo* info = find_setting(engine, id);
    if (info == nullptr) {
      std::vector<std::string> known;
      for (const auto* list : {&engine.settings(), &process_settings()})
        for (const auto& setting : *list) known.push_back(setting.id);
      return fail(usage_error(fmt::format("unknown setting of engine {}", engine.id()), id,
                              did_you_mean(id, known, fmt::format("known settings: {}", fmt::join(known, ", ")))));
    }
    if (const std::string want = expected(*info, value); !want.empty())
      return fail(usage_error(fmt::format("bad value of setting {}", id), '"' + value + '"', want));
  }
  return {};
}

const std::vector<SettingInfo>& process_settings() {
  static const std::vector<SettingInfo> settings = {
      {"process.huge_pages",
       "bool",
       "off",
       {},
       "Weights and buffers on transparent huge pages (glibc 2.35+: GLIBC_TUNABLES=glibc.malloc.hugetlb=1); exact, and "
       "pays where weights stream from memory (measured 1.07 on a small decoder)"},
      {"process.malloc_arena_max",
       "int",
       "0",
       {},
       "Largest number of glibc malloc arenas (glibc.malloc.arena_max); 0 = glibc's own choice of 8 per core"},
  };
  return settings;
}

std::map<std::string, std::string> process_environment(const Settings& settings, std::string_view inherited_tunables) {
  std::string tunables(inherited_tunables);
  const auto add = [&](std::string_view name, std::string_view value) {
    tunables += fmt::format("{}glibc.malloc.{}={}", tunables.empty() ? "" : ":", name, value);
  };
  const auto get = [&](const char* id) {
    const auto it = settings.find(id);
    return it == settings.end() ? std::string() : it->second;
  };
  if (setting_is_on(get("process.huge_pages"))) add("hugetlb", "1");
  if (const auto arenas = get("process.malloc_arena_max"); !arenas.empty() && arenas != "0") add("arena_max", arenas);
  if (tunables.empty()) return {};
  return {{"GLIBC_TUNABLES", tunables}};
}

}  // namespace hone::engine
