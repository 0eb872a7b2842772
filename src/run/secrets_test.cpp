// SPDX-License-Identifier: Apache-2.0
#include "run/secrets.h"

#include <gtest/gtest.h>

namespace hone::run {
namespace {

TEST(MaskSecrets, HidesValuesOfSecretWords) {
  EXPECT_EQ(mask_secrets("HF_TOKEN=hf_abc def"), "HF_TOKEN=*** def");
  EXPECT_EQ(mask_secrets("password: hunter2\nnext"), "password: ***\nnext");
  EXPECT_EQ(mask_secrets(R"({"api_key": "abc", "x": 1})"), R"({"api_key": "***", "x": 1})");
  EXPECT_EQ(mask_secrets("--password hunter2 --host a"), "--password *** --host a");
  EXPECT_EQ(mask_secrets("--api-key=abc"), "--api-key=***");
  EXPECT_EQ(mask_secrets("--access-token abc"), "--access-token ***");
  EXPECT_EQ(mask_secrets("https://user:pass@host/x"), "https://user:***@host/x");
}

TEST(MaskSecrets, LeavesOrdinaryTextAlone) {
  for (const char* text : {"token ids are < 30522", "input token_type_ids: int64", "tokens: 12", "", "a://b/c:d@e",
                           "the secret of speed", "password", "--token", "keys: 3", "http://host:80/path"})
    EXPECT_EQ(mask_secrets(text), text);
}

TEST(MaskSecrets, SurvivesAMegabyteInOneWord) {
  const std::string big(1 << 20, 'x');
  EXPECT_EQ(mask_secrets("token=" + big), "token=***");
  EXPECT_EQ(mask_secrets(big), big);
}

}  // namespace
}  // namespace hone::run
