// Result<T>: a value or an Error. Debian 12's compiler has no std::expected in C++20; one alias changes when it does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

#include "base/error.h"

namespace hone {

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// Makes a failed Result from an Error: `return fail(bad_input("not a model", path));`
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace hone

// Evaluates an expression of type Result<T>; gives its value, or returns its error from the current function.
// A GNU statement expression, so that it can stand inside an expression.
#define HONE_TRY(...)                                                              \
  __extension__({                                                                  \
    auto hone_try_result = (__VA_ARGS__);                                          \
    if (!hone_try_result) return ::hone::fail(std::move(hone_try_result).error()); \
    ::hone::detail::take(hone_try_result);                                         \
  })

namespace hone::detail {
template <class T>
T take(Result<T>& result) {
  return std::move(*result);
}
inline void take(Result<void>&) {}
}  // namespace hone::detail
