#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace tapconv::cpu {

/// Memory for what lies between the caller's input and output. The plans of one Convolution share it, since only one of
/// them runs at a time.
class Workspace {
 public:
  /// Who uses a piece; those that are alive at the same time are apart.
  enum class Piece {
    copied_input,     ///< the input with its padding, in binary32
    converted_input,  ///< the input of all residue classes, in binary32
    inner_input,      ///< the tensors that oneDNN works on
    inner_residual,
    inner_output,
    part,     ///< the outputs of one residue class
    sum,      ///< the output before the epilogue
    between,  ///< the result of the first half of a depthwise separable convolution
    count,
  };

  /// At least `bytes` bytes, whatever they hold. Valid until a larger request for the same piece.
  void* get(Piece piece, std::size_t bytes) {
    Buffer& buffer = buffers_[static_cast<std::size_t>(piece)];
    if (buffer.bytes < bytes) {
      buffer.memory.reset();  // before the larger one is allocated
      buffer.bytes = 0;
      buffer.memory.reset(static_cast<std::byte*>(operator new(bytes, alignment)));
      buffer.bytes = bytes;
    }
    return buffer.memory.get();
  }

  float* floats(Piece piece, std::int64_t count) {
    return static_cast<float*>(get(piece, static_cast<std::size_t>(count) * sizeof(float)));
  }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Release {
    void operator()(std::byte* memory) const { operator delete(memory, alignment); }
  };
  struct Buffer {
    std::unique_ptr<std::byte, Release> memory;
    std::size_t bytes = 0;
  };
  std::array<Buffer, static_cast<std::size_t>(Piece::count)> buffers_;
};

}  // namespace tapconv::cpu
