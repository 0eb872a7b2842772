// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "base/clock.h"
#include "cli/log.h"

namespace hone::cli {

namespace {

// Own choice: a piped log gets a progress line at most this often.
constexpr double kPipedEvery_s = 10;

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

bool terminal_colours(int descriptor) { return ::isatty(descriptor) == 1 && std::getenv("NO_COLOR") == nullptr; }

Progress::Progress(std::string title, bool enabled)
    : title_(std::move(title)), enabled_(enabled), terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::show(const std::string& text) {
  std::string out = title_.empty() ? text : title_ + ": " + text;
  log_detail(out);
  if (!enabled_ || log_is_verbose()) return;
  const double now = static_cast<double>(steady_clock().now_ns()) / 1e9;
  if (terminal_) {
    if (out.size() >= terminal_width()) out.resize(terminal_width() - 1);
    fmt::print(stderr, "\r\033[K{}", out);
    std::fflush(stderr);
    shown_ = true;
  } else if (now - last_s_ >= kPipedEvery_s) {
    last_s_ = now;
    fmt::print(stderr, "{}\n", out);
  }
}

void Progress::line(const std::string& text) {
  done();
  log_line(text, enabled_);
}

void Progress::done() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

void Progress::attach(measure::Progress& progress) {
  progress.on_pair = [this](int pairs, const measure::Look* look) {
    if (look == nullptr)
      show(fmt::format("{} fresh process pairs", pairs));
    else
      show(fmt::format("{} fresh process pairs, ratio {:.3f} [{:.3f}, {:.3f}]", pairs, std::exp(look->mean),
                       std::exp(look->low), std::exp(look->high)));
  };
}

}  // namespace hone::cli
