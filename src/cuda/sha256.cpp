#include "cuda/sha256.hpp"

#include <algorithm>
#include <bit>

namespace tapconv::cuda {
namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::byte* bytes) noexcept {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

}  // namespace

void Sha256::compress(const std::byte* block) noexcept {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  const auto round = [&w](std::size_t i, auto x0, auto x1, auto x2, auto& x3, auto x4, auto x5, auto x6, auto& x7) {
    const std::uint32_t s1 = std::rotr(x4, 6) ^ std::rotr(x4, 11) ^ std::rotr(x4, 25);
    const std::uint32_t t1 = x7 + s1 + ((x4 & x5) ^ (~x4 & x6)) + round_constants[i] + w[i];
    const std::uint32_t s0 = std::rotr(x0, 2) ^ std::rotr(x0, 13) ^ std::rotr(x0, 22);
    x3 += t1;
    x7 = t1 + s0 + ((x0 & x1) ^ (x0 & x2) ^ (x1 & x2));
  };
  // The names change places instead of the values.
  for (std::size_t i = 0; i < 64; i += 8) {
    round(i, a, b, c, d, e, f, g, h);
    round(i + 1, h, a, b, c, d, e, f, g);
    round(i + 2, g, h, a, b, c, d, e, f);
    round(i + 3, f, g, h, a, b, c, d, e);
    round(i + 4, e, f, g, h, a, b, c, d);
    round(i + 5, d, e, f, g, h, a, b, c);
    round(i + 6, c, d, e, f, g, h, a, b);
    round(i + 7, b, c, d, e, f, g, h, a);
  }
  const std::uint32_t change[] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += change[i];
}

void Sha256::update(std::span<const std::byte> data) noexcept {
  const std::size_t held = bytes_ % block_.size();
  bytes_ += data.size();
  if (held > 0) {
    const std::size_t taken = std::min(block_.size() - held, data.size());
    std::copy_n(data.begin(), taken, block_.begin() + static_cast<std::ptrdiff_t>(held));
    data = data.subspan(taken);
    if (held + taken < block_.size()) return;
    compress(block_.data());
  }
  for (; data.size() >= block_.size(); data = data.subspan(block_.size())) compress(data.data());
  std::ranges::copy(data, block_.begin());
}

Digest Sha256::finish() noexcept {
  const std::uint64_t bits = bytes_ * 8;
  // One set bit, zeros up to 8 bytes before the end of a block, then the length in bits.
  std::array<std::byte, 72> padding{};
  padding[0] = std::byte{0x80};
  const std::size_t zeros_end = 1 + (119 - bytes_ % 64) % 64;
  for (std::size_t i = 0; i < 8; ++i) padding[zeros_end + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(std::span(padding).first(zeros_end + 8));
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest sha256(std::span<const std::byte> data) noexcept {
  Sha256 hash;
  hash.update(data);
  return hash.finish();
}

std::string hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace tapconv::cuda
