// Progress of long work on standard error: one line that is rewritten on a terminal, plain lines now and then when
// piped, nothing with --quiet. Colours only on terminals (and not when NO_COLOR is set).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "measure/measure.h"

namespace hone::cli {

class Progress {
 public:
  Progress(std::string title, bool enabled);
  ~Progress() { done(); }
  Progress(const Progress&) = delete;
  // Replaces the line.
  void show(const std::string& text);
  // Prints a line that stays.
  void line(const std::string& text);
  // Removes the progress line.
  void done();
  // Lets a comparison or measurement report here.
  void attach(measure::Progress& progress);

 private:
  std::string title_;
  bool enabled_, terminal_;
  bool shown_ = false;
  double last_s_ = -1e9;
};

bool terminal_colours(int descriptor);

}  // namespace hone::cli
