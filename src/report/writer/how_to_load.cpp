// best/how_to_load.md, best/load.py and best/load.cpp: how the result is used.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/load_snippet.h"
#include "report/sentences.h"
#include "run/best.h"

namespace hone::report {

std::string load_python(const run::Record& record) { return python_snippet(record); }
std::string load_cpp(const run::Record& record) { return cpp_snippet(record); }

std::string how_to_load(const run::Record& record) {
  std::string out = "# How to load this model\n\n" + headline(record) + "\n\n";
  const run::Trial* best = record.best();
  if (best == nullptr) return out;
  out += fmt::format("Engine: {}. Settings:\n\n", best->configuration.engine);
  if (best->configuration.settings.empty()) out += "- the engine's defaults\n";
  for (const auto& [id, value] : best->configuration.settings)
    out += fmt::format("- `{}` = `{}`\n", escape_markdown_cell(id), escape_markdown_cell(value));
  if (record.protocol && !record.protocol->shapes.empty()) {
    out += "\nMeasured with these input shapes:\n\n";
    for (const auto& [name, dims] : record.protocol->shapes)
      out += fmt::format("- `{}`: {}\n", escape_markdown_cell(name), fmt::join(dims, " x "));
  }
  const std::string prefix = environment_prefix(best->configuration.settings);
  if (!prefix.empty()) out += fmt::format("\nThe process needs this in its environment from the start: `{}`\n", prefix);
  out += "\n## Python (`load.py`)\n\n```python\n" + python_snippet(record) + "```\n";
  out += "\n## C++ (`load.cpp`)\n\n```cpp\n" + cpp_snippet(record) + "```\n";
  out += fmt::format("\nhone itself measures it with `hone bench {} --config settings.json`.\n",
                     escape_markdown_cell(run::best_model_name(record)));
  return out;
}

}  // namespace hone::report
