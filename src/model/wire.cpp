// SPDX-License-Identifier: Apache-2.0
#include "model/wire.h"

namespace hone::model {

std::optional<uint64_t> WireReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (position_ == message_.size()) return std::nullopt;
    const auto byte = std::to_integer<uint64_t>(message_[position_++]);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<WireField> WireReader::next() {
  const size_t start = position_;
  const auto tag = varint();
  if (!tag || *tag > UINT32_MAX || (*tag >> 3) == 0) return std::nullopt;
  WireField field;
  field.number = static_cast<uint32_t>(*tag >> 3);
  field.type = static_cast<WireType>(*tag & 7);
  field.tag_size = position_ - start;
  const size_t left = message_.size() - position_;
  uint64_t skip = 0;
  switch (field.type) {
    case WireType::kVarint: {
      const auto value = varint();
      if (!value) return std::nullopt;
      field.varint = *value;
      break;
    }
    case WireType::kFixed64:
      skip = 8;
      break;
    case WireType::kFixed32:
      skip = 4;
      break;
    case WireType::kLength: {
      const auto length = varint();
      if (!length || *length > message_.size() - position_) return std::nullopt;
      field.body = message_.subspan(position_, static_cast<size_t>(*length));
      skip = *length;
      break;
    }
    default:
      return std::nullopt;
  }
  if (skip > left) return std::nullopt;
  position_ += static_cast<size_t>(skip);
  if (position_ > message_.size()) return std::nullopt;
  field.whole = message_.subspan(start, position_ - start);
  return field;
}

size_t varint_size(uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

}  // namespace hone::model
