// SPDX-License-Identifier: Apache-2.0
#include "engine/message.h"

#include <cctype>
#include <regex>

namespace hone::engine {

namespace {

// Finds the end of a C++ signature that starts at `at`: past the matching parenthesis of its parameter list, trailing
// "const"/"noexcept", a "[with T = ...]" of a template. Returns `at` when there is none.
size_t skip_signature(const std::string& text, size_t at) {
  size_t i = text.find('(', at);
  // A signature is one line and names a function before the parenthesis; "operator()" is the one name with its own.
  if (i == std::string::npos) return at;
  if (i >= 8 && text.compare(i - 8, 10, "operator()") == 0) i = text.find('(', i + 2);
  int depth = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) break;
  }
  if (i >= text.size()) return at;
  ++i;
  for (const char* word : {" const", " noexcept"})
    if (text.compare(i, std::char_traits<char>::length(word), word) == 0) i += std::char_traits<char>::length(word);
  if (text.compare(i, 6, " [with") == 0) i = text.find(']', i) == std::string::npos ? i : text.find(']', i) + 1;
  return i;
}

// Cuts every "/onnxruntime_src/.../model.cc:182 ns::Type ns::f(args) const " out of a message.
std::string without_source_places(std::string text) {
  static const std::regex place(R"((\S*/)?[\w.+-]+\.(cc|cpp|h|hpp):\d+:?)");
  for (std::smatch found; std::regex_search(text, found, place);) {
    // "failed:/onnxruntime_src/..." : the word before the path belongs to the message.
    size_t begin = static_cast<size_t>(found.position());
    const size_t slash = text.find('/', begin);
    if (const size_t colon = text.rfind(':', slash);
        colon != std::string::npos && colon >= begin && slash < begin + static_cast<size_t>(found.length()))
      begin = colon + 1;
    const size_t after = static_cast<size_t>(found.position() + found.length());
    const size_t end = skip_signature(text, after);
    text = text.substr(0, begin) + " " + text.substr(std::min(end, text.size()));
  }
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
  static const std::regex wrapper(
      R"(^(Exception from .*|Check '.*' failed at .*|While validating .*|.*\bstacktrace\b.*|#\d+ .*|While validating node '.*)$)");
  return line.empty() || std::regex_match(line, wrapper);
}

}  // namespace

std::string first_meaningful_line(std::string_view message) {
  constexpr size_t kLimit = 400;  // a terminal shows four lines of it
  std::string first, best;
  for (size_t at = 0; at <= message.size() && best.empty();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    const std::string line = tidy(without_source_places(std::string(message.substr(at, end - at))));
    if (first.empty()) first = line;
    if (!is_wrapper(line)) best = line;
    at = end + 1;
  }
  if (best.empty()) best = first.empty() ? "the engine failed without a message" : first;
  if (best.size() > kLimit) best = best.substr(0, kLimit) + " ...";
  return best;
}

}  // namespace hone::engine
