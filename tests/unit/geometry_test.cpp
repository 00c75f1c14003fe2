#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tapconv/shared.cuh"

namespace tapconv::shared {
namespace {

/// Calls body(axis) for every axis of small numbers; its output is long enough, of a transposed one exactly, to meet
/// all that the padding leaves.
template <class Body>
void for_each_axis(bool transposed, const Body& body) {
  for (long long input = 1; input <= 5; ++input)
    for (long long kernel = 1; kernel <= 4; ++kernel)
      for (long long stride = 1; stride <= 5; ++stride)
        for (long long dilation = 1; dilation <= 5; ++dilation)
          for (long long padding = -2; padding <= 3; ++padding) {
            Axis axis{.input = input, .kernel = kernel, .stride = stride, .dilation = dilation, .padding = padding};
            const long long reach = dilation * (kernel - 1) + 1;
            axis.output = transposed ? (input - 1) * stride + reach - 2 * padding
                                     : (input + 2 * padding - reach + stride) / stride;
            if (axis.output < 1 || (!transposed && input + 2 * padding < reach)) continue;
            // The definition of tap_step: the least distance of taps that meet the same outputs.
            axis.tap_step = 1;
            while (transposed && axis.tap_step * dilation % stride != 0) ++axis.tap_step;
            // Of tap_inverse: dilation / (stride / tap_step) times it is 1 modulo tap_step.
            const long long part = dilation / (stride / axis.tap_step);
            axis.tap_inverse = 0;
            while (transposed && (part * axis.tap_inverse - 1) % axis.tap_step != 0) ++axis.tap_inverse;
            body(axis);
          }
}

/// One product along an axis: the output it is added to, its tap and the position of its input.
using Product = std::array<long long, 3>;

/// The products of all classes, each class's output only once.
std::set<Product> products_of_classes(const Axis& axis, bool transposed) {
  std::set<Product> products;
  std::set<long long> origins;
  for (long long index = 0; index < tap_classes(axis, transposed); ++index) {
    const TapClass part = tap_class(axis, transposed, index);
    EXPECT_EQ(index, transposed ? part.first_tap : index);
    EXPECT_TRUE(part.grid == 0 || origins.insert(part.origin).second) << "two classes of the same outputs";
    EXPECT_GE(part.taps, 1);
    for (long long q = 0; q < part.grid; ++q)
      for (long long t = 0; t < part.taps; ++t)
        EXPECT_TRUE(products
                        .insert({part.origin + part.step * q, part.first_tap + part.tap_step * t,
                                 part.in_step * q + part.first_offset + part.offset_step * t})
                        .second);
  }
  return products;
}

TEST(SharedGeometry, ConvolutionsMeetWhatTheyShould) {
  for_each_axis(false, [](const Axis& axis) {
    std::set<Product> expected;
    for (long long output = 0; output < axis.output; ++output) {
      ASSERT_TRUE(is_reached(axis, false, output));
      for (long long tap = 0; tap < axis.kernel; ++tap)
        expected.insert({output, tap, output * axis.stride + tap * axis.dilation - axis.padding});
    }
    ASSERT_EQ(expected, products_of_classes(axis, false));
  });
}

TEST(SharedGeometry, TransposedConvolutionsMeetWhatTheyShould) {
  int unreached = 0;
  for_each_axis(true, [&](const Axis& axis) {
    // Inputs scatter to outputs; those around the tensor too, which hold zeros.
    const long long far = axis.output + axis.kernel * axis.dilation + 10;
    std::set<Product> expected;
    std::set<long long> reached;
    for (long long input = -far; input <= far; ++input) {
      for (long long tap = 0; tap < axis.kernel; ++tap) {
        const long long output = input * axis.stride + tap * axis.dilation - axis.padding;
        if (output < 0 || output >= axis.output) continue;
        expected.insert({output, tap, input});
        reached.insert(output);
      }
    }
    ASSERT_EQ(expected, products_of_classes(axis, true));
    for (long long output = 0; output < axis.output; ++output) {
      ASSERT_EQ(reached.contains(output), is_reached(axis, true, output));
      unreached += !reached.contains(output);
    }
  });
  EXPECT_GT(unreached, 1000);
}

TEST(SharedGeometry, SourcePositionsFollowAWalkOutwards) {
  for (long long input = 1; input <= 6; ++input) {
    for (const Boundary boundary : {Boundary::zeros, Boundary::reflect, Boundary::replicate, Boundary::circular}) {
      // A valid problem reflects less than one input's length, and repeats at most one.
      const long long most = boundary == Boundary::reflect ? input - 1 : boundary == Boundary::circular ? input : 20;
      for (long long distance = 1; distance <= most; ++distance) {
        long long before = -1, after = -1;
        if (boundary == Boundary::replicate) before = 0, after = input - 1;
        if (boundary == Boundary::reflect) before = distance, after = input - 1 - distance;
        if (boundary == Boundary::circular) before = input - distance, after = distance - 1;
        EXPECT_EQ(before, source_position(-distance, input, boundary));
        EXPECT_EQ(after, source_position(input - 1 + distance, input, boundary));
        EXPECT_EQ(before, source_position(static_cast<int>(-distance), static_cast<int>(input), boundary));
      }
      for (long long position = 0; position < input; ++position)
        EXPECT_EQ(position, source_position(position, input, boundary));
    }
  }
}

TEST(SharedGeometry, PlacesCountAxesLastFastest) {
  const Places places{.sizes = {2, 1, 3, 2, 4}, .strides = {1000, 77, -50, 7, 0}};
  EXPECT_EQ(48, places.count());
  long long index = 0;
  for (long long a = 0; a < 2; ++a)
    for (long long c = 0; c < 3; ++c)
      for (long long d = 0; d < 2; ++d)
        for (long long e = 0; e < 4; ++e) EXPECT_EQ(1000 * a - 50 * c + 7 * d, places(index++));
  const Places huge{.sizes = {1, 1, 1, 1LL << 20, 1LL << 20}, .strides = {0, 0, 0, 1LL << 40, 1LL << 20}};
  EXPECT_EQ((1LL << 40) * 5 + (1LL << 20) * 3, huge((5LL << 20) + 3));
}

}  // namespace
}  // namespace tapconv::shared
