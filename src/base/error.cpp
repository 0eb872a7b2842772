// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <fmt/format.h>

namespace hone {

Error Error::with(std::string more) && {
  context.push_back(std::move(more));
  return std::move(*this);
}

namespace {

std::string one_line(const std::string& text) {
  std::string out;
  for (unsigned char c : text) {
    if (c == '\n')
      out += "; ";
    else if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else
      out += static_cast<char>(c);
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == ';')) out.pop_back();
  return out;
}

}  // namespace

std::string Error::line() const {
  std::string out = what;
  if (!where.empty()) out += ": " + where;
  for (const auto& c : context) out += " (" + c + ")";
  if (!todo.empty()) out += "; " + todo;
  return one_line(out);
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kBadInput:
    case ErrorKind::kUnsupported:
    case ErrorKind::kIo:
      return 2;
    case ErrorKind::kToolFailed:
    case ErrorKind::kTimedOut:
      return 3;
    case ErrorKind::kInterrupted:
      return 130;
    case ErrorKind::kInternal:
      break;
  }
  return 70;
}

#define HONE_ERROR_MAKER(function, kind_value)                                   \
  Error function(std::string what, std::string where, std::string todo) {        \
    return {kind_value, std::move(what), std::move(where), std::move(todo), {}}; \
  }
HONE_ERROR_MAKER(usage_error, ErrorKind::kUsage)
HONE_ERROR_MAKER(bad_input, ErrorKind::kBadInput)
HONE_ERROR_MAKER(unsupported, ErrorKind::kUnsupported)
HONE_ERROR_MAKER(tool_failed, ErrorKind::kToolFailed)
HONE_ERROR_MAKER(timed_out, ErrorKind::kTimedOut)
HONE_ERROR_MAKER(io_error, ErrorKind::kIo)
HONE_ERROR_MAKER(interrupted, ErrorKind::kInterrupted)
HONE_ERROR_MAKER(internal_error, ErrorKind::kInternal)
#undef HONE_ERROR_MAKER

}  // namespace hone
