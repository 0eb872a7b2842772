// Two ModelProtos are the same model when they are equal after what has no meaning is made equal: how tensors are
// stored, the order of initializers and value infos, fields that are set to nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/onnx_tensor.h"

namespace hone::model {

inline void clear_empty_strings(google::protobuf::Message& message) {
  const auto* reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    using Field = google::protobuf::FieldDescriptor;
    if (field->cpp_type() == Field::CPPTYPE_STRING && !field->is_repeated() && field->name() != "s") {
      if (reflection->GetString(message, field).empty()) reflection->ClearField(&message, field);
    } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE && field->is_repeated()) {
      for (int i = 0; i < reflection->FieldSize(message, field); ++i)
        clear_empty_strings(*reflection->MutableRepeatedMessage(&message, field, i));
    } else if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      clear_empty_strings(*reflection->MutableMessage(&message, field));
    }
  }
}

inline void canonical_graph(onnx::GraphProto& graph) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name() < b.name(); };
  std::sort(graph.mutable_initializer()->begin(), graph.mutable_initializer()->end(), by_name);
  std::stable_sort(graph.mutable_value_info()->begin(), graph.mutable_value_info()->end(), by_name);
  for (auto& node : *graph.mutable_node()) {
    if (node.domain() == "ai.onnx") node.clear_domain();
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) canonical_graph(*attribute.mutable_g());
      if (!attribute.has_type() && attribute.has_i()) attribute.set_type(onnx::AttributeProto::INT);
    }
  }
}

inline onnx::ModelProto canonical(const std::string& bytes) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(bytes));
  EXPECT_TRUE(visit_tensors(proto, [](onnx::TensorProto& tensor) -> Status {
                const Tensor value = *tensor_from_proto(tensor, {}, "");
                onnx::TensorProto stored;
                Payloads payloads;
                tensor_to_proto(value, TensorData::kFull, &payloads, &stored);
                if (!payloads.empty()) stored.set_raw_data(payloads[0].bytes.data(), payloads[0].bytes.size());
                forget_payload(stored);
                stored.set_name(tensor.name());
                stored.set_doc_string(tensor.doc_string());
                *stored.mutable_metadata_props() = tensor.metadata_props();
                tensor = std::move(stored);
                return {};
              }).has_value());
  canonical_graph(*proto.mutable_graph());
  clear_empty_strings(proto);
  return proto;
}

inline std::string difference(const std::string& left, const std::string& right) {
  std::string report;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  return differencer.Compare(canonical(left), canonical(right)) ? "" : report.substr(0, 2000);
}

}  // namespace hone::model
