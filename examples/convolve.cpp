// Computes a convolution of tensors drawn from a seed and prints the output's shape and first values.
//
//     convolve 'Conv2d(64, 128, 3, padding=1) @ 8x64x56x56'

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <vector>

#include "tapconv/engine.hpp"
#include "tapconv/error.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: convolve PROBLEM\n";
    return 2;
  }
  try {
    const tapconv::Problem problem = tapconv::parse_problem(argv[1]);
    tapconv::TensorSource tensors;  // drawn where not given; tapconv::read_tensor() reads one from a file
    tensors.seed = 1;
    const tapconv::RunReport result = tapconv::run(problem, tapconv::default_device(), tensors);

    std::cout << "output:";
    const char* separator = " ";
    for (const auto size : result.output.shape()) {
      std::cout << separator << size;
      separator = " x ";
    }
    std::cout << "\nfirst values:";
    const std::vector<double> values = result.output.values();
    for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 8); ++i) std::cout << ' ' << values[i];
    std::cout << "\ncomputed by " << result.solver << " on " << result.device_name << '\n';
    return 0;
  } catch (const tapconv::Error& error) {
    std::cerr << "convolve: " << error.what() << '\n';
    return 1;
  }
}
