// A change::Context from parts, for tests of Changes: a model, its Configuration, a Diagnosis with chosen findings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "change/change.h"

namespace hone::test {

class TestContext {
 public:
  explicit TestContext(std::string_view onnx_text = kOneRelu) : model_(model::Model::from_text(onnx_text).value()) {
    EXPECT_TRUE(model_.infer_shapes());
    best.engine = "onnxruntime";
    best.model = "model.onnx";
    diagnosis.machine.cores = 4;
    diagnosis.weight_bytes = 1e8;
  }
  TestContext& finding(std::string id, double upper_bound = 1.5) {
    diagnose::Finding f;
    f.id = std::move(id);
    f.upper_bound = upper_bound;
    diagnosis.findings.push_back(std::move(f));
    return *this;
  }
  change::Context context() const { return {best, model_, diagnosis, true, engines, shapes, original, threads}; }
  // The proposals of a change, and the sentence when there are none.
  std::vector<change::Proposal> proposals(const char* id, std::string* why_not = nullptr) const {
    std::string why;
    const auto found = change::find_change(id);
    EXPECT_TRUE(found) << id;
    auto out = (*found)->propose(context(), &why);
    EXPECT_EQ(out.empty(), !why.empty()) << id << ": " << why;
    if (why_not != nullptr) *why_not = why;
    return out;
  }

  static constexpr std::string_view kOneRelu = R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,4] x) => (float[1,4] y) { y = Relu(x) })";

  engine::Configuration best;
  diagnose::Diagnosis diagnosis;
  std::vector<std::string> engines = {"onnxruntime", "openvino"};
  std::map<std::string, std::vector<int64_t>> shapes;
  fs::path original = "model.onnx";
  int threads = 0;

 private:
  model::Model model_;
};

}  // namespace hone::test
