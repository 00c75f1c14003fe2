#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tapconv::cuda {

/// A SHA-256 value, its bytes in the standard's order.
using Digest = std::array<std::uint8_t, 32>;

/// SHA-256 (FIPS 180-4) of a sequence of bytes given in pieces.
class Sha256 {
 public:
  void update(std::span<const std::byte> data) noexcept;
  void update(std::string_view text) noexcept { update(std::as_bytes(std::span(text))); }

  /// The digest of everything so far. Nothing may follow.
  [[nodiscard]] Digest finish() noexcept;

 private:
  void compress(const std::byte* block) noexcept;

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};  ///< the first `bytes_ % 64` bytes of a block that is not whole yet
  std::uint64_t bytes_ = 0;
};

[[nodiscard]] Digest sha256(std::span<const std::byte> data) noexcept;

/// 64 hexadecimal digits in small letters.
[[nodiscard]] std::string hex(const Digest& digest);

}  // namespace tapconv::cuda
