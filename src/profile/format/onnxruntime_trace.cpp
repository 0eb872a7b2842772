// ONNX Runtime's profile: one JSON array of events, written at the end of profiling.
//
// Facts (read in files of 1.16-1.32): "Session" events are host work ("model_run" is one inference); "Node" events
// named
// "<node>_kernel_time" are kernels, and "_fence_before", "_fence_after" of old versions are no work. Times are whole
// microseconds. Rows come in order of their end, so a control-flow row follows the rows of its body. Arguments are
// strings, but the shapes: [{"float":[1,3]},...]. A node without a name is called "<op type>_<index in the file>".
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "profile/format.h"
#include "profile/format/event_array.h"

namespace hone::profile {

namespace {

namespace json = simdjson::ondemand;
using simdjson::error_code;

constexpr std::string_view kKernelSuffix = "_kernel_time";
constexpr int64_t kMicrosecond = 1000;
// What can't be a time: beyond the year 2096 as a start (also since 1970), three hours as a length. It keeps sums of
// nanoseconds inside 64 bits.
constexpr int64_t kLatestUs = 4'000'000'000'000'000, kLongestUs = 10'000'000'000;

// One event, before it is known what it is.
struct Event {
  std::string category, name, type, shapes, dtypes, output_shapes, output_dtypes;
  int64_t start_us = 0, duration_us = 0, thread = 0;
  void clear() {
    for (std::string* text : {&category, &name, &type, &shapes, &dtypes, &output_shapes, &output_dtypes}) text->clear();
    start_us = duration_us = thread = 0;
  }
};

std::string_view numpy_word(std::string_view ort_type) {
  if (ort_type == "float") return "float32";
  if (ort_type == "double") return "float64";
  return ort_type;
}

// [{"float":[1,3]},{"int64":[]}] -> shapes "1x3," and dtypes "float32,int64".
error_code read_types(json::value value, std::string& shapes, std::string& dtypes) {
  json::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return simdjson::SUCCESS;  // older versions: text
  bool first = true;
  for (auto item : list) {
    json::object object;
    if (auto error = item.get_object().get(object)) return error;
    for (auto field : object) {
      std::string_view type;
      if (auto error = field.unescaped_key().get(type)) return error;
      if (!first) shapes += ',', dtypes += ',';
      first = false;
      dtypes += numpy_word(type);
      json::array dims;
      if (auto error = field.value().get_array().get(dims)) return error;
      bool first_dim = true;
      for (auto dim : dims) {
        int64_t number = 0;
        if (auto error = dim.get_int64().get(number)) return error;
        fmt::format_to(std::back_inserter(shapes), "{}{}", first_dim ? "" : "x", number);
        first_dim = false;
      }
    }
  }
  return simdjson::SUCCESS;
}

error_code read_text(json::value value, std::string& out) {
  std::string_view text;
  const error_code error = value.get_string().get(text);
  if (!error) out = text;
  return error;
}

error_code read_arguments(json::object arguments, Event& event) {
  for (auto field : arguments) {
    std::string_view key;
    if (auto error = field.unescaped_key().get(key)) return error;
    error_code error = simdjson::SUCCESS;
    if (key == "op_name")
      error = read_text(field.value(), event.type);
    else if (key == "input_type_shape")
      error = read_types(field.value(), event.shapes, event.dtypes);
    else if (key == "output_type_shape")
      error = read_types(field.value(), event.output_shapes, event.output_dtypes);
    if (error) return error;
  }
  return simdjson::SUCCESS;
}

error_code read_event(json::object object, Event& event) {
  event.clear();
  for (auto field : object) {
    std::string_view key;
    if (auto error = field.unescaped_key().get(key)) return error;
    json::value value = field.value();
    error_code error = simdjson::SUCCESS;
    if (key == "cat")
      error = read_text(value, event.category);
    else if (key == "name")
      error = read_text(value, event.name);
    else if (key == "ts")
      error = value.get_int64().get(event.start_us);
    else if (key == "dur")
      error = value.get_int64().get(event.duration_us);
    else if (key == "tid")
      error = value.get_int64().get(event.thread);
    else if (key == "args") {
      json::object arguments;
      if (!(error = value.get_object().get(arguments))) error = read_arguments(arguments, event);
    }
    if (error) return error;
  }
  if (event.duration_us < 0 || event.duration_us > kLongestUs || event.start_us < -kLatestUs ||
      event.start_us > kLatestUs)
    return simdjson::NUMBER_OUT_OF_RANGE;
  return event.category.empty() || event.name.empty() ? simdjson::NO_SUCH_FIELD : simdjson::SUCCESS;
}

class Reader {
 public:
  error_code add(json::object object) {
    if (auto error = read_event(object, event_)) return error;
    if (event_.category == "Node")
      add_node();
    else if (event_.category == "Session")
      add_span();
    return simdjson::SUCCESS;
  }

  Profile finish() {
    std::sort(profile_.steps.begin(), profile_.steps.end(), by_start);
    std::sort(profile_.host.begin(), profile_.host.end(), by_start);
    for (size_t i = 0; i < profile_.steps.size(); ++i) profile_.steps[i].step = static_cast<int32_t>(i);
    for (Kernel& kernel : profile_.kernels) kernel.step = step_at(kernel.start_ns, kernel.stream);
    for (HostSpan& span : profile_.host) span.step = step_at(span.start_ns, span.thread);
    for (Capability c : {Capability::kTimeline, Capability::kHost, Capability::kThreads, Capability::kNodeNames})
      profile_.add(c);
    if (!profile_.steps.empty()) profile_.add(Capability::kSteps);
    profile_.resolution_ns = kMicrosecond;
    mark_nested(profile_);
    return std::move(profile_);
  }

 private:
  static bool by_start(const HostSpan& a, const HostSpan& b) { return a.start_ns < b.start_ns; }

  void add_node() {
    std::string_view name = event_.name;
    if (!name.ends_with(kKernelSuffix)) return;  // a fence
    name.remove_suffix(kKernelSuffix.size());
    Strings& strings = profile_.strings;
    Kernel kernel;
    kernel.start_ns = event_.start_us * kMicrosecond;
    kernel.duration_ns = event_.duration_us * kMicrosecond;
    kernel.name = kernel.node = strings.intern(name);
    kernel.type = strings.intern(event_.type);
    kernel.shapes = strings.intern(event_.shapes);
    kernel.dtypes = strings.intern(event_.dtypes);
    kernel.output_shapes = strings.intern(event_.output_shapes);
    kernel.output_dtypes = strings.intern(event_.output_dtypes);
    kernel.stream = stream(event_.thread);
    if (!event_.dtypes.empty()) profile_.add(Capability::kShapes);
    profile_.kernels.push_back(kernel);
  }

  void add_span() {
    const HostSpan span{event_.start_us * kMicrosecond, event_.duration_us * kMicrosecond,
                        profile_.strings.intern(event_.name), stream(event_.thread)};
    (event_.name == "model_run" ? profile_.steps : profile_.host).push_back(span);
  }

  // Threads as small numbers, in order of appearance: system ids mean nothing to a reader.
  int32_t stream(int64_t thread) {
    return streams_.try_emplace(thread, static_cast<int32_t>(streams_.size())).first->second;
  }

  // The inference a time lies in; of overlapping ones (a session run by several threads) the one of the same thread.
  int32_t step_at(int64_t time, int32_t thread) const {
    const auto& steps = profile_.steps;
    auto after = std::upper_bound(steps.begin(), steps.end(), time,
                                  [](int64_t t, const HostSpan& step) { return t < step.start_ns; });
    int32_t found = -1;
    constexpr int kConcurrent = 64;  // own choice: how far back a still running inference is looked for
    for (int i = 0; i < kConcurrent && after != steps.begin(); ++i) {
      const HostSpan& step = *--after;
      if (time > step.start_ns + step.duration_ns) continue;
      if (found < 0) found = step.step;
      if (step.thread == thread) return step.step;
    }
    return found;
  }

  Profile profile_;
  Event event_;
  std::unordered_map<int64_t, int32_t> streams_;
};

}  // namespace

Likelihood sniff_onnxruntime_trace(const Input& input) {
  const std::string_view head = input.head();
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '[') return Likelihood::kNo;
  constexpr std::array<std::string_view, 5> kMarks = {"\"session_initialization\"", "\"model_run\"", "\"model_loading",
                                                      "_kernel_time\"", "SequentialExecutor"};
  for (std::string_view mark : kMarks)
    if (head.find(mark) != std::string_view::npos) return Likelihood::kSure;
  return Likelihood::kNo;
}

Result<Profile> read_onnxruntime_trace(const Input& input) {
  Reader reader;
  const EventArray walked =
      HONE_TRY(for_each_event(input.bytes, input.path.string(), [&](json::object event) { return reader.add(event); }));
  Profile profile = reader.finish();
  profile.rows_skipped = walked.skipped;
  profile.notes = notes_of(walked);
  if (profile.kernels.empty())
    return fail(bad_input("no kernel rows in the profile", input.path.string(), "profile at least one inference"));
  if (profile.steps.empty()) profile.notes.push_back("no model_run rows: inferences are not told apart");
  return profile;
}

}  // namespace hone::profile
