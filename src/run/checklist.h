// Checklist: what must be true of a Run whatever it found (artifacts.md section 9), checked by machine from the Record
// and its files. A failed item makes the exit status 1.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "run/record.h"

namespace hone::run {

struct Check {
  std::string list;  // "trial 3", "delivery", "loop"
  std::string item;  // "four logs"
  bool passed = true;
  std::string note;  // what is wrong
};

// All items of a Run, in a fixed order. Items that can't hold yet in an unfinished Run are left out.
std::vector<Check> checklist(const Record& record);

}  // namespace hone::run
