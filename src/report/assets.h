// Files that report.html carries inside itself, taken into the program at build time: ECharts, the page's script,
// style. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace hone::report {

std::string_view echarts_js();
std::string_view report_js();
std::string_view report_css();

}  // namespace hone::report
