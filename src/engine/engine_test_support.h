// What engine tests share: tiny models written to disk, sessions opened on them, one-line checks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "engine/engine.h"
#include "model/model.h"

namespace hone::engine::testing_support {

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto scratch = ScratchFolder::create("hone-engine-test");
    ASSERT_TRUE(scratch) << scratch.error().line();
    scratch_.emplace(std::move(*scratch));
  }

  fs::path folder() const { return scratch_->path(); }

  // Writes a model given as "name (inputs) => (outputs) <initializers> {nodes}" (ONNX text form).
  fs::path write_model(std::string_view graph, std::string_view opsets = "\"\" : 17") {
    const fs::path path = folder() / ("model_" + std::to_string(models_++) + ".onnx");
    const std::string text = "<ir_version: 8, opset_import: [" + std::string(opsets) + "]>\n" + std::string(graph);
    const auto model = model::Model::from_text(text);
    EXPECT_TRUE(model) << model.error().line();
    if (!model) return path;
    const auto saved = model->save(path);
    EXPECT_TRUE(saved) << saved.error().line();
    return path;
  }

  std::unique_ptr<Session> open(const Engine& engine, const fs::path& model, const Settings& settings = {},
                                const OpenOptions& options = {}) {
    auto session = engine.open(model, settings, options);
    EXPECT_TRUE(session) << session.error().line();
    return session ? std::move(*session) : nullptr;
  }

  // bind, run, fetch; fails the test on any error.
  model::NamedTensors infer(Session& session, const model::NamedTensors& sample) {
    for (const Status& status : {session.bind(sample), session.run()})
      if (!status) {
        ADD_FAILURE() << status.error().line();
        return {};
      }
    auto out = session.fetch();
    EXPECT_TRUE(out) << out.error().line();
    return out ? *out : model::NamedTensors{};
  }

  std::optional<ScratchFolder> scratch_;
  int models_ = 0;
};

// An Error that reads as one short line containing `part`.
template <class T>
void expect_one_line(const Result<T>& result, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(result);
  const std::string line = result.error().line();
  EXPECT_EQ(result.error().kind, kind) << line;
  EXPECT_THAT(line, ::testing::HasSubstr(part));
  EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("\n")));
  EXPECT_LT(line.size(), 1000u) << line;
}

inline model::NamedTensors one(const std::string& name, model::Tensor tensor) { return {{name, std::move(tensor)}}; }

}  // namespace hone::engine::testing_support
