// Real messages of the engines, and the one line that is kept of each.
// SPDX-License-Identifier: Apache-2.0
#include "engine/message.h"

#include <gtest/gtest.h>

namespace hone::engine {
namespace {

TEST(FirstMeaningfulLine, KeepsAPlainLine) {
  EXPECT_EQ(first_meaningful_line("Load model from /tmp/a.onnx failed:Protobuf parsing failed."),
            "Load model from /tmp/a.onnx failed:Protobuf parsing failed");
}

TEST(FirstMeaningfulLine, CutsSourcePlacesAndSignaturesOfOnnxRuntime) {
  EXPECT_EQ(first_meaningful_line(
                "Load model from m.onnx failed:/onnxruntime_src/onnxruntime/core/graph/model.cc:182 "
                "onnxruntime::Model::Model(onnx::ModelProto&&, const onnxruntime::PathString&, const "
                "std::list<std::shared_ptr<X> >*) Unsupported model IR version: 99, max supported IR version: 11"),
            "Load model from m.onnx failed: Unsupported model IR version: 99, max supported IR version: 11");
  EXPECT_EQ(
      first_meaningful_line("Non-zero status code returned while running Reshape node. Name:'' Status Message: "
                            "/onnxruntime_src/onnxruntime/core/providers/cpu/tensor/reshape_helper.h:91 "
                            "onnxruntime::ReshapeHelper::ReshapeHelper(const onnxruntime::TensorShape&, bool) const "
                            "input_shape_size == size was false. The input tensor cannot be reshaped.\n"),
      "Non-zero status code returned while running Reshape node. Name:'' Status Message: input_shape_size == size "
      "was false. The input tensor cannot be reshaped");
  EXPECT_EQ(first_meaningful_line("/src/a.cc:12 auto ns::F::operator()(int) const [with T = int; U = ns::V] it broke"),
            "it broke");
}

TEST(FirstMeaningfulLine, SkipsTheFramesOfOpenVino) {
  EXPECT_EQ(
      first_meaningful_line("Exception from src/inference/src/cpp/core.cpp:117:\n"
                            "Exception from src/inference/src/dev/plugin.cpp:54:\n"
                            "Check '!shape.rank().is_dynamic()' failed at src/plugins/intel_cpu/src/node.cpp:108:\n"
                            "Unexpected: CPU plug-in doesn't support Reshape operation with dynamic rank.\n\n"),
      "Unexpected: CPU plug-in doesn't support Reshape operation with dynamic rank");
}

TEST(FirstMeaningfulLine, TakesTheFirstItemOfASummaryAlong) {
  EXPECT_EQ(
      first_meaningful_line("Exception from src/inference/src/cpp/core.cpp:84:\n"
                            "Check 'false' failed at src/frontends/report.cpp:151:\n"
                            "FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted.\nSummary:\n"
                            "-- No conversion rule found for operations: NoSuchOperator-17\n"),
      "Model wasn't fully converted: No conversion rule found for operations: NoSuchOperator-17");
  EXPECT_EQ(
      first_meaningful_line("Model wasn't fully converted. Failed operations detailed log:\n"
                            "-- Conv-16 with a message:\n"
                            "While validating ONNX node '<Node(Conv): x>': Check 'a' failed at src/op/conv.cpp:38:\n"
                            "FrontEnd API failed with GeneralFailure:\n"
                            "The input data tensor's rank has to be known (static)\n\n-- ReduceMean-16\n"),
      "Model wasn't fully converted. Failed operations detailed log: Conv-16 with a message: The input data "
      "tensor's rank has to be known (static)");
}

TEST(FirstMeaningfulLine, NeverIsEmptyLongOrSeveralLines) {
  EXPECT_EQ(first_meaningful_line(""), "the engine failed without a message");
  EXPECT_EQ(first_meaningful_line("Exception from src/core.cpp:84:\n"), "Exception from src/core.cpp:84");
  EXPECT_LT(first_meaningful_line(std::string(100000, 'x')).size(), 410u);
  EXPECT_LT(first_meaningful_line("/a.cc:1 " + std::string(20000, '(')).size(), 410u);
}

}  // namespace
}  // namespace hone::engine
