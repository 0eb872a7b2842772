// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::protocol {
namespace {

using testing::HasSubstr;
using testing::Not;

Protocol example() {
  Protocol p;
  p.shapes = {{"x", {1, 3, 224, 224}}, {"a", {}}};
  p.data_sha256 = "abc";
  p.synthetic = false;
  p.sample_count = 12;
  p.seed = 18446744073709551615ull;
  p.threads = 2;
  p.settle_ms = 20.1;
  return p;
}

TEST(Protocol, SurvivesJson) {
  const auto read = Protocol::from_json(parse_json(dump_json(example().to_json()), "test").value());
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_EQ(read->hash(), example().hash());
  EXPECT_TRUE(require_same(*read, example()));
}

TEST(Protocol, HashChangesWithEveryField) {
  const std::string hash = example().hash();
  const Json fields = example().to_json();
  for (const auto& [key, value] : fields.items()) {
    Json other = fields;
    if (value.is_boolean())
      other[key] = !value.get<bool>();
    else if (value.is_string())
      other[key] = "else";
    else if (value.is_object())
      other[key]["x"] = {2};
    else
      other[key] = 77;
    EXPECT_NE(Protocol::from_json(other).value().hash(), hash) << key;
  }
}

TEST(Protocol, HashDoesNotDependOnTheMachine) {
  EXPECT_EQ(Protocol{}.hash(), "169d77dc2b39910a5cf115306c31415d2fc1191855b771a37ba0a05819245fe3");
}

TEST(Protocol, ComparingDifferentOnesNamesTheFields) {
  Protocol other = example();
  other.threads = 4;
  const Status status = require_same(example(), other);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(status.error().line(), HasSubstr("threads 2 / 4"));
  EXPECT_THAT(status.error().line(), Not(HasSubstr("seed")));
}

TEST(Protocol, MissingFieldIsNamed) {
  Json fields = example().to_json();
  fields.erase("threads");
  EXPECT_THAT(Protocol::from_json(fields).error().line(), HasSubstr("threads"));
}

}  // namespace
}  // namespace hone::protocol
