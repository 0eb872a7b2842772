// Event array: walks the objects of a JSON array of trace events ("[{...},{...}]", bare or under "traceEvents").
//
// Why not one parse of the whole document: profiles are long, and runs that are killed leave them cut off. A small
// scanner finds where each object ends; simdjson parses it in place. Memory stays constant, whole events before a cut
// are kept, and every complaint has its byte offset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone::profile {

struct EventArray {
  int64_t events = 0;                 // whole objects seen
  int64_t skipped = 0;                // of them, refused by simdjson or the callback
  std::optional<size_t> cut_at;       // byte where the file ends before the array does
  std::vector<std::string> examples;  // the first three skipped: "byte 123: why"
};

// Calls `event` with each object; false = skip it (counted). `where` goes into the error: not an array of objects, or
// more than 1 % of the events skipped (a file we don't understand is refused rather than half read).
Result<EventArray> for_each_event(std::string_view bytes, const std::string& where,
                                  const std::function<simdjson::error_code(simdjson::ondemand::object)>& event);

// Adds what was cut off or skipped to a profile's notes.
std::vector<std::string> notes_of(const EventArray& walked);

}  // namespace hone::profile
