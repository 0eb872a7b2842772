// SPDX-License-Identifier: Apache-2.0
#include "engine/message.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace hone::engine {

namespace {

// Finds the end of a C++ signature that starts at `at`: past the parameter list, a trailing "const" or "noexcept", and
// the "[with T = ...]" of a template. Returns `at` when there is none.
size_t skip_signature(const std::string& text, size_t at) {
  size_t i = text.find('(', at);
  if (i == std::string::npos) return at;
  if (i >= 8 && text.compare(i - 8, 10, "operator()") == 0) i = text.find('(', i + 2);
  int depth = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) break;
  }
  if (i >= text.size()) return at;
  ++i;
  for (const std::string_view word : {" const", " noexcept"})
    if (text.compare(i, word.size(), word) == 0) i += word.size();
  if (text.compare(i, 6, " [with") == 0 && text.find(']', i) != std::string::npos) i = text.find(']', i) + 1;
  return i;
}

struct Place {
  size_t begin = std::string::npos, end = 0;
};

// Finds "path/file.cc:123": the path begins after a space or a ':' ("failed:/src/model.cc:182").
Place find_source_place(const std::string& text) {
  for (const std::string_view suffix : {".cc:", ".cpp:", ".h:", ".hpp:"}) {
    for (size_t at = text.find(suffix); at != std::string::npos; at = text.find(suffix, at + 1)) {
      size_t end = at + suffix.size();
      if (end >= text.size() || !std::isdigit(static_cast<unsigned char>(text[end]))) continue;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
      const size_t before = text.find_last_of(" :", at);
      return {before == std::string::npos ? 0 : before + 1, end};
    }
  }
  return {};
}

// Cuts every "/onnxruntime_src/.../model.cc:182 ns::Type ns::f(args) const " out of a message.
std::string without_source_places(std::string text) {
  for (Place place = find_source_place(text); place.begin != std::string::npos; place = find_source_place(text))
    text = text.substr(0, place.begin) + " " + text.substr(skip_signature(text, place.end));
  return text;
}

std::string tidy(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.' || out.back() == ':')) out.pop_back();
  return out;
}

// Lines that only say where in the engine's source something happened.
bool is_wrapper(const std::string& line) {
  if (tidy(line).empty()) return true;
  if (line.starts_with("Check '") && line.find("' failed at ") != std::string::npos) return true;
  static constexpr std::array<std::string_view, 4> kStarts = {"Exception from", "While validating",
                                                              "FrontEnd API failed with", "Summary:"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return line.starts_with(start); });
}

}  // namespace

std::string first_meaningful_line(std::string_view message) {
  constexpr size_t kLimit = 400;       // a terminal shows four lines of it
  constexpr size_t kLineLimit = 4000;  // more of a line can't end in the result
  std::string text, first;
  bool unfinished = true, has_item = false;
  for (size_t at = 0; at <= message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    const std::string line(message.substr(at, std::min(end - at, kLineLimit)));
    at = end + 1;
    if (first.empty()) first = tidy(line);
    if (is_wrapper(line)) continue;
    const bool item = line.starts_with("-- ");
    if (!unfinished && (!item || has_item)) break;
    has_item |= item;
    unfinished = line.ends_with(':');
    text += (text.empty() ? "" : ": ") + tidy(without_source_places(item ? line.substr(3) : line));
  }
  if (text.empty()) text = first.empty() ? "the engine failed without a message" : first;
  if (text.size() > kLimit) text = text.substr(0, kLimit) + " ...";
  return text;
}

}  // namespace hone::engine
