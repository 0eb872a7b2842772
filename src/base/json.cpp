// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <fmt/format.h>

namespace hone {

Result<Json> parse_json(std::string_view text, std::string where) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    return fail(bad_input(fmt::format("not valid JSON at byte {}", e.byte), std::move(where)));
  } catch (const nlohmann::json::exception& e) {
    return fail(bad_input(fmt::format("not valid JSON ({})", e.what()), std::move(where)));
  }
}

Result<Json> read_json(const fs::path& path) { return parse_json(HONE_TRY(read_file(path)), path.string()); }

std::string dump_json(const Json& value) { return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string dump_json_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace hone
