// SHA-256 (FIPS 180-4, by OpenSSL), in hex: fingerprints of models, data and protocols.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hone {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  Sha256& add(std::string_view text);
  Sha256& add(std::span<const std::byte> bytes);
  // Returns 64 hex digits; the object can't be used any further.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view text);

}  // namespace hone
