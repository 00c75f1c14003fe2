// Blurs a picture with a 3x3 box filter, and then one of another size with the same plan.

#include <array>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

#include "tapconv/convolution.hpp"
#include "tapconv/error.hpp"

namespace {

void print(std::span<const float> values, std::int64_t width) {
  for (std::size_t i = 0; i < values.size(); ++i)
    std::cout << values[i] << ((i + 1) % static_cast<std::size_t>(width) == 0 ? '\n' : ' ');
}

}  // namespace

int main() {
  try {
    tapconv::Problem problem = tapconv::parse_problem("Conv2d(1, 1, 3, padding=1, bias=False) @ 1x1x3x4");
    problem.dynamic_input = {true, true, false};  // height and width are those of each picture
    tapconv::Convolution blur(problem);

    const std::vector<float> filter(9, 1.0F / 9);
    blur.set_weights({.weight = {.data = filter.data(), .shape = {1, 1, 3, 3}}});

    for (const auto& [height, width] : {std::array<std::int64_t, 2>{3, 4}, {2, 6}}) {
      const std::vector<std::int64_t> shape{1, 1, height, width};
      const std::vector<float> picture(static_cast<std::size_t>(height * width), 9);
      std::vector<float> blurred(picture.size());
      const auto accesses =
          blur.run({.data = picture.data(), .shape = shape}, {.data = blurred.data(), .shape = shape});
      std::cout << height << " x " << width << ", input " << name(accesses.input) << " in place:\n";
      print(blurred, width);
    }
    std::cout << "computed by " << blur.implementation() << '\n';
    return 0;
  } catch (const tapconv::Error& error) {
    std::cerr << "convolve: " << error.what() << '\n';
    return 1;
  }
}
