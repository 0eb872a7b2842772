// Model: writing. Graph -> ModelProto with references -> sizes -> streamed file, weights copied from file to file.
//
// The data file gets a name that is not in use, and the model file is renamed last: whoever reads the folder sees the
// old model with its data or the new one with its own.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "model/model_state.h"
#include "model/splice.h"

namespace hone::model {

namespace {

// The alignment memory-mapping runtimes ask of external data (onnx.proto: "multiple of 4 KB page size").
constexpr uint64_t kDataAlignment = 4096;
constexpr uint64_t kProtobufLimit = std::numeric_limits<int32_t>::max();

// Buffers small writes; copies payloads that lie in a file inside the kernel, so that they never enter our memory.
class FileSink final : public SpliceSink {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}

  Status text(std::string_view bytes) override {
    buffer_ += bytes;
    written_ += bytes.size();
    return buffer_.size() < kBufferBytes ? Status{} : flush();
  }

  Status payload(const Payload& payload) override {
    HONE_TRY(flush());
    written_ += payload.bytes.size();
    auto left = payload.bytes;
    if (payload.file) left = left.subspan(copy_in_kernel(payload));
    HONE_TRY(file_.write(left));
    start_writeback();
    return {};
  }

  Status pad_to(uint64_t offset) {
    const std::string zeros(static_cast<size_t>(offset - written_), '\0');
    return text(zeros);
  }

  Status flush() {
    HONE_TRY(file_.write(std::string_view(buffer_)));
    buffer_.clear();
    return {};
  }

  uint64_t written() const { return written_; }

 private:
  // Returns how many bytes were copied; the caller writes the rest, and meets the reason why the kernel stopped.
  size_t copy_in_kernel(const Payload& payload) const {
    auto offset = static_cast<loff_t>(payload.bytes.data() - payload.file->bytes().data());
    size_t left = payload.bytes.size();
    while (left > 0) {
      const ssize_t n = ::copy_file_range(payload.file->descriptor(), &offset, file_.descriptor(), nullptr, left, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      left -= static_cast<size_t>(n);
    }
    return payload.bytes.size() - left;
  }

  // Lets the disk work while we copy, instead of all at once in the final sync. Only a hint: its result is not needed.
  void start_writeback() {
    constexpr uint64_t kStride = uint64_t{32} << 20;
    if (written_ - started_ < kStride) return;
    ::sync_file_range(file_.descriptor(), static_cast<loff_t>(started_), static_cast<loff_t>(written_ - started_),
                      SYNC_FILE_RANGE_WRITE);
    started_ = written_;
  }

  static constexpr size_t kBufferBytes = size_t{1} << 20;
  AtomicFile& file_;
  std::string buffer_;
  uint64_t written_ = 0;
  uint64_t started_ = 0;
};

void set_external(onnx::TensorProto& tensor, const std::string& location, uint64_t offset, uint64_t length) {
  forget_payload(tensor);
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, std::string value) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  add("location", location);
  add("offset", fmt::format("{}", offset));
  add("length", fmt::format("{}", length));
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// The path of `file` relative to `folder`, when that is where it lies and it is still the file that was mapped.
std::optional<std::string> inside(const MappedFile& file, const fs::path& folder) {
  struct stat mapped {
  }, named{};
  if (::fstat(file.descriptor(), &mapped) != 0 || ::stat(file.path().c_str(), &named) != 0) return std::nullopt;
  if (mapped.st_dev != named.st_dev || mapped.st_ino != named.st_ino) return std::nullopt;
  std::error_code code;
  const fs::path canonical = fs::canonical(folder, code);
  if (code) return std::nullopt;
  const fs::path relative = file.path().lexically_relative(canonical);
  if (relative.empty() || *relative.begin() == ".." || relative == ".") return std::nullopt;
  return relative.generic_string();
}

// "model.onnx.data", or "model.onnx-1.data", ... when that is taken.
fs::path free_data_path(const fs::path& model) {
  std::error_code ignored;
  fs::path path = model.string() + ".data";
  for (int i = 1; fs::exists(path, ignored); ++i) path = fmt::format("{}-{}.data", model.string(), i);
  return path;
}

// Moves tensors out of `proto` into external data: those that lie unchanged beside the target are referred to, the
// others are planned for a new data file.
class ExternalPlan {
 public:
  ExternalPlan(const fs::path& model, const fs::path& source, bool share)
      : folder_(folder_of(model)), data_path_(free_data_path(model)), source_(source), share_(share) {}

  Status place(onnx::GraphProto& graph, const Payloads& payloads, bool attributes) {
    for (auto& tensor : *graph.mutable_initializer()) place_tensor(tensor, payloads);
    for (auto& node : *graph.mutable_node()) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t() && attributes) place_tensor(*attribute.mutable_t(), payloads);
        if (attribute.has_g()) HONE_TRY(place(*attribute.mutable_g(), payloads, attributes));
      }
    }
    return {};
  }

  bool needs_file() const { return !planned_.empty(); }
  const fs::path& data_path() const { return data_path_; }

  Status write(AtomicFile& file) const {
    FileSink sink(file);
    for (const auto& [offset, payload] : planned_) {
      HONE_TRY(sink.pad_to(offset));
      HONE_TRY(sink.payload(payload));
    }
    return sink.flush();
  }

 private:
  void place_tensor(onnx::TensorProto& tensor, const Payloads& payloads) {
    const auto index = payload_of(tensor);
    if (!index) return;
    const Payload& payload = payloads.at(*index);
    if (share_ && payload.file && payload.file->path() != source_) {
      if (const auto location = shared_location(payload.file)) {
        const auto offset = static_cast<uint64_t>(payload.bytes.data() - payload.file->bytes().data());
        return set_external(tensor, *location, offset, payload.bytes.size());
      }
    }
    const uint64_t offset = (end_ + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    end_ = offset + payload.bytes.size();
    planned_.emplace_back(offset, payload);
    set_external(tensor, data_path_.filename().string(), offset, payload.bytes.size());
  }

  const std::optional<std::string>& shared_location(const std::shared_ptr<const MappedFile>& file) {
    const auto known = locations_.find(file.get());
    if (known != locations_.end()) return known->second;
    return locations_[file.get()] = inside(*file, folder_);
  }

  fs::path folder_, data_path_, source_;
  bool share_;
  uint64_t end_ = 0;
  std::vector<std::pair<uint64_t, Payload>> planned_;
  std::map<const MappedFile*, std::optional<std::string>> locations_;
};

Result<std::string> serialize(const onnx::ModelProto& proto) {
  std::string bytes;
  if (proto.ByteSizeLong() > kProtobufLimit || !proto.SerializeToString(&bytes))
    return fail(unsupported("model is too large for protobuf even without its weights"));
  return bytes;
}

}  // namespace

Result<std::vector<fs::path>> Model::save(const fs::path& path, const SaveOptions& options) const {
  using Weights = SaveOptions::Weights;
  Payloads payloads;
  onnx::ModelProto proto = state_->write(TensorData::kFull, &payloads);
  std::string skeleton = HONE_TRY(serialize(proto));
  const uint64_t inline_size = spliced_size(skeleton, payloads);
  const bool fits = inline_size <= kProtobufLimit;
  if (options.weights == Weights::kInline && !fits)
    return fail(unsupported(fmt::format("model would take {} bytes in one file, over protobuf's 2 GB", inline_size),
                            path.string(), "save its weights as external data"));
  const bool external =
      options.weights == Weights::kExternal || (options.weights == Weights::kAuto && (state_->external || !fits));

  std::vector<fs::path> written{path};
  ExternalPlan plan(path, state_->path, options.share_unchanged);
  if (external) {
    HONE_TRY(plan.place(*proto.mutable_graph(), payloads, /*attributes=*/false));
    skeleton = HONE_TRY(serialize(proto));
    // Runtimes read external data of initializers; that of attributes only where it can't be helped.
    if (spliced_size(skeleton, payloads) > kProtobufLimit) {
      HONE_TRY(plan.place(*proto.mutable_graph(), payloads, /*attributes=*/true));
      skeleton = HONE_TRY(serialize(proto));
    }
  }
  auto model_file = HONE_TRY(AtomicFile::create(path));
  FileSink sink(model_file);
  HONE_TRY(splice(skeleton, payloads, sink));
  HONE_TRY(sink.flush());
  if (plan.needs_file()) {
    auto data_file = HONE_TRY(AtomicFile::create(plan.data_path()));
    HONE_TRY(plan.write(data_file));
    HONE_TRY(data_file.commit());
    written.push_back(plan.data_path());
  }
  if (auto status = model_file.commit(); !status) {
    std::error_code ignored;
    if (plan.needs_file()) fs::remove(plan.data_path(), ignored);
    return fail(std::move(status).error());
  }
  return written;
}

namespace {

class StringSink final : public SpliceSink {
 public:
  explicit StringSink(std::string& out) : out_(out) {}
  Status text(std::string_view bytes) override {
    out_ += bytes;
    return {};
  }
  Status payload(const Payload& payload) override {
    return text({reinterpret_cast<const char*>(payload.bytes.data()), payload.bytes.size()});
  }

 private:
  std::string& out_;
};

}  // namespace

Result<std::string> Model::to_bytes() const {
  Payloads payloads;
  const std::string skeleton = HONE_TRY(serialize(state_->write(TensorData::kFull, &payloads)));
  const uint64_t size = spliced_size(skeleton, payloads);
  if (size > kProtobufLimit)
    return fail(unsupported(fmt::format("model takes {} bytes, over protobuf's 2 GB", size), state_->path.string()));
  std::string out;
  out.reserve(size);
  StringSink sink(out);
  HONE_TRY(splice(skeleton, payloads, sink));
  return out;
}

}  // namespace hone::model
