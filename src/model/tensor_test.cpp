// SPDX-License-Identifier: Apache-2.0
#include "model/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hone::model {
namespace {

using ::testing::ElementsAre;

Tensor of_bytes(DType dtype, std::vector<int64_t> dims, const std::vector<uint8_t>& bytes) {
  std::span<std::byte> out;
  Tensor tensor = Tensor::make(dtype, std::move(dims), &out);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return tensor;
}

TEST(Tensor, EveryElementTypeHasANameThatLeadsBackToIt) {
  for (int number = 1; number <= 28; ++number) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_NE(dtype_name(dtype), "undefined") << number;
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_name(static_cast<DType>(99)), "undefined");
  EXPECT_EQ(dtype_from_name("float31"), DType::kUndefined);
}

TEST(Tensor, SubByteTypesArePackedWithoutGaps) {
  EXPECT_EQ(packed_size(DType::kInt4, 5), 3);
  EXPECT_EQ(packed_size(DType::kUint2, 5), 2);
  EXPECT_EQ(packed_size(DType::kFloat6E2M3, 5), 4);
  EXPECT_EQ(packed_size(DType::kFloat, 5), 20);
  EXPECT_THAT(*of_bytes(DType::kInt4, {3}, {0x8f, 0x07}).to_int64s(), ElementsAre(-1, -8, 7));
  EXPECT_THAT(*of_bytes(DType::kUint2, {5}, {0b11100100, 0b10}).to_int64s(), ElementsAre(0, 1, 2, 3, 2));
}

TEST(Tensor, CountsRefuseNegativeAndOverflowingDims) {
  EXPECT_EQ(element_count(std::vector<int64_t>{}), 1);
  EXPECT_EQ(element_count(std::vector<int64_t>{3, 0, 7}), 0);
  EXPECT_EQ(element_count(std::vector<int64_t>{-1}), -1);
  EXPECT_EQ(element_count(std::vector<int64_t>{0, -1}), -1);
  EXPECT_EQ(element_count(std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40}), -1);
  EXPECT_EQ(element_count(std::vector<int64_t>{std::numeric_limits<int64_t>::max()}), -1);
}

TEST(Tensor, SmallFloatsDecodeAsTheirStandardsSay) {
  const auto one = [](DType dtype, std::vector<uint8_t> bytes) {
    return of_bytes(dtype, {}, bytes).to_doubles()->at(0);
  };
  EXPECT_EQ(one(DType::kFloat16, {0x00, 0x3c}), 1.0);
  EXPECT_EQ(one(DType::kFloat16, {0xff, 0x7b}), 65504.0);
  EXPECT_EQ(one(DType::kFloat16, {0x01, 0x00}), std::ldexp(1.0, -24));
  EXPECT_EQ(one(DType::kFloat16, {0x00, 0xfc}), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(one(DType::kBfloat16, {0x80, 0xbf}), -1.0);
  EXPECT_EQ(one(DType::kFloat8E4M3FN, {0x7e}), 448.0);
  EXPECT_TRUE(std::isnan(one(DType::kFloat8E4M3FN, {0x7f})));
  EXPECT_EQ(one(DType::kFloat8E5M2, {0x7b}), 57344.0);
  EXPECT_EQ(one(DType::kFloat8E4M3FNUZ, {0x7f}), 240.0);
  EXPECT_TRUE(std::isnan(one(DType::kFloat8E5M2FNUZ, {0x80})));
  EXPECT_EQ(one(DType::kFloat8E8M0, {0x80}), 2.0);
  EXPECT_EQ(of_bytes(DType::kFloat4E2M1, {2}, {0x7f}).to_doubles()->at(1), 6.0);
  EXPECT_FALSE(of_bytes(DType::kComplex64, {}, std::vector<uint8_t>(8)).to_doubles().has_value());
}

TEST(Tensor, HalfNumbersRoundToNearestEvenAndBackUnchanged) {
  const auto half = [](double value) {
    const Tensor tensor = *Tensor::from_doubles(DType::kFloat16, {}, std::vector<double>{value});
    return tensor.to_doubles()->at(0);
  };
  EXPECT_EQ(half(2049), 2048);
  EXPECT_EQ(half(2051), 2052);
  EXPECT_EQ(half(65519), 65504);
  EXPECT_EQ(half(65520), std::numeric_limits<double>::infinity());
  EXPECT_EQ(half(1e300), std::numeric_limits<double>::infinity());
  EXPECT_EQ(half(std::ldexp(1.0, -26)), 0);
  EXPECT_TRUE(std::signbit(half(-0.0)));
  EXPECT_TRUE(std::isnan(half(std::nan(""))));
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    for (uint32_t code = 0; code < 0x10000; ++code) {
      const Tensor tensor = of_bytes(dtype, {}, {static_cast<uint8_t>(code), static_cast<uint8_t>(code >> 8)});
      const double value = tensor.to_doubles()->at(0);
      if (std::isnan(value)) continue;
      ASSERT_EQ(*Tensor::from_doubles(dtype, {}, std::vector<double>{value}), tensor) << code;
    }
  }
}

TEST(Tensor, NumbersOutOfAnIntegersRangeSaturate) {
  const Tensor tensor = *Tensor::from_doubles(DType::kInt8, {3}, std::vector<double>{-1e9, 1e9, std::nan("")});
  EXPECT_THAT(tensor.values<int8_t>(), ElementsAre(-128, 127, 0));
}

TEST(Tensor, AlignedCopiesOnlyWhatIsNotAligned) {
  const Tensor own = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(own.aligned().bytes().data(), own.bytes().data());
  std::span<std::byte> buffer;
  const Tensor holder = Tensor::make(DType::kUint8, {9}, &buffer);
  const float value = 3;
  std::memcpy(buffer.data() + 1, &value, sizeof value);
  const Tensor odd(DType::kFloat, {}, buffer.subspan(1, 4), holder.owner());
  EXPECT_EQ(odd.at<float>(0), 3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(odd.aligned().bytes().data()) % 64, 0);
  EXPECT_EQ(odd.aligned(), odd);
}

TEST(Tensor, EqualityComparesTypeDimsAndBytes) {
  const Tensor a = Tensor::of<float>({2, 1}, {1, 2});
  EXPECT_EQ(a, Tensor::of<float>({2, 1}, {1, 2}));
  EXPECT_FALSE(a == a.reshaped({1, 2}));
  EXPECT_FALSE(a == Tensor::of<float>({2, 1}, {1, 3}));
  EXPECT_FALSE(a == Tensor::of<int32_t>({2, 1}, {1, 2}));
  EXPECT_EQ(Tensor({2}, {"a", "b"}), Tensor({2}, {"a", "b"}));
  EXPECT_FALSE(Tensor({2}, {"a", "b"}) == Tensor({2}, {"a", "c"}));
}

}  // namespace
}  // namespace hone::model
