// SPDX-License-Identifier: Apache-2.0
#include "report/assets.h"

// The assembler includes the bytes: a megabyte of JavaScript as a C++ string literal would be neither quick nor legal.
#define HONE_ASSET(name, path)                                                                                     \
  __asm__(".section .rodata\n.global hone_" #name "\n.global hone_" #name "_end\nhone_" #name ":\n.incbin \"" path \
          "\"\nhone_" #name "_end:\n.byte 0\n.previous\n");                                                        \
  extern "C" const char hone_##name[];                                                                             \
  extern "C" const char hone_##name##_end[];

HONE_ASSET(echarts_js, HONE_ECHARTS_JS)
HONE_ASSET(report_js, HONE_REPORT_FOLDER "/page/report.js")
HONE_ASSET(report_css, HONE_REPORT_FOLDER "/page/report.css")
HONE_ASSET(onnxruntime_py, HONE_REPORT_FOLDER "/snippet/onnxruntime.py.in")
HONE_ASSET(onnxruntime_cpp, HONE_REPORT_FOLDER "/snippet/onnxruntime.cpp.in")
HONE_ASSET(openvino_py, HONE_REPORT_FOLDER "/snippet/openvino.py.in")
HONE_ASSET(openvino_cpp, HONE_REPORT_FOLDER "/snippet/openvino.cpp.in")

namespace hone::report {

namespace {

std::string_view text(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

}  // namespace

std::string_view echarts_js() { return text(hone_echarts_js, hone_echarts_js_end); }
std::string_view report_js() { return text(hone_report_js, hone_report_js_end); }
std::string_view report_css() { return text(hone_report_css, hone_report_css_end); }

std::string_view onnxruntime_py() { return text(hone_onnxruntime_py, hone_onnxruntime_py_end); }
std::string_view onnxruntime_cpp() { return text(hone_onnxruntime_cpp, hone_onnxruntime_cpp_end); }
std::string_view openvino_py() { return text(hone_openvino_py, hone_openvino_py_end); }
std::string_view openvino_cpp() { return text(hone_openvino_cpp, hone_openvino_cpp_end); }

}  // namespace hone::report
