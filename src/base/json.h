// The JSON type of hone, and parsing that returns an Error with the byte where it went wrong.
// Objects keep the order in which keys were added, so that documents read well and golden files are stable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/result.h"

namespace hone {

using Json = nlohmann::ordered_json;

// Parses UTF-8 JSON; `where` (a file name) goes into the error.
Result<Json> parse_json(std::string_view text, std::string where);
Result<Json> read_json(const fs::path& path);
// Dumps with two spaces of indent and a final newline; bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const Json& value);
// The same on one line, for line protocols and hashes.
std::string dump_json_line(const Json& value);

// Reads a field of an object; the error names the field. Missing or of another type = bad_input.
template <class T>
Result<T> json_field(const Json& object, const char* key) {
  try {
    return object.at(key).get<T>();
  } catch (const nlohmann::json::exception& e) {
    return fail(bad_input(std::string("JSON field missing or of the wrong type: ") + key, {}, e.what()));
  }
}

// Makes a T of a document with `read(&made)`, which may use the accessors of the JSON type that throw; what they throw
// becomes the Error "damaged `what`".
template <class T, class Read>
Result<T> json_document(const char* what, Read read) {
  try {
    T made;
    read(&made);
    return made;
  } catch (const nlohmann::json::exception& e) {
    return fail(bad_input(std::string("damaged ") + what, {}, e.what()));
  }
}

}  // namespace hone
