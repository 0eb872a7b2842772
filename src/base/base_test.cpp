// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

namespace hone {
namespace {

TEST(Error, PrintsAsOneLine) {
  Error error = bad_input("can't parse\nthis", "a.onnx", "pass a model").with("loading");
  EXPECT_EQ(error.line(), "can't parse; this: a.onnx (loading); pass a model");
  EXPECT_EQ(exit_status(error.kind), 2);
}

TEST(Hash, IsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

Result<int> half(int n) {
  if (n % 2 != 0) return fail(bad_input("odd"));
  return n / 2;
}
Result<int> quarter(int n) { return half(HONE_TRY(half(n))); }

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(quarter(8), 2);
  EXPECT_FALSE(quarter(6).has_value());
}

TEST(AtomicFile, LeavesTheOldFileWhenNotCommitted) {
  auto folder = ScratchFolder::create("hone-test");
  ASSERT_TRUE(folder);
  const fs::path path = folder->path() / "a.txt";
  ASSERT_TRUE(write_file(path, "old"));
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string_view("new")));
  }
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder->path()), fs::directory_iterator()), 1);
}

TEST(File, MissingFileIsBadInput) {
  auto text = read_file("/nonexistent/x");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::kBadInput);
}

TEST(Json, ErrorNamesTheByte) {
  auto value = parse_json("{\"a\": }", "f.json");
  ASSERT_FALSE(value);
  EXPECT_THAT(value.error().line(), testing::HasSubstr("byte 7"));
}

TEST(Json, ADamagedDocumentIsAnError) {
  const auto read = [](const Json& value) {
    return json_document<int>("number", [&](int* out) { *out = value.at("n").get<int>(); });
  };
  EXPECT_EQ(read({{"n", 3}}), 3);
  EXPECT_THAT(read({{"m", 3}}).error().line(), testing::HasSubstr("damaged number"));
  EXPECT_THAT(read({{"n", "three"}}).error().line(), testing::HasSubstr("damaged number"));
}

}  // namespace
}  // namespace hone
