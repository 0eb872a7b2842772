// HONE_CHECK: a promise inside the program. Broken = a bug in hone: it stops with the values. Never for input.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdlib>

#define HONE_CHECK(condition, ...)                                                                                    \
  do {                                                                                                                \
    if (!(condition)) {                                                                                               \
      fmt::print(stderr, "hone: internal error: {}:{}: {} does not hold. " __VA_OPT__("{}") "\n", __FILE__, __LINE__, \
                 #condition __VA_OPT__(, fmt::format(__VA_ARGS__)));                                                  \
      std::abort();                                                                                                   \
    }                                                                                                                 \
  } while (false)
