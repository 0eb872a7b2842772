// Random numbers that are the same on every machine and compiler: counter-based (the n-th number is a function of the
// key and n: splitmix64, Steele et al. 2014), and normal numbers without log or cos, which differ between C libraries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::protocol {

class Random {
 public:
  Random(uint64_t seed, std::string_view stream, uint64_t substream) {
    key_ = mix(seed + kGolden);
    for (const unsigned char c : stream) key_ = mix(key_ ^ c);
    key_ = mix(key_ ^ substream);
  }
  uint64_t bits() { return mix(key_ + kGolden * ++counter_); }
  // 0 .. limit-1, limit > 0; the bias of the multiply method is below 2^-32 for limits below 2^32.
  uint64_t below(uint64_t limit) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(bits()) * limit) >> 64);
  }
  // [0, 1), a multiple of 2^-24: exact in float.
  double uniform() { return static_cast<double>(bits() >> 40) * 0x1p-24; }
  // Mean 0, variance 1, within +-6: the sum of 12 uniform numbers of 16 bits (Irwin-Hall).
  double normal() {
    int64_t sum = 0;
    for (int word = 0; word < 3; ++word) {
      const uint64_t four = bits();
      for (int i = 0; i < 4; ++i) sum += static_cast<int64_t>(four >> (16 * i) & 0xffff);
    }
    return static_cast<double>(sum + 6 - 6 * 65536) * 0x1p-16;
  }

 private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t key_ = 0, counter_ = 0;
};

}  // namespace hone::protocol
