// Environment: what a Run's numbers depend on besides model and data: the machine, engines and their versions, a few
// environment variables. Goes into manifest.txt; what binds (run/manifest.h) is checked again on resume.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hone::loop {

std::string hone_version();
// `engines`: whose versions count.
std::map<std::string, std::string> environment(const std::vector<std::string>& engines);

}  // namespace hone::loop
