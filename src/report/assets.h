// Files that report.html carries inside itself, taken into the program at build time: ECharts, the page's script,
// style. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace hone::report {

std::string_view echarts_js();
std::string_view report_js();
std::string_view report_css();

// Templates of load.py and load.cpp: {0} environment of the process, {1} settings, {2} model file, further ones differ.
std::string_view onnxruntime_py();
std::string_view onnxruntime_cpp();
std::string_view openvino_py();
std::string_view openvino_cpp();

}  // namespace hone::report
