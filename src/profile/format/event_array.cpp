// The scanner and its use of simdjson. SPDX-License-Identifier: Apache-2.0
#include "profile/format/event_array.h"

#include <fmt/format.h>

#include <cstring>

namespace hone::profile {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

size_t skip_space(std::string_view bytes, size_t at) {
  while (at < bytes.size() && is_space(bytes[at])) ++at;
  return at;
}

// The byte after the object or array that begins at `at`; npos when the file ends inside it.
size_t end_of_value(std::string_view bytes, size_t at) {
  int depth = 0;
  for (; at < bytes.size(); ++at) {
    switch (bytes[at]) {
      case '"':
        for (++at; at < bytes.size() && bytes[at] != '"'; ++at)
          if (bytes[at] == '\\') ++at;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
  }
  return std::string_view::npos;
}

// The byte after the "[" of the events.
Result<size_t> array_start(std::string_view bytes, const std::string& where) {
  size_t at = bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  at = skip_space(bytes, at);
  if (at < bytes.size() && bytes[at] == '[') return at + 1;
  constexpr std::string_view kKey = "\"traceEvents\"";
  if (at < bytes.size() && bytes[at] == '{') {
    const size_t key = bytes.find(kKey, at);
    if (key != std::string_view::npos) {
      const size_t colon = skip_space(bytes, key + kKey.size());
      const size_t open = colon < bytes.size() && bytes[colon] == ':' ? skip_space(bytes, colon + 1) : bytes.size();
      if (open < bytes.size() && bytes[open] == '[') return open + 1;
    }
  }
  return fail(bad_input(fmt::format("no JSON array of events at byte {}", at), where));
}

class EventParser {
 public:
  explicit EventParser(std::string_view bytes) : bytes_(bytes) {}

  // Parses in place where simdjson may read its padding beyond the object, else in a copy.
  simdjson::error_code parse(size_t begin, size_t end,
                             const std::function<simdjson::error_code(simdjson::ondemand::object)>& event) {
    const char* data = bytes_.data() + begin;
    const size_t size = end - begin;
    size_t capacity = bytes_.size() - begin;
    if (capacity < size + simdjson::SIMDJSON_PADDING) {
      copy_.assign(size + simdjson::SIMDJSON_PADDING, '\0');
      std::memcpy(copy_.data(), data, size);
      data = copy_.data();
      capacity = copy_.size();
    }
    simdjson::ondemand::document document;
    if (auto error = parser_.iterate(data, size, capacity).get(document)) return error;
    simdjson::ondemand::object object;
    if (auto error = document.get_object().get(object)) return error;
    return event(object);
  }

 private:
  std::string_view bytes_;
  std::vector<char> copy_;
  simdjson::ondemand::parser parser_;
};

void add_skipped(EventArray& walked, size_t at, std::string_view why) {
  walked.skipped += 1;
  if (walked.examples.size() < 3) walked.examples.push_back(fmt::format("byte {}: {}", at, why));
}

}  // namespace

Result<EventArray> for_each_event(std::string_view bytes, const std::string& where,
                                  const std::function<simdjson::error_code(simdjson::ondemand::object)>& event) {
  EventArray walked;
  EventParser parser(bytes);
  size_t at = HONE_TRY(array_start(bytes, where));
  for (;;) {
    at = skip_space(bytes, at);
    if (at < bytes.size() && bytes[at] == ',') at = skip_space(bytes, at + 1);
    if (at >= bytes.size()) {
      walked.cut_at = bytes.size();
      break;
    }
    if (bytes[at] == ']') break;
    if (bytes[at] != '{') return fail(bad_input(fmt::format("not an event at byte {}", at), where));
    const size_t end = end_of_value(bytes, at);
    if (end == std::string_view::npos) {
      walked.cut_at = at;
      break;
    }
    walked.events += 1;
    if (auto error = parser.parse(at, end, event)) add_skipped(walked, at, simdjson::error_message(error));
    at = end;
  }
  // Source of the 1 %: design of the profile reader, "a row that can't be parsed is counted; more than 1 % refused".
  if (walked.skipped * 100 > walked.events)
    return fail(bad_input(
        fmt::format("{} of {} events can't be read; {}", walked.skipped, walked.events, walked.examples.front()),
        where));
  return walked;
}

std::vector<std::string> notes_of(const EventArray& walked) {
  std::vector<std::string> notes;
  if (walked.cut_at)
    notes.push_back(fmt::format("the file is cut off at byte {}: the {} whole events before it are used",
                                *walked.cut_at, walked.events));
  if (walked.skipped > 0)
    notes.push_back(
        fmt::format("{} of {} events skipped; {}", walked.skipped, walked.events, fmt::join(walked.examples, "; ")));
  return notes;
}

}  // namespace hone::profile
