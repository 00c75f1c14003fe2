// The fp64 oracle: what outputs should be, S, K, and a chain of binary32 FMAs beside them. One thread an output, the
// reduction in the order channels, then taps, exactly as src/oracle/oracle.cpp does it.
#pragma once

#include "tapconv/shared.cuh"

namespace tapconv {

template <class Config>
struct Oracle {
  static constexpr shared::Shape shape = Config::shape;

  static void run(const shared::OracleArguments& arguments) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= arguments.count) return;
    arguments.results[i] = evaluate(arguments.tensors, arguments.outputs[i], arguments.rounding);
  }

  template <int axis>
  static long long position(long long q, long long tap) {
    return shape.axis[axis].in_step * q + shape.axis[axis].first_offset + shape.axis[axis].offset_step * tap;
  }

  template <int axis>
  static bool inside(long long position) {
    return position >= 0 && position < shape.axis[axis].input;
  }

  static void add_magnitude(double& sum, double term) {
    const double magnitude = term < 0 ? -term : term;
    if (magnitude < 1e300) sum += magnitude;  // neither infinite nor NaN
  }

  static shared::OracleOutput evaluate(const shared::Tensors& tensors, long long output, shared::Rounding rounding) {
    const long long q2 = output % shape.axis[2].output, rows = output / shape.axis[2].output;
    const long long q1 = rows % shape.axis[1].output, planes = rows / shape.axis[1].output;
    const long long q0 = planes % shape.axis[0].output, places = planes / shape.axis[0].output;
    const long long channel = places % (shape.groups * shape.out_channels);
    const long long image = places / (shape.groups * shape.out_channels);
    const long long group = channel / shape.out_channels;
    const float* input = tensors.input + (image * shape.groups + group) * shape.in_channels * shape.input();
    const float* weight = tensors.weight + channel * shape.in_channels * shape.kernel();

    shared::OracleOutput out{0.0, 0.0, 0, 0.0f};
    for (long long c = 0; c < shape.in_channels; ++c, input += shape.input()) {
      for (long long t0 = 0; t0 < shape.axis[0].taps; ++t0) {
        for (long long t1 = 0; t1 < shape.axis[1].taps; ++t1) {
          for (long long t2 = 0; t2 < shape.axis[2].taps; ++t2, ++weight) {
            const long long d = position<0>(q0, t0), h = position<1>(q1, t1), w = position<2>(q2, t2);
            const bool ok = inside<0>(d) && inside<1>(h) && inside<2>(w);
            const float x =
                ok ? shared::round_operand(input[(d * shape.axis[1].input + h) * shape.axis[2].input + w], rounding)
                   : 0.0f;
            const float k = shared::round_operand(*weight, rounding);
            const double product = double(x) * double(k);
            out.value += product;
            add_magnitude(out.magnitude, product);
            out.products += product != 0;
            out.sequential = __fmaf_rn(x, k, out.sequential);
          }
        }
      }
    }
    if (shape.bias) {
      const float bias = tensors.bias[channel];
      out.value += bias;
      add_magnitude(out.magnitude, bias);
      out.sequential = __fadd_rn(out.sequential, bias);
    }
    return out;
  }
};

}  // namespace tapconv
