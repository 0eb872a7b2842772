// Where weights are stored: external data (its safety, its sharing), files over 2 GB, failing disks.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "model/canonical_test.h"
#include "model/model.h"

namespace hone::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Weights = SaveOptions::Weights;

class Storage : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.emplace(*ScratchFolder::create("hone-storage-test"));
    fs::create_directory(folder() / "model");
  }
  const fs::path& folder() const { return scratch_->path(); }
  fs::path path(const std::string& name) const { return folder() / name; }

  static Model with_weights() {
    Model model = *Model::from_text(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[1000] x) => (float[1000] y) <float[1] small = {1}> { a = Add(x, small)  b = Add(a, small)  y = Add(b, small) })");
    Graph& graph = model.graph();
    for (int i = 1; i < 3; ++i) {
      const ValueId weight = graph.add_constant("w", Tensor::of<float>({1000}, std::vector<float>(1000, 1.5F * i)));
      graph.set_input(graph.order()[static_cast<size_t>(i)], 1, weight);
    }
    return model;
  }

  // A model whose weight lies where `location`, `offset` and `length` say.
  std::string error_of_external(const std::string& location, const std::string& offset, const std::string& length) {
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(*with_weights().to_bytes()));
    auto& tensor = *proto.mutable_graph()->mutable_initializer(1);
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair("location", location), std::pair("offset", offset), std::pair("length", length)}) {
      if (value == "-") continue;
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    EXPECT_TRUE(write_file(path("model/m.onnx"), proto.SerializeAsString()).has_value());
    const auto model = Model::load(path("model/m.onnx"));
    if (model) return "(no error)";
    EXPECT_EQ(model.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(model.error().line(), AllOf(HasSubstr("m.onnx"), HasSubstr("tensor 'w'")));
    return model.error().line();
  }

 private:
  std::optional<ScratchFolder> scratch_;
};

TEST_F(Storage, ExternalDataInTheModelsFolderIsRead) {
  fs::create_directory(path("model/sub"));
  ASSERT_TRUE(write_file(path("model/sub/w.bin"), std::string(8000, '\0')).has_value());
  fs::create_symlink("sub/w.bin", path("model/link"));
  EXPECT_EQ(error_of_external("sub/w.bin", "0", "4000"), "(no error)");
  EXPECT_EQ(error_of_external("sub/w.bin", "4000", "4000"), "(no error)");
  EXPECT_EQ(error_of_external("sub/w.bin", "-", "-"), "(no error)");
  EXPECT_EQ(error_of_external("link", "0", "4000"), "(no error)");
}

TEST_F(Storage, ExternalDataElsewhereIsRefused) {
  ASSERT_TRUE(write_file(path("outside.bin"), std::string(8000, '\0')).has_value());
  ASSERT_TRUE(write_file(path("model/w.bin"), std::string(8000, '\0')).has_value());
  fs::create_symlink("../outside.bin", path("model/link"));
  fs::create_directory_symlink("..", path("model/up"));
  fs::create_symlink("loop", path("model/loop"));
  ASSERT_EQ(::mkfifo(path("model/pipe").c_str(), 0600), 0);
  const auto refused = [&](const std::string& location) { return error_of_external(location, "0", "4000"); };
  EXPECT_THAT(refused("../outside.bin"), HasSubstr("external data has a path with '..'"));
  EXPECT_THAT(refused("sub/../w.bin"), HasSubstr("external data has a path with '..'"));
  EXPECT_THAT(refused(path("outside.bin").string()), HasSubstr("external data has an absolute path"));
  EXPECT_THAT(refused("link"), HasSubstr("external data is a link out of the model's folder: 'link'"));
  EXPECT_THAT(refused("up/outside.bin"), HasSubstr("external data is a link out of the model's folder"));
  EXPECT_THAT(refused("loop"), HasSubstr("external data can't be found: 'loop'"));
  EXPECT_THAT(refused("missing.bin"), HasSubstr("external data can't be found: 'missing.bin' (No such file"));
  EXPECT_THAT(refused("up"), HasSubstr("out of the model's folder"));
  EXPECT_THAT(refused("."), HasSubstr("is a folder, not a file"));
  EXPECT_THAT(refused("pipe"), HasSubstr("is not a regular file"));
  EXPECT_THAT(refused(""), HasSubstr("external data has no location"));
  EXPECT_THAT(refused("-"), HasSubstr("external data has no location"));
}

TEST_F(Storage, RangesOutsideTheFileAreRefused) {
  ASSERT_TRUE(write_file(path("model/w.bin"), std::string(8000, '\0')).has_value());
  const auto refused = [&](const std::string& offset, const std::string& length) {
    return error_of_external("w.bin", offset, length);
  };
  EXPECT_THAT(refused("4001", "4000"), HasSubstr("external data reaches past the end of 'w.bin': 4000 bytes at 4001"));
  EXPECT_THAT(refused("18446744073709551615", "4000"), HasSubstr("external data reaches past the end"));
  EXPECT_THAT(refused("18446744073709551616", "4000"), HasSubstr("external data has a bad offset"));
  EXPECT_THAT(refused("-1", "4000"), HasSubstr("external data has a bad offset: '-1'"));
  EXPECT_THAT(refused("0x10", "4000"), HasSubstr("external data has a bad offset: '0x10'"));
  EXPECT_THAT(refused("0", "3999"), HasSubstr("external data does not fit its shape: 3999 bytes, but float32[1000]"));
  EXPECT_THAT(refused("0", "many"), HasSubstr("external data has a bad length: 'many'"));
}

TEST_F(Storage, WeightsMoveBetweenInlineAndExternalUnchanged) {
  const Model model = with_weights();
  const auto files = model.save(path("a.onnx"), {Weights::kExternal, true});
  ASSERT_TRUE(files.has_value()) << files.error().line();
  EXPECT_THAT(*files, ElementsAre(path("a.onnx"), path("a.onnx.data")));
  EXPECT_EQ(fs::file_size(path("a.onnx.data")), 4096 + 4000);
  const Model external = *Model::load(path("a.onnx"));
  EXPECT_EQ(external.fingerprint(), model.fingerprint());
  EXPECT_TRUE(external.check().has_value());
  // Like the file it came from.
  ASSERT_EQ(external.save(path("model/b.onnx"))->size(), 2);
  EXPECT_EQ(Model::load(path("model/b.onnx"))->fingerprint(), model.fingerprint());
  ASSERT_EQ(external.save(path("c.onnx"), {Weights::kInline, true})->size(), 1);
  EXPECT_EQ(difference(*read_file(path("c.onnx")), *model.to_bytes()), "");
}

TEST_F(Storage, UnchangedDataInTheSameFolderIsSharedAndChangedDataIsNot) {
  ASSERT_TRUE(with_weights().save(path("a.onnx"), {Weights::kExternal, true}).has_value());
  Model model = *Model::load(path("a.onnx"));
  EXPECT_THAT(*model.save(path("same.onnx")), ElementsAre(path("same.onnx")));
  EXPECT_EQ(Model::load(path("same.onnx"))->fingerprint(), model.fingerprint());
  Graph& graph = model.graph();
  graph.set_constant(graph.find_value("w"), Tensor::of<float>({1000}, std::vector<float>(1000, 9)));
  EXPECT_THAT(*model.save(path("changed.onnx")), ElementsAre(path("changed.onnx"), path("changed.onnx.data")));
  EXPECT_EQ(fs::file_size(path("changed.onnx.data")), 4000);
  EXPECT_EQ(Model::load(path("changed.onnx"))->fingerprint(), model.fingerprint());
  ASSERT_EQ(model.save(path("own.onnx"), {Weights::kAuto, false})->size(), 2);
  EXPECT_EQ(fs::file_size(path("own.onnx.data")), 4096 + 4000);
}

TEST_F(Storage, SavingOverTheFileItCameFromKeepsTheOldDataUntilTheEnd) {
  ASSERT_TRUE(with_weights().save(path("a.onnx"), {Weights::kExternal, true}).has_value());
  Model model = *Model::load(path("a.onnx"));
  Graph& graph = model.graph();
  graph.set_constant(graph.find_value("w"), Tensor::of<float>({1000}, std::vector<float>(1000, 9)));
  const std::string changed = model.fingerprint();
  EXPECT_THAT(*model.save(path("a.onnx")), ElementsAre(path("a.onnx"), path("a.onnx-1.data")));
  EXPECT_EQ(model.fingerprint(), changed);
  EXPECT_EQ(Model::load(path("a.onnx"))->fingerprint(), changed);
  // Inline: the mapping outlives the file it is of.
  ASSERT_TRUE(with_weights().save(path("i.onnx")).has_value());
  const Model inlined = *Model::load(path("i.onnx"));
  ASSERT_TRUE(inlined.save(path("i.onnx")).has_value());
  EXPECT_EQ(Model::load(path("i.onnx"))->fingerprint(), inlined.fingerprint());
}

TEST_F(Storage, DataThatWasReplacedSinceLoadingIsNotShared) {
  ASSERT_TRUE(with_weights().save(path("a.onnx"), {Weights::kExternal, true}).has_value());
  const Model model = *Model::load(path("a.onnx"));
  const std::string before = model.fingerprint();
  ASSERT_TRUE(write_file(path("a.onnx.data"), std::string(9000, 'n')).has_value());
  ASSERT_EQ(model.save(path("b.onnx"))->size(), 2);
  EXPECT_EQ(Model::load(path("b.onnx"))->fingerprint(), before);
}

TEST_F(Storage, AnUnwritableFolderIsAnError) {
  const auto files = with_weights().save(path("nowhere/a.onnx"));
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().kind, ErrorKind::kIo);
  EXPECT_THAT(files.error().line(), HasSubstr("can't write file"));
}

// A file size limit stands for a full disk: write() fails in the middle.
TEST_F(Storage, AFullDiskLeavesNothingBehind) {
  ASSERT_TRUE(with_weights().save(path("old.onnx"), {Weights::kExternal, true}).has_value());
  const auto entries = [&] { return std::distance(fs::directory_iterator(folder()), fs::directory_iterator()); };
  const auto before = entries();
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{3000, 3000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Model model = *Model::load(path("old.onnx"));
    const bool failed = !model.save(path("new.onnx"), {Weights::kInline, true}).has_value() &&
                        !model.save(path("new.onnx"), {Weights::kExternal, false}).has_value() &&
                        !model.save(path("old.onnx"), {Weights::kExternal, false}).has_value() &&
                        !with_weights().save(path("new.onnx")).has_value();
    ::_exit(failed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(Model::load(path("old.onnx"))->fingerprint(), with_weights().fingerprint());
}

// A 3 GB model that takes no disk: the weights are holes.
TEST_F(Storage, ModelsOverTwoGigabytesLoadAndSave) {
  constexpr int64_t kCount = int64_t{3} << 28;  // 3 GiB of float32
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(*with_weights().to_bytes()));
  auto& tensor = *proto.mutable_graph()->mutable_initializer(1);
  tensor.clear_raw_data();
  tensor.set_dims(0, kCount);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("holes");
  ASSERT_TRUE(write_file(path("big.onnx"), proto.SerializeAsString()).has_value());
  ASSERT_TRUE(write_file(path("holes"), "").has_value());
  fs::resize_file(path("holes"), static_cast<uintmax_t>(kCount) * 4);
  const auto model = Model::load(path("big.onnx"));
  ASSERT_TRUE(model.has_value()) << model.error().line();
  EXPECT_EQ(model->weight_bytes(), static_cast<uint64_t>(kCount) * 4 + 4000 + 4);
  EXPECT_TRUE(model->check().has_value());
  // The hole is referred to where it lies; what was inline goes into a file of its own.
  EXPECT_THAT(*model->save(path("again.onnx")), ElementsAre(path("again.onnx"), path("again.onnx.data")));
  EXPECT_EQ(fs::file_size(path("again.onnx.data")), 4000);
  EXPECT_EQ(Model::load(path("again.onnx"))->weight_bytes(), model->weight_bytes());
  const auto refused = model->save(path("inline.onnx"), {Weights::kInline, true});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().line(), HasSubstr("over protobuf's 2 GB"));
  EXPECT_FALSE(fs::exists(path("inline.onnx")));
}

// The same inline: no other tool reads it, but hone does. Made by hand, with a hole for the weight.
TEST_F(Storage, AnInlineModelOverTwoGigabytesLoads) {
  const uint64_t bytes = uint64_t{3} << 30;
  const auto varint = [](uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    return out + static_cast<char>(value);
  };
  const std::string dims = "\x08" + varint(bytes / 4);
  const std::string tensor_head = dims + "\x10\x01" + "\x42\x01w" + "\x4a" + varint(bytes);
  const uint64_t tensor_size = tensor_head.size() + bytes;
  const std::string node = std::string("\x0a\x01w\x12\x01y\x22\x05") + "Shape";
  const std::string output = std::string("\x0a\x01y\x12\x08\x0a\x06\x08\x07\x12\x02\x0a\x00", 13);
  const std::string graph_head = "\x0a" + varint(node.size()) + node + "\x12\x01g" + "\x62" + varint(output.size()) +
                                 output + "\x2a" + varint(tensor_size) + tensor_head;
  const std::string head =
      std::string("\x08\x08\x42\x02\x10\x11") + "\x3a" + varint(graph_head.size() + bytes) + graph_head;
  ASSERT_TRUE(write_file(path("big.onnx"), head).has_value());
  fs::resize_file(path("big.onnx"), head.size() + bytes);
  const auto model = Model::load(path("big.onnx"));
  ASSERT_TRUE(model.has_value()) << model.error().line();
  EXPECT_EQ(model->weight_bytes(), bytes);
  EXPECT_EQ(model->graph().value(model->graph().find_value("w")).initializer->at<float>(1000), 0);
  EXPECT_FALSE(model->to_bytes().has_value());
}

}  // namespace
}  // namespace hone::model
