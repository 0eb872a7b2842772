// SPDX-License-Identifier: Apache-2.0
#include "model/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/onnx_tensor.h"

namespace hone::model {

namespace {

constexpr const char* kStayInside = "external data must lie in the model's folder";

Result<uint64_t> parse_number(const std::string& text, const char* key, const std::string& where) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || code != std::errc())
    return fail(bad_input(fmt::format("external data has a bad {}: '{}'", key, text), where));
  return value;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalData::file(const std::string& location, const std::string& where) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  const fs::path relative(location);
  const bool climbs = std::ranges::any_of(relative, [](const fs::path& part) { return part == ".."; });
  if (location.empty()) return fail(bad_input("external data has no location", where));
  if (location.find('\0') != std::string::npos) return fail(bad_input("external data has a bad location", where));
  if (relative.is_absolute())
    return fail(bad_input("external data has an absolute path: '" + location + "'", where, kStayInside));
  if (climbs) return fail(bad_input("external data has a path with '..': '" + location + "'", where, kStayInside));
  std::error_code code;
  const fs::path inside = fs::canonical(folder_.empty() ? fs::path(".") : folder_, code);
  const fs::path target = code ? fs::path() : fs::canonical(inside / relative, code);
  if (code)
    return fail(bad_input("external data can't be found: '" + location + "' (" + code.message() + ")", where,
                          "put the file into the model's folder"));
  const auto [rest, ignored] = std::mismatch(inside.begin(), inside.end(), target.begin(), target.end());
  if (rest != inside.end())
    return fail(bad_input("external data is a link out of the model's folder: '" + location + "'", where, kStayInside));
  auto file = MappedFile::open(target);
  if (!file) return fail(std::move(file).error().with(where));
  return files_[location] = *file;
}

Result<Payload> ExternalData::range(const onnx::TensorProto& proto, const std::string& where) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = HONE_TRY(parse_number(entry.value(), "offset", where));
    if (entry.key() == "length") length = HONE_TRY(parse_number(entry.value(), "length", where));
  }
  const std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  const int64_t count = element_count(dims);
  if (count < 0) return fail(bad_input("tensor has a negative or too large dimension", where));
  const uint64_t size = packed_size(static_cast<DType>(proto.data_type()), count);
  if (length && *length != size)
    return fail(bad_input(fmt::format("external data does not fit its shape: {} bytes, but {} takes {}", *length,
                                      shape_text(static_cast<DType>(proto.data_type()), dims), size),
                          where));
  const auto mapping = HONE_TRY(file(location, where));
  const uint64_t available = mapping->bytes().size();
  if (offset > available || size > available - offset)
    return fail(bad_input(fmt::format("external data reaches past the end of '{}': {} bytes at {}, file has {}",
                                      location, size, offset, available),
                          where));
  return Payload{mapping->bytes().subspan(offset, size), mapping, mapping};
}

}  // namespace hone::model
