// The table made from engines.def, and the look-up by name.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "engine/engine.h"
#include "engine/suggest.h"

namespace hone::engine {

#define HONE_ENGINE(id) const Engine& id##_engine();
#include "engine/engines.def"
#undef HONE_ENGINE

const std::vector<const Engine*>& all_engines() {
  static const std::vector<const Engine*> engines = {
#define HONE_ENGINE(id) &id##_engine(),
#include "engine/engines.def"
#undef HONE_ENGINE
  };
  return engines;
}

bool hidden(const Engine& engine) { return engine.id() == "fake"; }

Result<const Engine*> find_engine(std::string_view id) {
  std::vector<std::string> names;
  for (const Engine* engine : all_engines()) {
    if (engine->id() == id) return engine;
    if (!hidden(*engine)) names.emplace_back(engine->id());
  }
  return fail(usage_error("unknown engine", std::string(id),
                          did_you_mean(id, names, fmt::format("known engines: {}", fmt::join(names, ", ")))));
}

}  // namespace hone::engine
