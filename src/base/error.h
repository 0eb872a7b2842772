// Error: what went wrong, where, and what to do about it, as a value.
//
// Failure is a result in this program (an engine that crashes is a failed Trial that is stored and learned from),
// so errors travel as values (see result.h). An Error prints as one line: "what: where: what to do".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hone {

enum class ErrorKind {
  kUsage,        // wrong command line
  kBadInput,     // a file or value the user gave can't be used
  kUnsupported,  // valid, but hone can't do it
  kToolFailed,   // an engine or an external tool failed
  kTimedOut,     // an engine or tool ran over its limit
  kIo,           // the file system refused (full, not writable)
  kInterrupted,  // a signal asked us to stop
  kInternal,     // a bug in hone
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string what;                  // static words first, values last
  std::string where;                 // file, line, row, node or field; may be empty
  std::string todo;                  // what the user can do; may be empty
  std::vector<std::string> context;  // added on the way up, innermost first

  // Returns the error with one more context ("reading samples"); use it where a reader would ask "which file?".
  Error with(std::string more) &&;
  // Returns the whole error as one line without a trailing newline; control characters are escaped.
  std::string line() const;
};

// Returns the process exit status of product.md for this kind: 2, 3, 70 or 130.
int exit_status(ErrorKind kind);

Error usage_error(std::string what, std::string where = {}, std::string todo = {});
Error bad_input(std::string what, std::string where = {}, std::string todo = {});
Error unsupported(std::string what, std::string where = {}, std::string todo = {});
Error tool_failed(std::string what, std::string where = {}, std::string todo = {});
Error timed_out(std::string what, std::string where = {}, std::string todo = {});
Error io_error(std::string what, std::string where = {}, std::string todo = {});
Error interrupted(std::string what, std::string where = {}, std::string todo = {});
Error internal_error(std::string what, std::string where = {}, std::string todo = {});

}  // namespace hone
