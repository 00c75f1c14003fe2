// The outputs of a transposed convolution that no tap reaches: the epilogue of nothing but bias and residual. Beside
// any solver's kernel, which writes all others. One thread an output, striding over the rest.
#pragma once

#include "tapconv/epilogue.cuh"

namespace tapconv {

template <class Config>
struct Unreached {
  static void run(const shared::Arguments& arguments) {
    const Geometry<Config> geometry{arguments.sizes};
    constexpr long long channels = Config::shape.groups * Config::shape.out_channels;
    const shared::Axis axis[3] = {geometry.template axis<0>(), geometry.template axis<1>(),
                                  geometry.template axis<2>()};
    const shared::Strides output = geometry.output_strides(), residual = geometry.residual_strides();
    const long long count = geometry.batch() * channels * axis[0].output * axis[1].output * axis[2].output;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
      long long rest = i, at[3];
#pragma unroll
      for (int d = 2; d >= 0; --d) {
        at[d] = rest % axis[d].output;
        rest /= axis[d].output;
      }
      if (shared::is_reached(axis[0], true, at[0]) && shared::is_reached(axis[1], true, at[1]) &&
          shared::is_reached(axis[2], true, at[2]))
        continue;
      const long long channel = rest % channels, image = rest / channels;
      long long to = image * output.outer + channel * output.inner;
      long long from = image * residual.outer + channel * residual.inner;
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        to += at[d] * output.axis[d];
        from += at[d] * residual.axis[d];
      }
      static_cast<typename Config::Output*>(arguments.tensors.output)[to] =
          Epilogue<Config>::finish(0, Epilogue<Config>::bias(channel, arguments.tensors), from, arguments.tensors);
    }
  }
};

}  // namespace tapconv
