// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "protocol/data.h"
#include "protocol/npy.h"
#include "protocol/unicode.h"

namespace hone::protocol {
namespace {

using model::DType;
using model::NamedTensors;
using model::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

fs::path array_file(const std::string& name) { return fs::path(HONE_TEST_DATA) / "arrays" / name; }

std::string npz_error(const std::string& name) {
  const auto read = read_npz(array_file(name));
  return read ? "no error" : read.error().line();
}
std::string npy_error(const std::string& name) {
  const auto read = read_npy(array_file(name));
  return read ? "no error" : read.error().line();
}

class NumpyFile : public testing::Test {
 protected:
  void SetUp() override {
    auto read = read_npz(array_file("numpy.npz"));
    ASSERT_TRUE(read) << read.error().line();
    arrays_ = *read;
  }
  const Tensor& array(std::string_view name) {
    const Tensor* found = find_tensor(arrays_, name);
    EXPECT_NE(found, nullptr) << name;
    static const Tensor kNone;
    return found != nullptr ? *found : kNone;
  }
  NamedTensors arrays_;
};

TEST_F(NumpyFile, GivesNumbersOfEveryDtype) {
  EXPECT_EQ(array("f4"), Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(array("f8"), Tensor::of<double>({2, 3}, {0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(array("f2").dtype(), DType::kFloat16);
  EXPECT_EQ(array("i1"), Tensor::of<int8_t>({2}, {-1, 2}));
  EXPECT_EQ(array("u8"), Tensor::of<uint64_t>({1}, {std::numeric_limits<uint64_t>::max()}));
  EXPECT_EQ(array("b"), Tensor::of<bool>({2}, {true, false}));
  EXPECT_EQ(array("c").dtype(), DType::kComplex64);
}

TEST_F(NumpyFile, GivesScalarsAndEmptyArrays) {
  EXPECT_EQ(array("scalar"), Tensor::scalar<int64_t>(7));
  EXPECT_EQ(array("empty").dims(), (std::vector<int64_t>{0, 4}));
}

TEST_F(NumpyFile, TurnsFortranOrderAndBigEndianRound) {
  std::vector<int64_t> expected(24);
  for (size_t i = 0; i < 24; ++i) expected[i] = static_cast<int64_t>(i);
  EXPECT_EQ(array("fortran"), Tensor::of<int64_t>({2, 3, 4}, expected));
  EXPECT_EQ(array("big"), Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
}

TEST_F(NumpyFile, GivesTextAsUtf8AndKeepsNamesWithAnyCharacters) {
  EXPECT_THAT(array("text").strings(), ElementsAre("", "schön", "日本"));
  EXPECT_THAT(array("raw").strings(), ElementsAre("ab", "c"));
  EXPECT_EQ(array("übung/a:0").dims(), (std::vector<int64_t>{2, 3}));
}

TEST(Npz, WithoutArraysIsReadAsItWasWritten) {
  const auto scratch = ScratchFolder::create("hone-npz").value();
  const fs::path file = scratch.path() / "none.npz";
  ASSERT_TRUE(write_npz(file, {}));
  const auto read = read_npz(file);
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_TRUE(read->empty());
  const std::string bytes = read_file(file).value();
  ASSERT_TRUE(write_file(file, bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(read_npz(file)) << "cut off";
}

TEST(Npz, ReadsDeflatedArrays) {
  const auto read = read_npz(array_file("deflated.npz"));
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(find_tensor(*read, "zeros")->count(), 10000);
}

TEST(Npy, ReadsASingleArrayAndTheBfloat16OfMlDtypes) {
  EXPECT_EQ(read_npy(array_file("single.npy")).value(), Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  const auto bfloat = read_npy(array_file("bfloat16.npy"));
  ASSERT_TRUE(bfloat) << bfloat.error().line();
  EXPECT_THAT(bfloat->to_doubles().value(), ElementsAre(1.0, -2.0));
}

TEST(Npz, RefusesPickledObjectsAndOtherDtypesByName) {
  EXPECT_THAT(npz_error("pickled.npz"), HasSubstr("Python objects (pickled) is refused"));
  EXPECT_THAT(npz_error("pickled.npz"), HasSubstr("pickled.npz: x"));
  EXPECT_THAT(npz_error("fields.npz"), HasSubstr("named fields"));
  EXPECT_THAT(npz_error("long_double.npz"), HasSubstr("a dtype hone does not read"));
}

TEST(Npz, RefusesDamagedArchives) {
  EXPECT_THAT(npz_error("other.npz"), HasSubstr("not a .npz file"));
  EXPECT_THAT(npz_error("truncated.npz"), HasSubstr("not a .npz file"));
  EXPECT_THAT(npz_error("no_array.npz"), HasSubstr("no .npy array: 'readme.txt'"));
  EXPECT_THAT(npz_error("twice.npz"), HasSubstr("twice"));
  EXPECT_THAT(npz_error("bomb.npz"), HasSubstr("entry claims 4294967280 bytes"));
  EXPECT_THAT(npz_error("flipped.npz"), HasSubstr("damaged"));
  EXPECT_THAT(npz_error("absent.npz"), HasSubstr("absent.npz"));
}

TEST(Npy, RefusesHeadersThatLie) {
  EXPECT_THAT(npy_error("short.npy"), HasSubstr("array of dims [2,3] needs 24 bytes, found 20"));
  EXPECT_THAT(npy_error("huge.npy"), HasSubstr("impossible dims"));
  EXPECT_THAT(npy_error("negative.npy"), HasSubstr("header can't be read"));
  EXPECT_THAT(npy_error("header_lies.npy"), HasSubstr("says it has 65535 bytes"));
  EXPECT_THAT(npy_error("header_huge.npy"), HasSubstr("says it has 2147483647 bytes"));
  EXPECT_THAT(npy_error("not_python.npy"), HasSubstr("header can't be read"));
  EXPECT_THAT(npy_error("version9.npy"), HasSubstr("unknown .npy version 9.0"));
}

Result<Tensor> decode(std::string_view bytes) {
  const size_t size = bytes.size();
  const ReadBytes read = [&](std::span<std::byte> out) -> Status {
    if (out.size() > bytes.size()) return fail(bad_input("short"));
    std::memcpy(out.data(), bytes.data(), out.size());
    bytes.remove_prefix(out.size());
    return {};
  };
  return decode_npy(read, size, "memory");
}

TEST(Npy, EveryPrefixOfAFileIsAnErrorAndNoCrash) {
  const std::string whole = read_file(array_file("single.npy")).value();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode(std::string_view(whole).substr(0, size))) << size;
  }
}

// Bytes are changed at random places; what comes back is an error or a tensor, never a crash or a huge allocation.
TEST(Npy, DamagedBytesNeverCrash) {
  std::mt19937 random(11);
  for (const char* name : {"single.npy", "bfloat16.npy"}) {
    const std::string whole = read_file(array_file(name)).value();
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = whole;
      for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
      if (const auto tensor = decode(damaged)) {
        EXPECT_LE(tensor->byte_size(), whole.size());
      }
    }
  }
}

TEST(Npz, DamagedArchivesNeverCrash) {
  std::mt19937 random(12);
  const auto folder = ScratchFolder::create("hone-npz").value();
  for (const char* name : {"numpy.npz", "deflated.npz"}) {
    const std::string whole = read_file(array_file(name)).value();
    for (int round = 0; round < 300; ++round) {
      std::string damaged = whole;
      for (int k = 0; k < 4; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
      if (round % 3 == 0) damaged.resize(random() % damaged.size());
      const fs::path file = folder.path() / "damaged.npz";
      std::ofstream(file, std::ios::binary) << damaged;
      const auto read = read_npz(file);
      if (!read) {
        EXPECT_THAT(read.error().line(), HasSubstr("damaged.npz"));
      }
    }
  }
}

Tensor bits(DType dtype, std::vector<int64_t> dims, std::vector<uint8_t> bytes) {
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  return Tensor(dtype, std::move(dims), std::as_bytes(std::span(*owner)), owner);
}

TEST(Npz, WhatIsWrittenComesBackBitForBit) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const NamedTensors written = {{"a", Tensor::of<float>({3}, {nan, inf, -0.0f})},
                                {"名/x:0", Tensor::of<int64_t>({2, 1}, {-5, 1LL << 60})},
                                {"scalar", Tensor::scalar<double>(0.1)},
                                {"none", Tensor::of<float>({2, 0, 3}, {})},
                                {"flag", Tensor::of<bool>({2}, {true, false})},
                                {"half", bits(DType::kFloat16, {2}, {0, 60, 1, 188})},
                                {"brain", bits(DType::kBfloat16, {1, 1}, {0x80, 0x3f})},
                                {"small", bits(DType::kFloat8E4M3FN, {3}, {1, 2, 255})},
                                {"nibbles", bits(DType::kInt4, {3}, {0xf1, 0x07})},
                                {"text", Tensor({2, 2}, {"", "größe", "日", "z"})},
                                {"bytes", Tensor({2}, std::vector<std::string>{"\xff\xfe", "ok"})}};
  const auto folder = ScratchFolder::create("hone-npz").value();
  const fs::path file = folder.path() / "x.npz";
  const Status status = write_npz(file, written);
  ASSERT_TRUE(status) << status.error().line();
  const auto read = read_npz(file);
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ((*read)[i].first, written[i].first);
    EXPECT_EQ((*read)[i].second, written[i].second) << written[i].first;
  }
}

TEST(Npz, TheSameArraysMakeTheSameFile) {
  const NamedTensors arrays = {{"a", Tensor::of<float>({2}, {1, 2})}};
  const auto folder = ScratchFolder::create("hone-npz").value();
  ASSERT_TRUE(write_npz(folder.path() / "1.npz", arrays));
  ASSERT_TRUE(write_npz(folder.path() / "2.npz", arrays));
  EXPECT_EQ(read_file(folder.path() / "1.npz").value(), read_file(folder.path() / "2.npz").value());
}

TEST(Npz, CannotBeWrittenWhereThereIsNoFolder) {
  const Status status = write_npz("/nonexistent/x.npz", {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kIo);
}

TEST(Samples, AreNumberedFilesAndAGapIsAnError) {
  const auto folder = ScratchFolder::create("hone-samples").value();
  std::vector<NamedTensors> samples;
  for (int i = 0; i < 3; ++i) samples.push_back({{"x", Tensor::scalar<float>(static_cast<float>(i))}});
  ASSERT_TRUE(write_samples(folder.path(), samples));
  const auto read = read_samples(folder.path());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(*read, samples);
  EXPECT_EQ(read_samples(folder.path(), 2).value().size(), 2u);
  ASSERT_TRUE(write_samples(folder.path() / "again", samples));
  ASSERT_TRUE(write_samples(folder.path() / "again", {samples[0]}));
  EXPECT_EQ(read_samples(folder.path() / "again").value().size(), 1u) << "of the longer set nothing is left";
  fs::remove(folder.path() / "sample_0001.npz");
  EXPECT_THAT(read_samples(folder.path()).error().line(), HasSubstr("sample_0001.npz"));
}

TEST(Unicode, RefusesWhatIsNoUtf8) {
  for (const char* bad : {"\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\x80", "\xe2\x82", "\xf0\x80\x80\x80"})
    EXPECT_FALSE(from_utf8(bad)) << bad;
  const std::string good = "a\u00e9\u20ac\U0001f600";
  EXPECT_EQ(to_utf8(from_utf8(good).value()), good);
}

}  // namespace
}  // namespace hone::protocol
