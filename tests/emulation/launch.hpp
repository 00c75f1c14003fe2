// The file that tells an emulated kernel what to run on: a Launch, then the bytes of its tensors in the order below.
#pragma once

#include "tapconv/shared.cuh"

namespace tapconv::emulation {

/// `bytes` bytes of which the kernel gets the address of byte `first`; a null pointer without any. The memory begins
/// `offset` bytes behind a multiple of 16.
struct Tensor {
  long long bytes, first, offset;
};

struct Launch {
  long long grid[3];
  int threads;  ///< a block
  int dynamic_shared_bytes;
  int cluster;    ///< blocks of one
  bool reversed;  ///< the last thread of the last block runs first
  shared::Sizes sizes;
  Tensor input, weight, bias, residual, output;
};

}  // namespace tapconv::emulation
