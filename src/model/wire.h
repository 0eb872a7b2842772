// Wire: reads protobuf's wire format field by field without knowing the messages, and never past the end.
// Format: https://protobuf.dev/programming-guides/encoding/ (groups, long deprecated and never in ONNX, are refused).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace hone::model {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;               // for kVarint
  std::span<const std::byte> body;   // for kLength
  std::span<const std::byte> whole;  // tag, length and value as they lie in the message
  size_t tag_size = 0;
};

class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message) : message_(message) {}
  bool done() const { return position_ == message_.size(); }
  // The next field, or nullopt when the bytes are not a valid field.
  std::optional<WireField> next();

 private:
  std::optional<uint64_t> varint();
  std::span<const std::byte> message_;
  size_t position_ = 0;
};

size_t varint_size(uint64_t value);
void append_varint(std::string& out, uint64_t value);

}  // namespace hone::model
