#include "plan/device_tensors.hpp"

#include <algorithm>
#include <iterator>

namespace tapconv {
namespace {

/// Spatial axes are the last of three; absent ones have a stride of 0.
void copy_spatial(std::span<const std::int64_t> strides, long long (&axis)[3]) {
  const std::span<const std::int64_t> spatial = strides.subspan(2);
  std::ranges::fill(axis, 0);
  std::ranges::copy(spatial, std::end(axis) - spatial.size());
}

}  // namespace

shared::Strides activation_strides(std::span<const std::int64_t> strides) {
  shared::Strides result{.outer = strides[0], .inner = strides[1], .axis = {}};
  copy_spatial(strides, result.axis);
  return result;
}

shared::WeightStrides weight_strides(const Problem& plain, std::span<const std::int64_t> strides) {
  // A weight has the output channels first, a transposed one's the input channels; groups divide the first.
  const bool transposed = plain.kind == Kind::transposed;
  const std::int64_t first = (transposed ? plain.in_channels : plain.out_channels) / plain.groups;
  shared::WeightStrides result{.group = plain.groups == 1 ? 0 : first * strides[0],
                               .out_channel = strides[transposed ? 1 : 0],
                               .in_channel = strides[transposed ? 0 : 1],
                               .axis = {}};
  copy_spatial(strides, result.axis);
  return result;
}

}  // namespace tapconv
