// Operands of the tensor core's instructions.
#pragma once

namespace tapconv::ptx {

// An operand tile in shared memory without swizzle, K-major: core matrices of 8 rows x 16 bytes, `leading` bytes apart
// along K and `stride` bytes apart along the rows.
struct WgmmaDescriptor {
  unsigned low, high;

  constexpr WgmmaDescriptor(unsigned address, unsigned leading, unsigned stride)
      : low((address & 0x3ffffu) >> 4 | (leading >> 4) << 16), high(stride >> 4) {}

  // Of a tile that begins 16 bytes x `units` later. An address of shared memory leaves no carry.
  constexpr WgmmaDescriptor operator+(int units) const {
    WgmmaDescriptor moved = *this;
    moved.low += static_cast<unsigned>(units);
    return moved;
  }
  constexpr unsigned long long bits() const { return static_cast<unsigned long long>(high) << 32 | low; }
};

}  // namespace tapconv::ptx
