// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Nearest, FindsATypoAndRefusesAStranger) {
  EXPECT_EQ(nearest("--budgte", {"--budget", "--data"}), "--budget");
  EXPECT_EQ(nearest("zebra", {"--budget", "--data"}), "");
}

TEST(Slug, KeepsLettersAndDigitsOnly) {
  EXPECT_EQ(slug("My Model (v2).onnx"), "my-model-v2-onnx");
  EXPECT_EQ(slug("///"), "model");
  EXPECT_EQ(slug("abcdef--", 4), "abcd");
}

TEST(BytesText, UsesPowersOfAThousand) {
  EXPECT_EQ(bytes_text(950), "950 B");
  EXPECT_EQ(bytes_text(1400000), "1.4 MB");
}

TEST(Counted, KnowsThePlural) {
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
}

}  // namespace
}  // namespace hone
