// SPDX-License-Identifier: Apache-2.0
#include "model/splice.h"

#include <fmt/format.h>

#include <vector>

#include "base/check.h"
#include "model/wire.h"

namespace hone::model {

namespace {

enum class Message { kNone, kModel, kTraining, kGraph, kNode, kAttribute, kTensor, kFunction };

// Field numbers are those of onnx.proto.
Message child_of(Message parent, uint32_t field) {
  switch (parent) {
    case Message::kModel:
      return field == 7    ? Message::kGraph
             : field == 20 ? Message::kTraining
             : field == 25 ? Message::kFunction
                           : Message::kNone;
    case Message::kTraining:
      return field == 1 || field == 2 ? Message::kGraph : Message::kNone;
    case Message::kGraph:
      return field == 1 ? Message::kNode : field == 5 ? Message::kTensor : Message::kNone;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kNone;
    case Message::kAttribute:
      return field == 5 || field == 10   ? Message::kTensor
             : field == 6 || field == 11 ? Message::kGraph
                                         : Message::kNone;
    case Message::kFunction:
      return field == 7 ? Message::kNode : field == 11 ? Message::kAttribute : Message::kNone;
    default:
      return Message::kNone;
  }
}

constexpr uint32_t kRawDataField = 9;  // TensorProto.raw_data
constexpr int kMaxDepth = 100;         // protobuf's own limit of nested messages
constexpr uint32_t kReferenceTag = kPayloadField << 3;

std::string_view view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Stripper {
 public:
  Stripper(std::span<const std::byte> model, const std::shared_ptr<const void>& owner,
           const std::shared_ptr<const MappedFile>& file)
      : begin_(model.data()), owner_(owner), file_(file) {}

  Status strip(Message kind, std::span<const std::byte> message, int depth, std::string& out) {
    if (depth > kMaxDepth) return fail(bad_input("model is nested too deeply"));
    WireReader reader(message);
    while (!reader.done()) {
      const size_t at = static_cast<size_t>(message.data() - begin_);
      const auto field = reader.next();
      if (!field) return fail(bad_input(fmt::format("not an ONNX model, or cut off (in the message at byte {})", at)));
      HONE_TRY(strip_field(kind, *field, depth, out));
    }
    return {};
  }

  Payloads payloads;

 private:
  Status strip_field(Message kind, const WireField& field, int depth, std::string& out) {
    const bool nested = field.type == WireType::kLength;
    const Message child = nested ? child_of(kind, field.number) : Message::kNone;
    if (child != Message::kNone) {
      std::string inner;
      HONE_TRY(strip(child, field.body, depth + 1, inner));
      out += view(field.whole.first(field.tag_size));
      append_varint(out, inner.size());
      out += inner;
    } else if (kind == Message::kTensor && field.number == kPayloadField) {
      // A reference in a file would be forged: references are made only below.
    } else if (kind == Message::kTensor && nested && field.number == kRawDataField &&
               field.body.size() >= kPayloadBytes) {
      append_varint(out, kReferenceTag);
      append_varint(out, payloads.size());
      payloads.push_back({field.body, owner_, file_});
    } else {
      out += view(field.whole);
    }
    return {};
  }

  const std::byte* begin_;
  const std::shared_ptr<const void>& owner_;
  const std::shared_ptr<const MappedFile>& file_;
};

// Walks a skeleton twice: first to learn the size of every message on the way to a payload (in the order of the
// walk), then to write.
class Splicer {
 public:
  explicit Splicer(const Payloads& payloads) : payloads_(payloads) {}

  uint64_t measure(Message kind, std::span<const std::byte> message) {
    const size_t index = sizes_.size();
    sizes_.push_back(0);
    uint64_t total = 0;
    WireReader reader(message);
    while (!reader.done()) {
      const WireField field = take(reader);
      const Message child = field.type == WireType::kLength ? child_of(kind, field.number) : Message::kNone;
      if (child != Message::kNone) {
        const uint64_t inner = measure(child, field.body);
        total += field.tag_size + varint_size(inner) + inner;
      } else if (const Payload* payload = referenced(kind, field)) {
        total += 1 + varint_size(payload->bytes.size()) + payload->bytes.size();
      } else {
        total += field.whole.size();
      }
    }
    return sizes_[index] = total;
  }

  Status write(Message kind, std::span<const std::byte> message, SpliceSink& sink) {
    ++next_;
    WireReader reader(message);
    while (!reader.done()) {
      const WireField field = take(reader);
      const Message child = field.type == WireType::kLength ? child_of(kind, field.number) : Message::kNone;
      if (child != Message::kNone) {
        std::string head(view(field.whole.first(field.tag_size)));
        append_varint(head, sizes_[next_]);
        HONE_TRY(sink.text(head));
        HONE_TRY(write(child, field.body, sink));
      } else if (const Payload* payload = referenced(kind, field)) {
        std::string head;
        append_varint(head, kRawDataField << 3 | static_cast<uint32_t>(WireType::kLength));
        append_varint(head, payload->bytes.size());
        HONE_TRY(sink.text(head));
        HONE_TRY(sink.payload(*payload));
      } else {
        HONE_TRY(sink.text(view(field.whole)));
      }
    }
    return {};
  }

 private:
  // The skeleton is our own serialization: it is valid, or hone has a bug.
  static WireField take(WireReader& reader) {
    const auto field = reader.next();
    HONE_CHECK(field.has_value());
    return *field;
  }

  const Payload* referenced(Message kind, const WireField& field) const {
    if (kind != Message::kTensor || field.number != kPayloadField) return nullptr;
    HONE_CHECK(field.varint < payloads_.size(), "{}", field.varint);
    return &payloads_[static_cast<size_t>(field.varint)];
  }

  const Payloads& payloads_;
  std::vector<uint64_t> sizes_;
  size_t next_ = 0;
};

}  // namespace

Result<Skeleton> strip(std::span<const std::byte> model, const std::shared_ptr<const void>& owner,
                       const std::shared_ptr<const MappedFile>& file) {
  Stripper stripper(model, owner, file);
  Skeleton skeleton;
  HONE_TRY(stripper.strip(Message::kModel, model, 0, skeleton.bytes));
  skeleton.payloads = std::move(stripper.payloads);
  return skeleton;
}

uint64_t spliced_size(std::string_view skeleton, const Payloads& payloads) {
  return Splicer(payloads).measure(Message::kModel, std::as_bytes(std::span(skeleton)));
}

Status splice(std::string_view skeleton, const Payloads& payloads, SpliceSink& sink) {
  Splicer splicer(payloads);
  const auto bytes = std::as_bytes(std::span(skeleton));
  splicer.measure(Message::kModel, bytes);
  return splicer.write(Message::kModel, bytes, sink);
}

}  // namespace hone::model
