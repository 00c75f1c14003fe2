// A problem's geometry in a kernel: constants where they were known at the compilation, else from the launch.
#pragma once

#include "tapconv/shared.cuh"

namespace tapconv {

template <class Config>
struct Geometry {
  static constexpr shared::Shape shape = Config::shape;
  const shared::Sizes& sizes;

  static constexpr long long known(long long constant, long long at_launch) {
    return constant != 0 ? constant : at_launch;
  }

  static constexpr shared::Strides known(const shared::Strides& constant, const shared::Strides& at_launch) {
    return {known(constant.outer, at_launch.outer),
            known(constant.inner, at_launch.inner),
            {known(constant.axis[0], at_launch.axis[0]), known(constant.axis[1], at_launch.axis[1]),
             known(constant.axis[2], at_launch.axis[2])}};
  }

  constexpr long long batch() const { return known(shape.batch, sizes.batch); }

  template <int i>
  constexpr shared::Axis axis() const {
    shared::Axis axis = shape.axis[i];
    axis.input = known(axis.input, sizes.input[i]);
    axis.output = known(axis.output, sizes.output[i]);
    return axis;
  }

  constexpr shared::Strides input_strides() const { return known(shape.input, sizes.input_strides); }
  constexpr shared::Strides output_strides() const { return known(shape.output, sizes.output_strides); }
  constexpr shared::Strides residual_strides() const { return known(shape.residual_strides, sizes.residual_strides); }

  constexpr shared::WeightStrides weight_strides() const {
    const shared::WeightStrides &constant = shape.weight, &at_launch = sizes.weight_strides;
    return {known(constant.group, at_launch.group),
            known(constant.out_channel, at_launch.out_channel),
            known(constant.in_channel, at_launch.in_channel),
            {known(constant.axis[0], at_launch.axis[0]), known(constant.axis[1], at_launch.axis[1]),
             known(constant.axis[2], at_launch.axis[2])}};
  }

  // Classes of each axis, and of all together.
  template <int i>
  static constexpr long long classes = shared::tap_classes(shape.axis[i], shape.transposed);
  static constexpr long long all_classes = classes<0> * classes<1> * classes<2>;

  template <int i>
  constexpr shared::TapClass tap_class(long long index) const {
    return shared::tap_class(axis<i>(), shape.transposed, classes<i> == 1 ? 0 : index);
  }
};

}  // namespace tapconv
