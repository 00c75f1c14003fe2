// The fp64 oracle: what the sum of an output should be, S, K, and a chain of fused multiply-adds beside it. One thread
// an output, the reduction in the order channels, then taps, as src/oracle does it on the host. Not specialised: one
// kernel for every problem of float64 operands (Chain = double, compensated sums), one for all others (Chain = float).
#pragma once

#include "tapconv/numbers.cuh"

namespace tapconv {

template <class Chain>
struct Oracle {
  static constexpr bool compensated = sizeof(Chain) == sizeof(double);

  // Adds products in fp64; with the errors of product and sum carried along if `compensated` (Ogita, Rump, Oishi 2005,
  // algorithm Dot2), since a product of two other operands is exact.
  struct Sum {
    double sum = 0, error = 0;

    void add_product(double x, double w) {
      const double product = __dmul_rn(x, w);
      if constexpr (compensated) error = __dadd_rn(error, __fma_rn(x, w, -product));
      add_term(product);
    }

    void add_term(double term) {
      const double before = sum;
      sum = __dadd_rn(before, term);
      if constexpr (compensated) {
        const double back = __dadd_rn(sum, -before);
        error = __dadd_rn(error, __dadd_rn(__dadd_rn(before, -__dadd_rn(sum, -back)), __dadd_rn(term, -back)));
      }
    }

    double value() const { return compensated && isfinite(sum) && isfinite(error) ? __dadd_rn(sum, error) : sum; }
  };

  struct Partial {
    Sum sum;
    double magnitude = 0;
    long long products = 0;
    Chain chain = 0;
    bool may_overflow = false;

    void add_magnitude(double term) {
      if (isfinite(term)) magnitude += fabs(term);
    }

    void add_product(Chain x, Chain w) {
      const double product = __dmul_rn(x, w);
      sum.add_product(x, w);
      add_magnitude(product);
      products += product != 0;
      chain = multiply_add(x, w, chain);
    }

    void add_term(double term) {
      sum.add_term(term);
      add_magnitude(term);
      chain = add(chain, Chain(term));
    }
  };

  static Chain load(const void* memory, shared::Type type, long long place) {
    if constexpr (compensated) return static_cast<const double*>(memory)[place];
    switch (type) {
      case shared::Type::float16:
        return to_number(static_cast<const Half*>(memory)[place]);
      case shared::Type::bfloat16:
        return to_number(static_cast<const Bfloat16*>(memory)[place]);
      default:
        return static_cast<const float*>(memory)[place];
    }
  }

  // Bias and residual, which no chain is made of, in their own types.
  static double load_term(const void* memory, shared::Type type, long long place) {
    return type == shared::Type::float64 ? static_cast<const double*>(memory)[place]
                                         : double(Oracle<float>::load(memory, type, place));
  }

  static Chain rounded(Chain value, shared::Rounding rounding) {
    if constexpr (compensated)
      return value;
    else
      return shared::round_operand(value, rounding);
  }

  // Sum over channels and taps of the stage's output at (image, channel, position).
  static Partial evaluate(const shared::OracleArguments& arguments, long long image, long long channel,
                          const long long (&position)[3], shared::Rounding rounding) {
    const shared::OracleStage& stage = arguments.stage;
    Partial out;
    shared::TapClass axis[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      bool reached = false;
      for (long long index = 0; index < shared::tap_classes(stage.axis[i], stage.transposed) && !reached; ++index) {
        axis[i] = shared::tap_class(stage.axis[i], stage.transposed, index);
        reached = position[i] % axis[i].step == axis[i].origin;
      }
      if (!reached) return out;
    }
    long long start[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) start[i] = axis[i].in_step * (position[i] / axis[i].step) + axis[i].first_offset;
    const long long group = channel / stage.out_channels;
    long long filter = group * stage.weight.group + channel % stage.out_channels * stage.weight.out_channel;
#pragma unroll
    for (int i = 0; i < 3; ++i) filter += axis[i].first_tap * stage.weight.axis[i];
    for (long long c = 0; c < stage.in_channels; ++c) {
      const long long plane = image * stage.input.outer + (group * stage.in_channels + c) * stage.input.inner;
      const long long weights = filter + c * stage.weight.in_channel;
      for (long long t0 = 0; t0 < axis[0].taps; ++t0) {
        const long long d = source(stage, 0, start[0] + axis[0].offset_step * t0);
        for (long long t1 = 0; t1 < axis[1].taps; ++t1) {
          const long long h = source(stage, 1, start[1] + axis[1].offset_step * t1);
          const long long row = plane + d * stage.input.axis[0] + h * stage.input.axis[1];
          const long long row_weights =
              weights + axis[0].tap_step * t0 * stage.weight.axis[0] + axis[1].tap_step * t1 * stage.weight.axis[1];
          for (long long t2 = 0; t2 < axis[2].taps; ++t2) {
            const long long w = source(stage, 2, start[2] + axis[2].offset_step * t2);
            const Chain x = d >= 0 && h >= 0 && w >= 0
                                ? load(arguments.tensors.input, arguments.type, row + w * stage.input.axis[2])
                                : Chain(0);
            const Chain k = load(arguments.tensors.weight, arguments.type,
                                 row_weights + axis[2].tap_step * t2 * stage.weight.axis[2]);
            out.add_product(rounded(x, rounding), rounded(k, rounding));
          }
        }
      }
    }
    return out;
  }

  static long long source(const shared::OracleStage& stage, int axis, long long position) {
    return shared::source_position(position, stage.axis[axis].input, stage.boundary);
  }

  static bool overflows(double magnitude) {
    return magnitude > (compensated ? 0x1.fffffffffffffp1023 : 0x1.fffffep127);
  }

  // The sum over the depthwise outputs at the same position; see src/oracle/oracle.cpp for the bounds.
  static Partial pointwise(const shared::OracleArguments& arguments, long long image, long long channel,
                           const long long (&position)[3]) {
    Partial out;
    long long most_products = 0;
    for (long long c = 0; c < arguments.pointwise_channels; ++c) {
      Partial inner = evaluate(arguments, image, c, position, shared::Rounding::exact);
      if (arguments.bias) inner.add_term(load_term(arguments.tensors.bias, arguments.type, c));
      const Chain w = rounded(load(arguments.pointwise_weight, arguments.type,
                                   channel * arguments.pointwise_strides[0] + c * arguments.pointwise_strides[1]),
                              arguments.rounding);
      const bool exact = compensated || arguments.rounding == shared::Rounding::exact;
      const double x =
          exact ? inner.sum.value() : double(shared::round_operand(float(inner.sum.value()), arguments.rounding));
      out.sum.add_product(x, w);
      const double underflow = inner.magnitude > 0 ? 0x1p-125 * double(inner.products + 1) : 0;
      out.add_magnitude((inner.magnitude + underflow) * w);
      out.products += x * w != 0;
      out.chain = multiply_add(rounded(inner.chain, arguments.rounding), w, out.chain);
      most_products = inner.products > most_products ? inner.products : most_products;
      out.may_overflow = out.may_overflow || overflows(inner.magnitude);
    }
    out.products += most_products;
    return out;
  }

  static void run(const shared::OracleArguments& arguments) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= arguments.count) return;
    long long rest = arguments.outputs[i], position[3];
#pragma unroll
    for (int axis = 2; axis >= 0; --axis) {
      position[axis] = rest % arguments.extent[axis];
      rest /= arguments.extent[axis];
    }
    const long long channel = rest % arguments.channels, image = rest / arguments.channels;
    const bool separable = arguments.pointwise_channels > 0;
    Partial out = separable ? pointwise(arguments, image, channel, position)
                            : evaluate(arguments, image, channel, position, arguments.rounding);
    if (arguments.bias)
      out.add_term(load_term(separable ? arguments.pointwise_bias : arguments.tensors.bias, arguments.type, channel));
    if (arguments.residual) {
      long long place = image * arguments.output.outer + channel * arguments.output.inner;
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) place += position[axis] * arguments.output.axis[axis];
      const double residual = load_term(arguments.tensors.residual, arguments.out_type, place);
      out.add_term(residual);
      out.products += residual != 0;
    }
    arguments.results[i] = {.sum = out.sum.value(),
                            .magnitude = out.magnitude,
                            .chain = double(out.chain),
                            .products = out.products,
                            .may_overflow = out.may_overflow || overflows(out.magnitude)};
  }
};

}  // namespace tapconv
