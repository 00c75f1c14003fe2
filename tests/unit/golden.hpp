#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oracle/oracle.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// A float32 problem, its operands, and its output as PyTorch computes it in float64 (scripts/make_golden.py).
struct GoldenVector {
  Problem problem;
  std::vector<float> input, weight, bias, pointwise_weight, pointwise_bias, residual;  ///< empty: not of this problem
  std::vector<std::int64_t> shape;                                                     ///< of the output
  std::vector<double> output;

  [[nodiscard]] Operands operands() const {
    return {.input = std::as_bytes(std::span(input)),
            .weight = std::as_bytes(std::span(weight)),
            .bias = std::as_bytes(std::span(bias)),
            .pointwise_weight = std::as_bytes(std::span(pointwise_weight)),
            .pointwise_bias = std::as_bytes(std::span(pointwise_bias)),
            .residual = std::as_bytes(std::span(residual))};
  }
};

namespace golden {

/// The value of the enumeration that goes by `text`. Throws std::invalid_argument if there is none.
template <class Enumeration, std::size_t count>
Enumeration named(const std::array<Enumeration, count>& all, const std::array<std::string_view, count>& names,
                  const std::string& text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) throw std::invalid_argument("golden vectors: unknown " + text);
  return all[static_cast<std::size_t>(found - names.begin())];
}

inline Problem read_problem(const nlohmann::json& line) {
  Problem problem;
  problem.kind = named<Kind, 3>({Kind::convolution, Kind::transposed, Kind::depthwise_separable},
                                {"convolution", "transposed", "depthwise_separable"}, line.at("kind"));
  problem.padding_mode =
      named<PaddingMode, 4>({PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular},
                            {"zeros", "reflect", "replicate", "circular"}, line.at("padding_mode"));
  problem.activation =
      named<Activation, 6>({Activation::none, Activation::relu, Activation::leaky_relu, Activation::silu,
                            Activation::gelu, Activation::gelu_tanh},
                           {"none", "relu", "leaky_relu", "silu", "gelu", "gelu_tanh"}, line.at("activation"));
  problem.rank = static_cast<int>(line.at("input").size());
  problem.batch = line.at("batch");
  problem.in_channels = line.at("in_channels");
  problem.out_channels = line.at("out_channels");
  problem.groups = line.at("groups");
  problem.depth_multiplier = line.at("depth_multiplier");
  problem.bias = line.at("bias");
  problem.residual = line.at("residual");
  problem.negative_slope = line.at("negative_slope");
  const std::pair<const char*, Extent&> extents[] = {{"input", problem.input},
                                                     {"kernel", problem.kernel},
                                                     {"stride", problem.stride},
                                                     {"padding_lo", problem.padding_lo},
                                                     {"dilation", problem.dilation},
                                                     {"padding_hi", problem.padding_hi},
                                                     {"output_padding", problem.output_padding}};
  for (const auto& [name, extent] : extents) {
    const auto values = line.at(name).get<std::vector<std::int64_t>>();
    std::copy_n(values.begin(), problem.rank, extent.begin());
  }
  return problem;
}

}  // namespace golden

/// The vectors of tests/golden/convolutions.jsonl. Throws if the file is missing, malformed or cut short.
inline std::vector<GoldenVector> golden_vectors() {
  std::ifstream file(TAPCONV_TEST_DATA "/golden/convolutions.jsonl");
  std::string text;
  if (!std::getline(file, text)) throw std::runtime_error("golden vectors are missing");
  const nlohmann::json head = nlohmann::json::parse(text);
  const double scale = head.at("scale");
  const auto floats = [&](const nlohmann::json& integers) {
    std::vector<float> values;
    for (const std::int64_t value : integers) values.push_back(static_cast<float>(static_cast<double>(value) * scale));
    return values;
  };
  std::vector<GoldenVector> vectors;
  while (std::getline(file, text)) {
    const nlohmann::json line = nlohmann::json::parse(text);
    vectors.push_back({.problem = golden::read_problem(line),
                       .input = floats(line.at("x")),
                       .weight = floats(line.at("w")),
                       .bias = floats(line.at("b")),
                       .pointwise_weight = floats(line.at("w2")),
                       .pointwise_bias = floats(line.at("b2")),
                       .residual = floats(line.at("r")),
                       .shape = line.at("output"),
                       .output = line.at("y")});
  }
  if (vectors.size() != head.at("count").get<std::size_t>()) throw std::runtime_error("golden vectors are cut short");
  return vectors;
}

}  // namespace tapconv::testing
