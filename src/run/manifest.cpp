// SPDX-License-Identifier: Apache-2.0
#include "run/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "run/secrets.h"

namespace hone::run {

namespace {

// The guide's keys, in its order; then what hone adds.
constexpr std::array<std::string_view, 8> kRequired = {"device",   "cann",  "pytorch",   "TorchNPU",
                                                       "mindiesd", "model", "framework", "precision"};

std::string line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text.empty() ? "unknown" : mask_secrets(text);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> manifest_rows(const Record& record) {
  std::map<std::string, std::string> known = record.environment;
  auto take = [&](const std::string& key) {
    auto found = known.find(key);
    if (found == known.end()) return std::string("unknown");
    std::string value = found->second;
    known.erase(found);
    return value;
  };
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::string_view key : kRequired)
    rows.emplace_back(key, key == "model" ? record.plan.model.filename().string() : take(std::string(key)));
  rows.emplace_back("hone", record.hone_version);
  rows.emplace_back("run_id", record.id);
  rows.emplace_back("start", record.created);
  rows.emplace_back("end", record.ended);
  rows.emplace_back("seed", std::to_string(record.plan.seed));
  for (auto& [key, value] : known) rows.emplace_back(key, value);
  rows.emplace_back("threads", record.plan.threads == 0 ? "all" : std::to_string(record.plan.threads));
  rows.emplace_back("model_path", record.plan.model.string());
  rows.emplace_back("model_sha256", record.model_sha256);
  rows.emplace_back("model_bytes", std::to_string(record.model_bytes));
  rows.emplace_back("data", record.data_source);
  rows.emplace_back("data_sha256", record.protocol ? record.protocol->data_sha256 : "");
  rows.emplace_back("protocol_hash", record.protocol ? record.protocol->hash() : "");
  rows.emplace_back("command_line", record.plan.command_line);
  rows.emplace_back("budget", record.plan.budget_s > 0 ? fmt::format("{:g} s", record.plan.budget_s) : "none");
  rows.emplace_back("goal", record.plan.goal ? record.plan.goal->text() : "none");
  rows.emplace_back("accuracy", record.plan.gate.level);
  rows.emplace_back("keep", std::string(to_text(record.plan.keep)));
  rows.emplace_back("stop_reason", record.stops.empty() ? "" : record.stops[0].reason);
  return rows;
}

std::string manifest_text(const Record& record) {
  std::string out;
  for (const auto& [key, value] : manifest_rows(record)) out += fmt::format("{}: {}\n", key, line(value));
  return out;
}

std::vector<std::string> environment_differences(const std::map<std::string, std::string>& then,
                                                 const std::map<std::string, std::string>& now) {
  auto binds = [](const std::string& key) {
    return key == "device" || key == "cores" || key == "cpu_features" || key.starts_with("engine.");
  };
  std::set<std::string> keys;
  for (const auto& [key, value] : then)
    if (binds(key)) keys.insert(key);
  for (const auto& [key, value] : now)
    if (binds(key)) keys.insert(key);
  auto value_of = [](const std::map<std::string, std::string>& map, const std::string& key) {
    auto found = map.find(key);
    return found == map.end() ? std::string("nothing") : found->second;
  };
  std::vector<std::string> out;
  for (const std::string& key : keys) {
    const std::string was = value_of(then, key), is = value_of(now, key);
    if (was != is) out.push_back(fmt::format("{} was {} and is {}", key, was, is));
  }
  return out;
}

}  // namespace hone::run
