// Reading one setting as a typed value. Call it after validate(): then a value that is present fits its type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "engine/engine.h"

namespace hone::engine {

inline bool has_setting(const Settings& settings, const std::string& id) { return settings.contains(id); }

inline std::string setting_text(const Settings& settings, const std::string& id, std::string fallback = {}) {
  const auto it = settings.find(id);
  return it == settings.end() ? fallback : it->second;
}

inline bool setting_bool(const Settings& settings, const std::string& id, bool fallback) {
  const auto it = settings.find(id);
  return it == settings.end() ? fallback : setting_is_on(it->second);
}

inline int setting_int(const Settings& settings, const std::string& id, int fallback) {
  const auto it = settings.find(id);
  return it == settings.end() ? fallback : std::atoi(it->second.c_str());
}

inline double setting_float(const Settings& settings, const std::string& id, double fallback) {
  const auto it = settings.find(id);
  return it == settings.end() ? fallback : std::atof(it->second.c_str());
}

// Calls visit(rest of the id, value) for every setting whose id starts with `prefix`.
template <class Visit>
void for_settings_below(const Settings& settings, std::string_view prefix, Visit visit) {
  for (auto it = settings.lower_bound(std::string(prefix)); it != settings.end() && it->first.starts_with(prefix); ++it)
    visit(it->first.substr(prefix.size()), it->second);
}

}  // namespace hone::engine
