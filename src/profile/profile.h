// Profile: kernels on a timeline, from any profiler, in one in-memory form (struct of tables; perfetto's idea).
//
// Times are int64 nanoseconds from the start of the capture: 16-digit microseconds don't fit a double. Strings are
// interned: a row is small, so that millions fit. What a source can't tell is not 0 but a missing capability.
//
// Kernels nest (an If or Loop row contains the rows of its body) and overlap (streams, threads). So a sum of durations
// says nothing: times of operators are sums of self_ns, busy time is a union (interval.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
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
  Strings() { intern(""); }
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;
  StringId intern(std::string_view text);
  std::string_view text(StringId id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  // A deque: its strings do not move, so the index can point into them.
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, StringId> ids_;
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
  int64_t self_ns = 0;  // duration without the kernels inside it (bodies of If, Loop, Scan); mark_nested() sets it
  StringId name = 0;    // as the profiler wrote it
  StringId type = 0;    // operator type: "MatMul"
  StringId node = 0;    // the node the engine ran (it may be one the engine made); several, fused: separated by '\n'
  StringId shapes = 0;  // of the inputs: "1x384x768,768x768"; a scalar is ""
  StringId dtypes = 0;  // of the inputs: "float32,float32"
  StringId output_shapes = 0, output_dtypes = 0;
  int32_t stream = 0;    // stream or thread
  int32_t step = -1;     // iteration, -1 unknown
  int32_t children = 0;  // kernels directly inside it; mark_nested() sets it
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
  // The unit of the source's clock: a duration is right to half of it.
  int64_t resolution_ns = 1;
  std::string_view text(StringId id) const { return strings.text(id); }
  void add(Capability c) { capabilities |= static_cast<uint32_t>(c); }
  bool has(Capability c) const { return (capabilities & static_cast<uint32_t>(c)) != 0; }
};

// Reads any supported profile, sniffed by content. A file that is cut off is read as far as it goes, with a note.
Result<Profile> read(const fs::path& path);

// Orders kernels by start (the longer first among equals), and sets self_ns and children: kernels of one stream and
// step that lie inside another are its children. Readers call it last.
void mark_nested(Profile& profile);

}  // namespace hone::profile
