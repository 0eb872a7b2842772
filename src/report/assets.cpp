// SPDX-License-Identifier: Apache-2.0
#include "report/assets.h"

// The assembler includes the bytes: a megabyte of JavaScript as a C++ string literal would be neither quick nor legal.
#define HONE_ASSET(name, path)                                                                                     \
  __asm__(".section .rodata\n.global hone_" #name "\n.global hone_" #name "_end\nhone_" #name ":\n.incbin \"" path \
          "\"\nhone_" #name "_end:\n.byte 0\n.previous\n");                                                        \
  extern "C" const char hone_##name[];                                                                             \
  extern "C" const char hone_##name##_end[];

HONE_ASSET(echarts_js, HONE_ECHARTS_JS)
HONE_ASSET(report_js, HONE_REPORT_PAGE "/report.js")
HONE_ASSET(report_css, HONE_REPORT_PAGE "/report.css")

namespace hone::report {

namespace {

std::string_view text(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

}  // namespace

std::string_view echarts_js() { return text(hone_echarts_js, hone_echarts_js_end); }
std::string_view report_js() { return text(hone_report_js, hone_report_js_end); }
std::string_view report_css() { return text(hone_report_css, hone_report_css_end); }

}  // namespace hone::report
