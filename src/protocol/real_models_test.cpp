// Data and synthetic samples on exporter-written models: what a user's model looks like.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/data.h"

namespace hone::protocol {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;

constexpr const char* kFamilies[] = {"bert", "minilm", "dit_block", "vae_decoder", "gpt2_past", "llama_past"};
constexpr const char* kExporters[] = {".ts17.onnx", ".dynamo18.dyn.onnx"};

fs::path family(const std::string& name) { return fs::path(HONE_TEST_DATA) / "models" / name; }

model::Model loaded(const std::string& name, const std::string& exporter) {
  auto model = model::Model::load(family(name) / (name + exporter));
  EXPECT_TRUE(model) << model.error().line();
  return std::move(*model);
}

TEST(RealModels, TakeTheDataThatWasExportedWithThem) {
  for (const std::string name : kFamilies)
    for (const std::string exporter : kExporters) {
      const auto data = load_data(family(name) / "inputs.npz", loaded(name, exporter).graph(), {});
      ASSERT_TRUE(data) << name << exporter << ": " << data.error().line();
      EXPECT_EQ(data->samples.size(), 1u) << name << exporter;
    }
}

TEST(RealModels, SyntheticSamplesHaveTheDtypesAndFixedDimsOfTheModel) {
  for (const std::string name : kFamilies)
    for (const std::string exporter : kExporters) {
      const auto model = loaded(name, exporter);
      const auto data = synthesize(model.graph(), {}, 2, 1);
      ASSERT_TRUE(data) << name << exporter << ": " << data.error().line();
      for (const auto& [input, tensor] : data->samples[1]) {
        const auto& type = model.graph().value(model.graph().find_value(input)).type;
        EXPECT_EQ(tensor.dtype(), type.dtype) << name << " " << input;
        if (type.dims()) {
          EXPECT_EQ(tensor.dims(), *type.dims()) << name << " " << input;
        }
      }
    }
}

TEST(RealModels, VocabularyIsFoundAndMasksAreOnes) {
  for (const std::string name : {"bert", "minilm", "gpt2_past", "llama_past"})
    for (const std::string exporter : kExporters) {
      const auto model = loaded(name, exporter);
      const auto data = synthesize(model.graph(), {}, 1, 1);
      ASSERT_TRUE(data) << name << exporter << ": " << data.error().line();
      EXPECT_THAT(data->notes, Contains(AllOf(HasSubstr("input 'input_ids': integers 0 to"), HasSubstr("rows of"))))
          << name << exporter;
      if (const auto* mask = find_tensor(data->samples[0], "attention_mask"); mask != nullptr) {
        EXPECT_THAT(mask->to_doubles().value(), Each(1)) << name << exporter;
      }
    }
}

}  // namespace
}  // namespace hone::protocol
