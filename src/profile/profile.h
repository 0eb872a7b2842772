// Profile: kernels on a timeline, from any profiler, in one in-memory form (struct of tables; perfetto's idea).
//
// Times are int64 nanoseconds from the start of the capture: 16-digit microseconds don't fit a double
// (ascend_profiles.md). Strings are interned: a row is small, so that millions fit. What a source can't tell is not 0
// but a missing capability. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace hone::profile {

using StringId = uint32_t;  // 0 = ""

class Strings {
 public:
  StringId intern(std::string_view text);
  std::string_view text(StringId id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string> texts_{""};
  std::unordered_map<std::string, StringId> ids_{{"", 0}};
};

enum class Capability : uint32_t {
  kTimeline = 1u << 0,   // start times, not only sums
  kShapes = 1u << 1,     // input shapes per kernel
  kHost = 1u << 2,       // host-side rows (framework, launches)
  kSteps = 1u << 3,      // iterations are marked
  kThreads = 1u << 4,    // which thread or stream ran a kernel
  kNodeNames = 1u << 5,  // kernels name the model's node
};

struct Kernel {
  int64_t start_ns = 0, duration_ns = 0;
  StringId name = 0;    // as the profiler wrote it
  StringId type = 0;    // operator type: "MatMul"
  StringId node = 0;    // the model's node, when known
  StringId shapes = 0;  // "1x384x768,768x768"
  StringId dtypes = 0;
  int32_t stream = 0;  // stream or thread
  int32_t step = -1;   // iteration, -1 unknown
};

// A host-side interval that is not a kernel (one inference, framework work).
struct HostSpan {
  int64_t start_ns = 0, duration_ns = 0;
  StringId name = 0;
  int32_t thread = 0;
  int32_t step = -1;
};

struct Profile {
  std::string format;  // id in formats.def
  std::vector<fs::path> files;
  uint32_t capabilities = 0;
  Strings strings;
  std::vector<Kernel> kernels;  // ordered by start
  std::vector<HostSpan> steps;  // whole inferences, ordered
  std::vector<HostSpan> host;
  int64_t rows_skipped = 0;
  std::vector<std::string> notes;  // what was skipped and why
  bool has(Capability c) const { return (capabilities & static_cast<uint32_t>(c)) != 0; }
};

// Reads any supported profile, sniffed by content.
Result<Profile> read(const fs::path& path);

}  // namespace hone::profile
