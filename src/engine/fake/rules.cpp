// SPDX-License-Identifier: Apache-2.0
#include "engine/fake/rules.h"

#include <algorithm>
#include <cstdlib>

namespace hone::engine::fake {

namespace {

// "true", "on" and "1" are one word here, as they are for the engines.
bool same_value(const std::string& a, const std::string& b) {
  return a == b || (setting_is_on(a) && setting_is_on(b)) || (a == "off" && b == "false") ||
         (a == "false" && b == "off");
}

Result<Settings> read_settings(const Json& rule, const char* key) {
  Settings out;
  const Json settings = HONE_TRY(json_field<Json>(rule, key));
  for (const auto& [id, value] : settings.items())
    out[id] = value.is_string() ? value.get<std::string>() : value.dump();
  return out;
}

}  // namespace

Settings Rules::applied_to(Settings settings) const {
  for (const auto& [conditions, additions] : rules) {
    const bool holds = std::ranges::all_of(conditions, [&](const auto& condition) {
      const auto found = settings.find(condition.first);
      return found != settings.end() && same_value(found->second, condition.second);
    });
    if (!holds) continue;
    for (const auto& [id, value] : additions) settings[id] = value;
  }
  return settings;
}

Result<Rules> parse_rules(const Json& document) {
  if (!document.is_object()) return fail(bad_input("the fake engine's rules must be a JSON object"));
  Rules out;
  if (document.contains("latency_us")) out.latency_us = HONE_TRY(json_field<double>(document, "latency_us"));
  const Json rules = document.value("rules", Json::array());
  for (const Json& rule : rules)
    out.rules.emplace_back(HONE_TRY(read_settings(rule, "if")), HONE_TRY(read_settings(rule, "set")));
  return out;
}

Result<Rules> read_rules(const fs::path& model) {
  fs::path path = model;
  path += ".fake.json";
  std::error_code error;
  if (!fs::exists(path, error)) {
    const char* common = std::getenv("HONE_FAKE_RULES");
    if (common == nullptr || *common == '\0') return Rules{};
    path = common;
  }
  auto rules = parse_rules(HONE_TRY(read_json(path)));
  if (!rules) return fail(std::move(rules).error().with(path.string()));
  return rules;
}

}  // namespace hone::engine::fake
