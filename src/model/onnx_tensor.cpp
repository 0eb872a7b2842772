// SPDX-License-Identifier: Apache-2.0
#include "model/onnx_tensor.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::model {

namespace {

// Shape computations hold small integer tensors; 64 KiB leaves room for Split sizes, Slice indices and the like.
constexpr size_t kShapeDataBytes = size_t{64} << 10;

template <class To, class Field>
Tensor typed(DType dtype, std::vector<int64_t> dims, const Field& field) {
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(dtype, std::move(dims), &out);
  for (int i = 0; i < field.size(); ++i) {
    const To value = static_cast<To>(field.Get(i));
    std::memcpy(out.data() + static_cast<size_t>(i) * sizeof(To), &value, sizeof(To));
  }
  return tensor;
}

// How many entries of which typed field hold the data, by onnx.proto's comments.
struct Stored {
  int64_t have = 0, want = 0;
};

Stored stored_elements(const onnx::TensorProto& proto, DType dtype, int64_t count) {
  switch (dtype) {
    case DType::kFloat:
      return {proto.float_data_size(), count};
    case DType::kComplex64:
      return {proto.float_data_size(), 2 * count};
    case DType::kDouble:
      return {proto.double_data_size(), count};
    case DType::kComplex128:
      return {proto.double_data_size(), 2 * count};
    case DType::kInt64:
      return {proto.int64_data_size(), count};
    case DType::kUint32:
    case DType::kUint64:
      return {proto.uint64_data_size(), count};
    case DType::kString:
      return {proto.string_data_size(), count};
    default:
      break;
  }
  // Packed types: each int32 holds four bytes of the raw layout.
  if (dtype_bits(dtype) < 6)
    return {proto.int32_data_size(), static_cast<int64_t>((packed_size(dtype, count) + 3) / 4)};
  return {proto.int32_data_size(), count};
}

Tensor packed_from_int32(const onnx::TensorProto& proto, DType dtype, std::vector<int64_t> dims) {
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(dtype, std::move(dims), &out);
  for (size_t i = 0; i < out.size(); ++i) {
    // Writers differ: one byte an entry (as onnx.proto says) or four.
    const bool byte_each = static_cast<size_t>(proto.int32_data_size()) >= out.size();
    const auto entry = static_cast<uint32_t>(proto.int32_data(static_cast<int>(byte_each ? i : i / 4)));
    out[i] = static_cast<std::byte>(byte_each ? entry : entry >> (i % 4 * 8));
  }
  return tensor;
}

// Six-bit floats: one code an entry, packed little end first.
Tensor six_bits_from_int32(const onnx::TensorProto& proto, DType dtype, std::vector<int64_t> dims) {
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(dtype, std::move(dims), &out);
  for (int i = 0; i < proto.int32_data_size(); ++i) {
    const auto code = static_cast<uint32_t>(proto.int32_data(i)) & 0x3f;
    const size_t bit = static_cast<size_t>(i) * 6;
    out[bit / 8] |= static_cast<std::byte>(code << (bit % 8));
    if (bit % 8 > 2) out[bit / 8 + 1] |= static_cast<std::byte>(code >> (8 - bit % 8));
  }
  return tensor;
}

Tensor from_typed_fields(const onnx::TensorProto& proto, DType dtype, std::vector<int64_t> dims) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kComplex64:
    case DType::kDouble:
    case DType::kComplex128: {
      std::span<std::byte> out;
      Tensor tensor = Tensor::make(dtype, std::move(dims), &out);
      const bool single = dtype == DType::kFloat || dtype == DType::kComplex64;
      const void* data = single ? static_cast<const void*>(proto.float_data().data()) : proto.double_data().data();
      if (!out.empty()) std::memcpy(out.data(), data, out.size());
      return tensor;
    }
    case DType::kInt64:
      return typed<int64_t>(dtype, std::move(dims), proto.int64_data());
    case DType::kUint64:
      return typed<uint64_t>(dtype, std::move(dims), proto.uint64_data());
    case DType::kUint32:
      return typed<uint32_t>(dtype, std::move(dims), proto.uint64_data());
    case DType::kString:
      return Tensor(std::move(dims), std::vector<std::string>(proto.string_data().begin(), proto.string_data().end()));
    default:
      break;
  }
  switch (dtype_bits(dtype)) {
    case 32:
      return typed<uint32_t>(dtype, std::move(dims), proto.int32_data());
    case 16:
      return typed<uint16_t>(dtype, std::move(dims), proto.int32_data());
    case 8:
      return typed<uint8_t>(dtype, std::move(dims), proto.int32_data());
    case 6:
      return six_bits_from_int32(proto, dtype, std::move(dims));
    default:
      return packed_from_int32(proto, dtype, std::move(dims));
  }
}

void clear_data(onnx::TensorProto& proto) {
  proto.clear_raw_data();
  proto.clear_float_data();
  proto.clear_double_data();
  proto.clear_int32_data();
  proto.clear_int64_data();
  proto.clear_uint64_data();
  proto.clear_string_data();
  proto.clear_external_data();
  proto.clear_data_location();
  forget_payload(proto);
}

}  // namespace

std::string shape_text(DType dtype, const std::vector<int64_t>& dims) {
  constexpr size_t kShown = 8;  // a file may claim any number of dimensions
  const auto end = dims.begin() + static_cast<std::ptrdiff_t>(std::min(dims.size(), kShown));
  return fmt::format("{}[{}{}]", dtype_name(dtype), fmt::join(dims.begin(), end, ","), end == dims.end() ? "" : ",...");
}

std::optional<size_t> payload_of(const onnx::TensorProto& proto) {
  const auto& unknown = proto.unknown_fields();
  std::optional<size_t> found;
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == static_cast<int>(kPayloadField)) found = unknown.field(i).varint();
  return found;
}

void forget_payload(onnx::TensorProto& proto) {
  if (!proto.unknown_fields().empty()) proto.mutable_unknown_fields()->DeleteByNumber(static_cast<int>(kPayloadField));
}

void refer_to_payload(onnx::TensorProto& proto, size_t index) {
  forget_payload(proto);
  proto.mutable_unknown_fields()->AddVarint(static_cast<int>(kPayloadField), index);
}

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, const Payloads& payloads, const std::string& where) {
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  const auto dtype = static_cast<DType>(proto.data_type());
  if (dtype != DType::kString && dtype_bits(dtype) == 0)
    return fail(bad_input(fmt::format("tensor has an unknown element type ({})", proto.data_type()), where));
  const int64_t count = element_count(dims);
  if (count < 0)
    return fail(bad_input("tensor has a negative or too large dimension: " + shape_text(dtype, dims), where));
  if (proto.has_segment()) return fail(unsupported("tensor is stored in segments", where));

  const auto payload = payload_of(proto);
  if (payload || proto.has_raw_data()) {
    if (dtype == DType::kString) return fail(bad_input("tensor of strings has raw data", where));
    const auto bytes = payload ? payloads.at(*payload).bytes : std::as_bytes(std::span(proto.raw_data()));
    if (bytes.size() != packed_size(dtype, count))
      return fail(bad_input(fmt::format("tensor data does not fit its shape: {} bytes, but {} takes {}", bytes.size(),
                                        shape_text(dtype, dims), packed_size(dtype, count)),
                            where));
    if (payload && payloads[*payload].file)
      return Tensor::mapped(dtype, std::move(dims), bytes, payloads[*payload].file);
    if (payload) return Tensor(dtype, std::move(dims), bytes, payloads[*payload].owner);
    std::span<std::byte> out;
    Tensor tensor = Tensor::make(dtype, std::move(dims), &out);
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return tensor;
  }
  const Stored stored = stored_elements(proto, dtype, count);
  const bool too_many = dtype_bits(dtype) < 6 && dtype != DType::kString
                            ? stored.have > static_cast<int64_t>(packed_size(dtype, count))
                            : stored.have > stored.want;
  if (stored.have < stored.want || too_many)
    return fail(bad_input(fmt::format("tensor data does not fit its shape: {} values, but {} takes {}", stored.have,
                                      shape_text(dtype, dims), stored.want),
                          where));
  return from_typed_fields(proto, dtype, std::move(dims));
}

void tensor_to_proto(const Tensor& tensor, TensorData data, Payloads* payloads, onnx::TensorProto* proto) {
  clear_data(*proto);
  proto->set_data_type(static_cast<int32_t>(tensor.dtype()));
  proto->clear_dims();
  if (data == TensorData::kEmpty) {
    proto->add_dims(0);
    return;
  }
  for (const int64_t dim : tensor.dims()) proto->add_dims(dim);
  if (tensor.dtype() == DType::kString) {
    for (const auto& text : tensor.strings()) proto->add_string_data(text);
    return;
  }
  const auto bytes = tensor.bytes();
  if (data == TensorData::kFull && bytes.size() >= kPayloadBytes) {
    refer_to_payload(*proto, payloads->size());
    payloads->push_back({bytes, tensor.owner(), tensor.file()});
    return;
  }
  const bool wanted = bytes.size() < kPayloadBytes || (is_integer(tensor.dtype()) && bytes.size() <= kShapeDataBytes);
  if (data == TensorData::kSmall && !wanted) return;
  proto->set_raw_data(bytes.data(), bytes.size());
}

void reduce_data(onnx::TensorProto& proto, TensorData data, const Payloads& payloads) {
  if (data == TensorData::kEmpty) {
    clear_data(proto);
    proto.clear_dims();
    proto.add_dims(0);
    return;
  }
  const auto payload = payload_of(proto);
  if (!payload || data == TensorData::kFull) return;
  forget_payload(proto);
  const auto bytes = payloads.at(*payload).bytes;
  if (is_integer(static_cast<DType>(proto.data_type())) && bytes.size() <= kShapeDataBytes)
    proto.set_raw_data(bytes.data(), bytes.size());
}

namespace {

template <class TensorType>
Type array_type(TypeKind kind, const TensorType& proto) {
  Type type{kind, static_cast<DType>(proto.elem_type()), std::nullopt};
  if (!proto.has_shape()) return type;
  Shape shape;
  for (const auto& dim : proto.shape().dim()) {
    // A negative number is how some exporters write "not known".
    if (dim.has_dim_value())
      shape.push_back({dim.dim_value() >= 0 ? dim.dim_value() : -1, {}});
    else
      shape.push_back({-1, dim.dim_param()});
  }
  type.shape = std::move(shape);
  return type;
}

Type wrapped(TypeKind kind, const onnx::TypeProto& element) {
  Type type = type_from_proto(element);
  type.kind = kind;
  return type;
}

template <class TensorType>
void fill_array(const Type& type, TensorType* proto) {
  proto->set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.shape) return;
  auto* shape = proto->mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto* out = shape->add_dim();
    if (dim.known())
      out->set_dim_value(dim.value);
    else if (!dim.symbol.empty())
      out->set_dim_param(dim.symbol);
  }
}

}  // namespace

Type type_from_proto(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return array_type(TypeKind::kTensor, proto.tensor_type());
    case onnx::TypeProto::kSparseTensorType:
      return array_type(TypeKind::kSparseTensor, proto.sparse_tensor_type());
    case onnx::TypeProto::kSequenceType:
      return wrapped(TypeKind::kSequence, proto.sequence_type().elem_type());
    case onnx::TypeProto::kOptionalType:
      return wrapped(TypeKind::kOptional, proto.optional_type().elem_type());
    case onnx::TypeProto::kMapType:
      return wrapped(TypeKind::kMap, proto.map_type().value_type());
    default:
      return {};
  }
}

void type_to_proto(const Type& type, onnx::TypeProto* proto) {
  proto->Clear();
  switch (type.kind) {
    case TypeKind::kTensor:
      return fill_array(type, proto->mutable_tensor_type());
    case TypeKind::kSparseTensor:
      return fill_array(type, proto->mutable_sparse_tensor_type());
    case TypeKind::kSequence:
      return fill_array(type, proto->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type());
    case TypeKind::kOptional:
      return fill_array(type, proto->mutable_optional_type()->mutable_elem_type()->mutable_tensor_type());
    case TypeKind::kMap:  // the key's type is not known here: a map's declaration is carried, never made
    case TypeKind::kUnknown:
      return;
  }
}

Status visit_tensors(onnx::AttributeProto& attribute, const TensorVisitor& visit) {
  if (attribute.has_t()) HONE_TRY(visit(*attribute.mutable_t()));
  for (auto& tensor : *attribute.mutable_tensors()) HONE_TRY(visit(tensor));
  if (attribute.has_g()) HONE_TRY(visit_tensors(*attribute.mutable_g(), visit));
  for (auto& graph : *attribute.mutable_graphs()) HONE_TRY(visit_tensors(graph, visit));
  return {};
}

Status visit_tensors(onnx::NodeProto& node, const TensorVisitor& visit) {
  for (auto& attribute : *node.mutable_attribute()) HONE_TRY(visit_tensors(attribute, visit));
  return {};
}

Status visit_tensors(onnx::GraphProto& graph, const TensorVisitor& visit) {
  for (auto& tensor : *graph.mutable_initializer()) HONE_TRY(visit(tensor));
  for (auto& node : *graph.mutable_node()) HONE_TRY(visit_tensors(node, visit));
  return {};
}

Status visit_tensors(onnx::ModelProto& model, const TensorVisitor& visit) {
  if (model.has_graph()) HONE_TRY(visit_tensors(*model.mutable_graph(), visit));
  for (auto& function : *model.mutable_functions()) {
    for (auto& node : *function.mutable_node()) HONE_TRY(visit_tensors(node, visit));
    for (auto& attribute : *function.mutable_attribute_proto()) HONE_TRY(visit_tensors(attribute, visit));
  }
  for (auto& training : *model.mutable_training_info()) {
    if (training.has_initialization()) HONE_TRY(visit_tensors(*training.mutable_initialization(), visit));
    if (training.has_algorithm()) HONE_TRY(visit_tensors(*training.mutable_algorithm(), visit));
  }
  return {};
}

}  // namespace hone::model
