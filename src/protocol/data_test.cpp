// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "protocol/convert.h"
#include "protocol/data.h"

namespace hone::protocol {
namespace {

using model::DType;
using model::Model;
using model::NamedTensors;
using model::Tensor;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTwoInputs = R"(
<ir_version: 8, opset_import: ["" : 17]>
g (float[batch, 3] x, int64[batch, n] ids) => (float[batch, 3] y, int64[batch, n] z)
{
  y = Relu(x)
  z = Identity(ids)
}
)";

Model model_of(std::string_view text) {
  auto model = Model::from_text(text);
  EXPECT_TRUE(model) << model.error().line();
  return std::move(*model);
}

class Data : public testing::Test {
 protected:
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  void put(const std::string& name, std::string_view text) const {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }
  void put(const std::string& name, const NamedTensors& arrays) const {
    fs::create_directories(at(name).parent_path());
    const Status status = write_npz(at(name), arrays);
    ASSERT_TRUE(status) << status.error().line();
  }
  Result<Dataset> load(const std::string& name, const Shapes& shapes = {}, size_t limit = 0) const {
    return load_data(at(name), model_.graph(), shapes, limit);
  }
  std::string error_of(const std::string& name, const Shapes& shapes = {}) const {
    const auto data = load(name, shapes);
    return data ? "no error" : data.error().line();
  }

  ScratchFolder folder_ = ScratchFolder::create("hone-data").value();
  Model model_ = model_of(kTwoInputs);
  const Tensor x_ = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor ids_ = Tensor::of<int64_t>({2, 2}, {7, 8, 9, 10});
};

TEST_F(Data, FolderOfNpzIsOneSampleEachInNaturalOrder) {
  for (const int64_t n : {10, 9, 2})
    put("d/s" + std::to_string(n) + ".npz", {{"ids", Tensor::of<int64_t>({2, 1}, {n, n})}, {"x", x_}});
  const auto data = load("d");
  ASSERT_TRUE(data) << data.error().line();
  ASSERT_EQ(data->samples.size(), 3u);
  EXPECT_EQ(data->samples[0][0].first, "x") << "the model's order";
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(data->samples[i][1].second.at<int64_t>(0), (std::array<int64_t, 3>{2, 9, 10}[i]));
  EXPECT_THAT(data->source, HasSubstr("(3 .npz files)"));
  EXPECT_FALSE(data->synthetic);
  EXPECT_EQ(load("d", {}, 2).value().samples.size(), 2u);
}

TEST_F(Data, OneNpzWithALeadingAxisIsManySamples) {
  put("a.npz", {{"x", Tensor::of<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6})},
                {"ids", Tensor::of<int64_t>({2, 1, 2}, {7, 8, 9, 10})}});
  const auto data = load("a.npz");
  ASSERT_TRUE(data) << data.error().line();
  ASSERT_EQ(data->samples.size(), 2u);
  EXPECT_EQ(data->samples[1][0].second, Tensor::of<float>({1, 3}, {4, 5, 6}));
  EXPECT_EQ(data->samples[1][1].second, Tensor::of<int64_t>({1, 2}, {9, 10}));
}

TEST_F(Data, OneNpzWithTheInputsRankIsOneSample) {
  put("a.npz", {{"x", x_}, {"ids", ids_}});
  EXPECT_EQ(load("a.npz").value().samples, (std::vector<NamedTensors>{{{"x", x_}, {"ids", ids_}}}));
}

TEST_F(Data, LeadingAxesThatDisagreeAreAnError) {
  const Tensor many_x = Tensor::of<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  put("a.npz", {{"x", many_x}, {"ids", Tensor::of<int64_t>({1, 1, 1}, {7})}});
  EXPECT_THAT(error_of("a.npz"), HasSubstr("input 'x' has 2 samples and input 'ids' has 1"));
  put("b.npz", {{"x", many_x}, {"ids", ids_}});
  EXPECT_THAT(error_of("b.npz"), HasSubstr("input 'x' has a leading sample axis and input 'ids' has none"));
}

TEST_F(Data, ReadsNpyFoldersAndJsonLines) {
  put("n/one/x.npy", read_file(fs::path(HONE_TEST_DATA) / "arrays/single.npy").value());
  put("n/one/ids.npy", read_file(fs::path(HONE_TEST_DATA) / "arrays/single.npy").value());
  const auto npy = load("n");
  ASSERT_TRUE(npy) << npy.error().line();
  EXPECT_EQ(npy->samples[0][1].second, Tensor::of<int64_t>({2, 3}, {0, 1, 2, 3, 4, 5})) << "float32 turned into int64";

  put("l.jsonl", R"({"input": {"x": [[0.1, 2, 3]], "ids": [[1, 2, 3]]}, "meta": {"prompt": "a"}}

{"input": {"x": {"b64": "AACAPwAAAEAAAEBA", "dtype": "float32", "shape": [1, 3]}, "ids": [[4]]}})");
  const auto lines = load("l.jsonl");
  ASSERT_TRUE(lines) << lines.error().line();
  ASSERT_EQ(lines->samples.size(), 2u);
  EXPECT_EQ(lines->samples[0][0].second, Tensor::of<float>({1, 3}, {0.1f, 2, 3}));
  EXPECT_EQ(lines->samples[1][0].second, Tensor::of<float>({1, 3}, {1, 2, 3}));
  EXPECT_EQ(lines->samples[1][1].second, Tensor::of<int64_t>({1, 1}, {4}));
}

TEST_F(Data, JsonLineErrorsNameTheLine) {
  put("a.jsonl",
      "{\"input\": {\"x\": [[1,2,3]], \"ids\": [[1]]}}\n{\"input\": {\"x\": [[1,2],[3]], \"ids\": [[1]]}}\n");
  EXPECT_THAT(error_of("a.jsonl"), HasSubstr("ragged"));
  EXPECT_THAT(error_of("a.jsonl"), HasSubstr("a.jsonl:2"));
  put("b.jsonl", R"({"input": {"x": [[1,2,3]], "ids": [[1.5]]}})");
  EXPECT_THAT(error_of("b.jsonl"), HasSubstr("input 'ids' has a value that is no int64"));
  put("c.jsonl", R"({"input": {"x": {"b64": "AAAA", "dtype": "float32", "shape": [1, 3]}, "ids": [[1]]}})");
  EXPECT_THAT(error_of("c.jsonl"), HasSubstr("b64 holds 3 bytes, float32[1,3] needs 12"));
  put("d.jsonl", "{\"inputs\": {}}");
  EXPECT_THAT(error_of("d.jsonl"), HasSubstr("needs an object \"input\""));
  put("e.jsonl", "{\"input\": ");
  EXPECT_THAT(error_of("e.jsonl"), HasSubstr("not valid JSON"));
  put("f.jsonl", "{\"input\": {\"x\": " + std::string(1000, '[') + std::string(1000, ']') + "}}");
  EXPECT_THAT(error_of("f.jsonl"), HasSubstr("nested too deep"));
}

TEST_F(Data, MissingInputNamesFileInputAndWhatWasFound) {
  put("a.npz", {{"x", x_}, {"id", ids_}});
  const std::string line = error_of("a.npz");
  EXPECT_THAT(line, HasSubstr("data for input 'ids' is missing"));
  EXPECT_THAT(line, HasSubstr("a.npz"));
  EXPECT_THAT(line, HasSubstr("expected ids int64[batch,n], found arrays: x, id"));
}

TEST_F(Data, ArraysWithoutAnInputAreANote) {
  put("a.npz", {{"x", x_}, {"ids", ids_}, {"label", ids_}});
  EXPECT_THAT(load("a.npz").value().notes, ElementsAre("array 'label' is ignored: the model has no such input"));
}

TEST_F(Data, WrongRankDimsAndDtypeAreExactErrors) {
  put("rank.npz", {{"x", Tensor::of<float>({3}, {1, 2, 3})}, {"ids", ids_}});
  EXPECT_EQ(error_of("rank.npz"), "input 'x' has rank 1, the model expects rank 2: " + at("rank.npz").string() +
                                      "; expected float32[batch,3], found float32[3]");
  put("dims.npz", {{"x", Tensor::of<float>({1, 4}, {1, 2, 3, 4})}, {"ids", ids_}});
  EXPECT_EQ(error_of("dims.npz"), "input 'x' has 4 in dim 1, the model expects 3: " + at("dims.npz").string() +
                                      "; expected float32[batch,3], found float32[1,4]");
  put("dtype.npz", {{"x", Tensor::of<double>({1, 3}, {0.1, 2, 3})}, {"ids", ids_}});
  EXPECT_EQ(error_of("dtype.npz"), "input 'x' has dtype float64, which can't become float32 without loss: " +
                                       at("dtype.npz").string() + "; expected float32[batch,3], found float64[1,3]");
  put("text.npz", {{"x", Tensor({1, 3}, {"a", "b", "c"})}, {"ids", ids_}});
  EXPECT_THAT(error_of("text.npz"), HasSubstr("found string[1,3]"));
}

TEST_F(Data, LosslessDtypesAreConverted) {
  put("a.npz", {{"x", Tensor::of<double>({1, 3}, {0.5, 2, 3})}, {"ids", Tensor::of<int8_t>({1, 2}, {-1, 5})}});
  const auto data = load("a.npz");
  ASSERT_TRUE(data) << data.error().line();
  EXPECT_EQ(data->samples[0][0].second, Tensor::of<float>({1, 3}, {0.5, 2, 3}));
  EXPECT_EQ(data->samples[0][1].second, Tensor::of<int64_t>({1, 2}, {-1, 5}));
}

TEST_F(Data, ShapesOfTheCommandLineAreHeldAgainstModelAndData) {
  put("a.npz", {{"x", x_}, {"ids", ids_}});
  EXPECT_THAT(error_of("a.npz", {{"x", {1, 3}}}), HasSubstr("has 2 in dim 0, the model expects 1"));
  EXPECT_THAT(error_of("a.npz", {{"y", {1}}}), HasSubstr("does not have: 'y'; its inputs: x, ids"));
  EXPECT_THAT(error_of("a.npz", {{"x", {1}}}), HasSubstr("--shape for 'x' has rank 1"));
  EXPECT_THAT(error_of("a.npz", {{"x", {2, 4}}}), HasSubstr("--shape for 'x' has 4 in dim 1, the model expects 3"));
  EXPECT_EQ(error_of("a.npz", {{"x", {2, 3}}}), "no error");
}

TEST_F(Data, NanAndUnequalSymbolsAreNotes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  put("d/1.npz", {{"x", Tensor::of<float>({1, 3}, {1, nan, 3})}, {"ids", ids_}});
  put("d/2.npz", {{"x", Tensor::of<float>({1, 3}, {nan, nan, 3})}, {"ids", ids_}});
  const auto notes = load("d").value().notes;
  EXPECT_THAT(notes, Contains("input 'x' has NaN or Inf, first in " + at("d/1.npz").string()));
  EXPECT_THAT(notes, Contains("dim 'batch' is 1 in input 'x' and 2 in input 'ids'"));
  EXPECT_EQ(notes.size(), 2u);
}

TEST_F(Data, FoldersAndFilesThatAreNoDataSayWhatToDo) {
  fs::create_directories(at("empty"));
  EXPECT_THAT(error_of("empty"), HasSubstr("no samples in folder"));
  EXPECT_THAT(error_of("absent"), HasSubstr("data does not exist"));
  put("nothing", "");
  EXPECT_THAT(error_of("nothing"), HasSubstr("data file is empty"));
  put("prose.txt", "hello");
  EXPECT_THAT(error_of("prose.txt"), HasSubstr("neither .npz, .npy nor JSON lines"));
  put("mix/a.npz", NamedTensors{});
  put("mix/b.jsonl", "{}");
  EXPECT_THAT(error_of("mix"), HasSubstr("folder mixes"));
  put("blank.jsonl", "{");
  EXPECT_THAT(error_of("blank.jsonl"), HasSubstr("blank.jsonl:1"));
}

TEST_F(Data, ModelWithoutInputsHasOneEmptySample) {
  model_ = model_of(
      R"(<ir_version: 8, opset_import: ["" : 17]> g () => (float[1] y) { y = Constant<value_floats = [1.0]>() })");
  put("a.npz", {{"x", x_}});
  const auto data = load("a.npz");
  ASSERT_TRUE(data) << data.error().line();
  EXPECT_EQ(data->samples, std::vector<NamedTensors>(1));
  EXPECT_EQ(synthesize(model_.graph(), {}, 4, 1).value().samples, std::vector<NamedTensors>(1));
}

TEST_F(Data, SequenceInputsAreUnsupported) {
  model_ = model_of(
      R"(<ir_version: 8, opset_import: ["" : 17]> g (seq(float[n]) s) => (int64 y) { y = SequenceLength(s) })");
  const auto data = synthesize(model_.graph(), {}, 1, 1);
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(data.error().line(), HasSubstr("input 's' is sequence(float32[n])"));
}

TEST_F(Data, InputsWithADefaultMayBeAbsent) {
  model_ = model_of(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) })");
  put("a.npz", {{"x", Tensor::of<float>({2}, {1, 2})}});
  const auto data = load("a.npz");
  ASSERT_TRUE(data) << data.error().line();
  EXPECT_EQ(data->samples[0].size(), 1u);
  EXPECT_EQ(synthesize(model_.graph(), {}, 1, 1).value().samples[0].size(), 1u);
}

TEST_F(Data, StringAndEmptyTensorsPass) {
  model_ = model_of(R"(<ir_version: 8, opset_import: ["" : 17]>
g (string[n] s, float[m] e) => (string[n] y, float[m] z) { y = Identity(s) z = Identity(e) })");
  const Tensor text({2}, {"ä", ""}), empty = Tensor::of<float>({0}, {});
  put("a.npz", {{"s", text}, {"e", empty}});
  EXPECT_EQ(load("a.npz").value().samples[0], (NamedTensors{{"s", text}, {"e", empty}}));
  put("b.jsonl", R"({"input": {"s": ["ä", ""], "e": []}})");
  EXPECT_EQ(load("b.jsonl").value().samples[0], (NamedTensors{{"s", text}, {"e", empty}}));
}

TEST_F(Data, HashIsOfTheContentAndNotOfTheFiles) {
  put("a.npz", {{"x", x_}, {"ids", ids_}});
  put("b/other.npz", {{"ids", ids_}, {"x", x_}, {"more", x_}});
  put("c.npz", {{"x", x_}, {"ids", Tensor::of<int64_t>({2, 2}, {7, 8, 9, 11})}});
  EXPECT_EQ(load("a.npz").value().sha256(), load("b").value().sha256());
  EXPECT_NE(load("a.npz").value().sha256(), load("c.npz").value().sha256());
  EXPECT_EQ(shapes_of(*load("a.npz")), (Shapes{{"x", {2, 3}}, {"ids", {2, 2}}}));
}

TEST(TestDataSet, ReadsTheOnnxBackendFormat) {
  // A TensorProto by hand: dims 2, float, raw data {1, 2}.
  const std::string proto("\x08\x02\x10\x01\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 14);
  const Model model =
      model_of(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) })");
  const auto folder = ScratchFolder::create("hone-pb").value();
  for (const char* set : {"test_data_set_0", "test_data_set_1"}) {
    fs::create_directories(folder.path() / set);
    std::ofstream(folder.path() / set / "input_0.pb", std::ios::binary) << proto;
    std::ofstream(folder.path() / set / "output_0.pb", std::ios::binary) << "ignored";
  }
  const auto data = load_data(folder.path(), model.graph(), {});
  ASSERT_TRUE(data) << data.error().line();
  ASSERT_EQ(data->samples.size(), 2u);
  EXPECT_EQ(data->samples[1][0].second, Tensor::of<float>({2}, {1, 2}));
  EXPECT_THAT(data->source, HasSubstr("2 test data sets"));
  EXPECT_EQ(load_data(folder.path() / "test_data_set_0", model.graph(), {}).value().samples.size(), 1u);

  std::ofstream(folder.path() / "test_data_set_0/input_1.pb", std::ios::binary) << proto;
  EXPECT_THAT(load_data(folder.path(), model.graph(), {}).error().line(),
              HasSubstr("data for input number 1, the model has 1"));
  std::ofstream(folder.path() / "test_data_set_0/input_0.pb", std::ios::binary) << "\x08";
  EXPECT_THAT(load_data(folder.path(), model.graph(), {}).error().line(), HasSubstr("not a serialized ONNX tensor"));
}

TEST(Convert, TellsWhatIsLossless) {
  const auto becomes = [](const Tensor& tensor, DType dtype) { return convert_lossless(tensor, dtype).has_value(); };
  EXPECT_TRUE(becomes(Tensor::of<int64_t>({2}, {0, 255}), DType::kUint8));
  EXPECT_FALSE(becomes(Tensor::of<int64_t>({1}, {256}), DType::kUint8));
  EXPECT_FALSE(becomes(Tensor::of<int64_t>({1}, {-1}), DType::kUint64));
  EXPECT_FALSE(becomes(Tensor::of<int64_t>({1}, {(1LL << 60) + 1}), DType::kFloat));
  EXPECT_TRUE(becomes(Tensor::of<int64_t>({2}, {0, 1}), DType::kBool));
  EXPECT_FALSE(becomes(Tensor::of<int64_t>({1}, {2}), DType::kBool));
  EXPECT_FALSE(becomes(Tensor::of<float>({1}, {0.5f}), DType::kInt64));
  EXPECT_TRUE(becomes(Tensor::of<float>({1}, {0.5f}), DType::kFloat16));
  EXPECT_FALSE(becomes(Tensor::of<float>({1}, {0.1f}), DType::kBfloat16));
  EXPECT_TRUE(becomes(Tensor::of<double>({1}, {std::numeric_limits<double>::quiet_NaN()}), DType::kFloat));
  EXPECT_FALSE(becomes(Tensor::of<double>({1}, {1e300}), DType::kFloat));
}

}  // namespace
}  // namespace hone::protocol
