// SPDX-License-Identifier: Apache-2.0
#include "protocol/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

#include "protocol/unicode.h"

namespace hone::protocol {

using model::DType;
using model::Tensor;

namespace {

// numpy itself refuses headers over 10,000 bytes when they come from untrusted files.
constexpr uint64_t kMaxHeader = 65536;
// More dims than any ONNX operator has; numpy's own limit is 64.
constexpr size_t kMaxRank = 64;
// Strings are padded to the longest: what one array of them may take.
constexpr uint64_t kMaxStringBytes = uint64_t{4} << 30;

// A cursor over the header's Python literal.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}
  bool take(char wanted) {
    skip_space();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view wanted) {
    skip_space();
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }
  bool string(std::string& out) {
    skip_space();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    const size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool integer(int64_t& out) {
    skip_space();
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (error != std::errc() || out < 0) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    if (!text_.empty() && text_.front() == 'L') text_.remove_prefix(1);  // written by Python 2
    return true;
  }

 private:
  void skip_space() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n' || text_.front() == '\t'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

bool parse_shape(Literal& in, std::vector<int64_t>& dims) {
  if (!in.take('(')) return false;
  while (!in.take(')')) {
    int64_t dim = 0;
    if (!in.integer(dim) || dims.size() == kMaxRank) return false;
    dims.push_back(dim);
    if (!in.take(',')) return in.take(')');
  }
  return true;
}

Status parse_descr(const std::string& descr, NpyHeader& header, const std::string& where) {
  const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view rest = std::string_view(descr).substr(has_order ? 1 : 0);
  if (!rest.empty() && rest[0] == 'O')
    return fail(bad_input("array of Python objects (pickled) is refused: loading it could run code", where,
                          "save it with a numeric or string dtype"));
  const char* end = rest.data() + rest.size();
  const auto parsed = std::from_chars(rest.data() + std::min<size_t>(1, rest.size()), end, header.item_size);
  if (rest.size() < 2 || parsed.ec != std::errc() || parsed.ptr != end)
    return fail(bad_input(fmt::format("array has a dtype hone does not read: '{}'", descr), where,
                          "save it with a numeric, bool or string dtype"));
  header.kind = rest[0];
  header.big_endian = descr[0] == '>';
  if (header.kind == 'U') {
    if (header.item_size > kMaxStringBytes) return fail(bad_input("array has absurdly long strings", where));
    header.item_size *= 4;  // the number counts characters of UCS-4
  }
  return {};
}

DType numeric_dtype(char kind, uint64_t item_size) {
  switch (kind) {
    case 'b':
      return item_size == 1 ? DType::kBool : DType::kUndefined;
    case 'i':
      return item_size == 1   ? DType::kInt8
             : item_size == 2 ? DType::kInt16
             : item_size == 4 ? DType::kInt32
             : item_size == 8 ? DType::kInt64
                              : DType::kUndefined;
    case 'u':
      return item_size == 1   ? DType::kUint8
             : item_size == 2 ? DType::kUint16
             : item_size == 4 ? DType::kUint32
             : item_size == 8 ? DType::kUint64
                              : DType::kUndefined;
    case 'f':
      return item_size == 2   ? DType::kFloat16
             : item_size == 4 ? DType::kFloat
             : item_size == 8 ? DType::kDouble
                              : DType::kUndefined;
    case 'c':
      return item_size == 8 ? DType::kComplex64 : item_size == 16 ? DType::kComplex128 : DType::kUndefined;
    case 'V':  // what the ml_dtypes package writes for bfloat16
      return item_size == 2 ? DType::kBfloat16 : DType::kUndefined;
    default:
      return DType::kUndefined;
  }
}

// Copies elements from Fortran order (first index fastest) to C order (last index fastest).
void to_c_order(const std::byte* from, std::byte* to, const std::vector<int64_t>& dims, size_t item, int64_t count) {
  std::vector<int64_t> index(dims.size(), 0), stride(dims.size(), 1);
  for (size_t d = 1; d < dims.size(); ++d) stride[d] = stride[d - 1] * dims[d - 1];
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * item, from + static_cast<size_t>(offset) * item, item);
    for (size_t d = dims.size(); d-- > 0;) {
      offset += stride[d];
      if (++index[d] < dims[d]) break;
      offset -= stride[d] * dims[d];
      index[d] = 0;
    }
  }
}

void swap_bytes(std::span<std::byte> bytes, size_t width) {
  for (size_t i = 0; i + width <= bytes.size(); i += width)
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(i), bytes.begin() + static_cast<ptrdiff_t>(i + width));
}

std::string one_string(std::span<const std::byte> item, bool unicode) {
  if (!unicode) {
    std::string text(reinterpret_cast<const char*>(item.data()), item.size());
    return text.substr(0, text.find_last_not_of('\0') + 1);
  }
  std::vector<char32_t> points(item.size() / 4);
  std::memcpy(points.data(), item.data(), points.size() * 4);
  while (!points.empty() && points.back() == 0) points.pop_back();
  return to_utf8(points);
}

// Elements as they lie in the file, brought to little endian and C order.
Result<std::vector<std::byte>> read_elements(const ReadBytes& read, const NpyHeader& header, int64_t count,
                                             size_t swap_width) {
  std::vector<std::byte> raw(static_cast<size_t>(count) * header.item_size);
  HONE_TRY(read(raw));
  if (header.big_endian) swap_bytes(raw, swap_width);
  if (!header.fortran_order || header.dims.size() < 2) return raw;
  std::vector<std::byte> ordered(raw.size());
  to_c_order(raw.data(), ordered.data(), header.dims, header.item_size, count);
  return ordered;
}

Result<Tensor> decode_strings(const ReadBytes& read, const NpyHeader& header, int64_t count, const std::string& where) {
  // An array of empty strings has no bytes that would bound its count.
  if (header.item_size == 0 && count > (1 << 20))
    return fail(bad_input("array has absurdly many empty strings", where));
  const bool unicode = header.kind == 'U';
  const auto raw = HONE_TRY(read_elements(read, header, count, 4));
  std::vector<std::string> strings;
  strings.reserve(static_cast<size_t>(count));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    strings.push_back(one_string(std::span(raw).subspan(i * header.item_size, header.item_size), unicode));
  return Tensor(header.dims, std::move(strings));
}

Result<Tensor> decode_numbers(const ReadBytes& read, const NpyHeader& header, int64_t count, const std::string& where) {
  const DType dtype = numeric_dtype(header.kind, header.item_size);
  if (dtype == DType::kUndefined)
    return fail(bad_input(fmt::format("array has a dtype hone does not read: '{}{}'", header.kind, header.item_size),
                          where, "save it with a numeric, bool or string dtype"));
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(dtype, header.dims, &out);
  const bool as_is = !header.big_endian && !(header.fortran_order && header.dims.size() > 1);
  if (as_is) {
    HONE_TRY(read(out));
  } else {
    const size_t swap_width = header.kind == 'c' ? header.item_size / 2 : header.item_size;
    const auto raw = HONE_TRY(read_elements(read, header, count, swap_width));
    std::copy(raw.begin(), raw.end(), out.begin());
  }
  if (dtype == DType::kBool)  // any other byte than 0 and 1 is not a bool to C++
    for (auto& b : out) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return tensor;
}

// Reads magic, version and the header's text; gives the text and how many bytes were taken.
Result<std::pair<std::string, uint64_t>> read_header(const ReadBytes& read, uint64_t size, const std::string& where) {
  std::array<std::byte, 12> fixed{};
  if (size < 10) return fail(bad_input("not a .npy array: too short", where));
  HONE_TRY(read(std::span(fixed).first(8)));
  if (std::memcmp(fixed.data(), "\x93NUMPY", 6) != 0) return fail(bad_input("not a .npy array", where));
  const int major = std::to_integer<int>(fixed[6]);
  if (major < 1 || major > 3)
    return fail(bad_input(fmt::format("unknown .npy version {}.{}", major, std::to_integer<int>(fixed[7])), where));
  const size_t width = major == 1 ? 2 : 4;
  HONE_TRY(read(std::span(fixed).subspan(8, width)));
  uint64_t length = 0;
  for (size_t i = 0; i < width; ++i) length |= std::to_integer<uint64_t>(fixed[8 + i]) << (8 * i);
  if (length > kMaxHeader || length + 8 + width > size)
    return fail(bad_input(fmt::format("the .npy header says it has {} bytes, which can't be", length), where));
  std::string text(length, '\0');
  HONE_TRY(read(std::as_writable_bytes(std::span(text))));
  return std::pair{std::move(text), length + 8 + width};
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& where) {
  NpyHeader header;
  Literal in(text);
  const auto broken = [&] { return fail(bad_input("the .npy header can't be read", where)); };
  bool has_descr = false, has_order = false, has_shape = false;
  if (!in.take('{')) return broken();
  while (!in.take('}')) {
    std::string key, descr;
    if (!in.string(key) || !in.take(':')) return broken();
    if (key == "descr" && !has_descr) {
      if (in.take('['))
        return fail(bad_input("array with named fields is not supported", where, "save one array per input"));
      if (!in.string(descr)) return broken();
      HONE_TRY(parse_descr(descr, header, where));
      has_descr = true;
    } else if (key == "fortran_order" && !has_order) {
      header.fortran_order = in.take_word("True");
      if (!header.fortran_order && !in.take_word("False")) return broken();
      has_order = true;
    } else if (key == "shape" && !has_shape) {
      if (!parse_shape(in, header.dims)) return broken();
      has_shape = true;
    } else {
      return broken();
    }
    if (in.take(',')) continue;
    if (!in.take('}')) return broken();
    break;
  }
  if (!has_descr || !has_order || !has_shape) return broken();
  return header;
}

Result<Tensor> decode_npy(const ReadBytes& read, uint64_t size, const std::string& where) {
  const auto [text, taken] = HONE_TRY(read_header(read, size, where));
  const NpyHeader header = HONE_TRY(parse_npy_header(text, where));
  const int64_t count = model::element_count(header.dims);
  uint64_t needed = 0;
  if (count < 0 || __builtin_mul_overflow(static_cast<uint64_t>(count), header.item_size, &needed))
    return fail(bad_input(fmt::format("array has impossible dims [{}]", fmt::join(header.dims, ",")), where));
  if (needed != size - taken)
    return fail(bad_input(
        fmt::format("array of dims [{}] needs {} bytes, found {}", fmt::join(header.dims, ","), needed, size - taken),
        where, "the file is truncated or damaged"));
  if (header.kind == 'U' || header.kind == 'S') return decode_strings(read, header, count, where);
  return decode_numbers(read, header, count, where);
}

// --- writing ---

namespace {

std::string make_header(const std::string& descr, const std::vector<int64_t>& dims) {
  std::string shape = fmt::format("{}", fmt::join(dims, ", "));
  if (dims.size() == 1) shape += ",";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const size_t used = 10 + text.size() + 1;
  text.append((64 - used % 64) % 64, ' ');  // elements start at a multiple of 64, as numpy does
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

std::string descr_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kInt8:
      return "|i1";
    case DType::kUint8:
      return "|u1";
    case DType::kInt16:
      return "<i2";
    case DType::kUint16:
      return "<u2";
    case DType::kInt32:
      return "<i4";
    case DType::kUint32:
      return "<u4";
    case DType::kInt64:
      return "<i8";
    case DType::kUint64:
      return "<u8";
    case DType::kFloat16:
      return "<f2";
    case DType::kFloat:
      return "<f4";
    case DType::kDouble:
      return "<f8";
    case DType::kComplex64:
      return "<c8";
    case DType::kComplex128:
      return "<c16";
    default:
      return {};
  }
}

Tensor retyped(const Tensor& tensor, DType dtype) {
  auto owner = std::make_shared<const Tensor>(tensor);
  return Tensor(dtype, tensor.dims(), owner->bytes(), owner);
}

// One byte per element: bits of 4- and 2-bit elements, low part first in memory.
Tensor unpacked(const Tensor& tensor, int bits) {
  std::span<std::byte> out;
  Tensor result = Tensor::make(DType::kUint8, tensor.dims(), &out);
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  const auto mask = static_cast<unsigned>((1 << bits) - 1);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto whole = std::to_integer<unsigned>(tensor.bytes()[i / per_byte]);
    out[i] = static_cast<std::byte>(whole >> (static_cast<size_t>(bits) * (i % per_byte)) & mask);
  }
  return result;
}

Tensor packed(const Tensor& tensor, DType dtype, int bits) {
  std::span<std::byte> out;
  Tensor result = Tensor::make(dtype, tensor.dims(), &out);
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  const auto mask = static_cast<unsigned>((1 << bits) - 1);
  for (size_t i = 0; i < tensor.bytes().size(); ++i) {
    const unsigned value = std::to_integer<unsigned>(tensor.bytes()[i]) & mask;
    out[i / per_byte] |= static_cast<std::byte>(value << (static_cast<size_t>(bits) * (i % per_byte)));
  }
  return result;
}

Result<EncodedNpy> encode_strings(const Tensor& tensor, const std::string& where) {
  std::vector<std::vector<char32_t>> points;
  bool unicode = true;
  size_t longest = 1;
  for (const auto& text : tensor.strings()) {
    if (!text.empty() && text.back() == '\0')
      return fail(unsupported("string ends with a zero byte, which .npz can't hold", where));
    auto decoded = from_utf8(text);
    unicode = unicode && decoded.has_value();
    longest = std::max(longest, decoded ? decoded->size() : text.size());
    points.push_back(decoded ? std::move(*decoded) : std::vector<char32_t>{});
  }
  if (!unicode)  // bytes that are no text: numpy's byte strings
    for (const auto& text : tensor.strings()) longest = std::max(longest, text.size());
  const size_t item = unicode ? longest * 4 : longest;
  if (item > kMaxStringBytes / std::max<size_t>(1, points.size()))
    return fail(unsupported("strings are too long for .npz, which pads all to the longest", where));
  std::span<std::byte> out;
  EncodedNpy npy;
  npy.body = Tensor::make(DType::kUint8, {static_cast<int64_t>(points.size() * item)}, &out);
  for (size_t i = 0; i < points.size(); ++i) {
    const auto& text = tensor.strings()[i];
    if (unicode)
      std::copy_n(reinterpret_cast<const std::byte*>(points[i].data()), points[i].size() * 4,
                  out.begin() + static_cast<ptrdiff_t>(i * item));
    else
      std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(),
                  out.begin() + static_cast<ptrdiff_t>(i * item));
  }
  npy.header = make_header(fmt::format("{}{}", unicode ? "<U" : "|S", longest), tensor.dims());
  return npy;
}

// How many bits an element of a dtype without a numpy word has; 0 when numpy has the word or hone can't store it.
int foreign_bits(DType dtype) {
  if (!descr_of(dtype).empty() || dtype == DType::kString || dtype == DType::kUndefined) return 0;
  const int bits = model::dtype_bits(dtype);
  return bits == 16 || bits == 8 || bits == 4 || bits == 2 ? bits : 0;
}

}  // namespace

Result<EncodedNpy> encode_npy(const Tensor& tensor, const std::string& where) {
  if (tensor.dtype() == DType::kString) return encode_strings(tensor, where);
  EncodedNpy npy;
  npy.body = tensor;
  if (const int bits = foreign_bits(tensor.dtype()); bits > 0) {
    npy.suffix = "@" + model::dtype_name(tensor.dtype());
    npy.body = bits == 16  ? retyped(tensor, DType::kUint16)
               : bits == 8 ? retyped(tensor, DType::kUint8)
                           : unpacked(tensor, bits);
  }
  const std::string descr = descr_of(npy.body.dtype());
  if (descr.empty()) return fail(unsupported("tensor of unknown dtype can't be written", where));
  npy.header = make_header(descr, tensor.dims());
  return npy;
}

model::NamedTensor undo_suffix(std::string name, Tensor tensor) {
  const size_t at = name.rfind('@');
  if (at == std::string::npos) return {std::move(name), std::move(tensor)};
  const DType dtype = model::dtype_from_name(std::string_view(name).substr(at + 1));
  const int bits = foreign_bits(dtype);
  const DType carrier = bits == 16 ? DType::kUint16 : DType::kUint8;
  if (bits == 0 || tensor.dtype() != carrier) return {std::move(name), std::move(tensor)};
  name.resize(at);
  return {std::move(name), bits < 8 ? packed(tensor, dtype, bits) : retyped(tensor, dtype)};
}

}  // namespace hone::protocol
