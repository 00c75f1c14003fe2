#include "workbench/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/session.hpp"
#include "problem/parallel.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {
namespace {

/// Random numbers of one element.
class Element {
 public:
  Element(std::uint64_t seed, std::int64_t index)
      : state_(shared::mix(shared::mix(seed) + static_cast<std::uint64_t>(index))) {}

  /// In (0, 1), never either.
  double unit() {
    state_ += 0x9e3779b97f4a7c15u;
    return (static_cast<double>(shared::mix(state_) >> 11) + 0.5) * 0x1p-53;
  }
  double normal() {
    // Box and Muller 1958.
    const double radius = std::sqrt(-2 * std::log(unit()));
    return radius * std::cos(2 * std::numbers::pi * unit());
  }
  double sign() { return unit() < 0.5 ? -1 : 1; }

 private:
  std::uint64_t state_;
};

enum class Role { input, weight };

/// Half the powers of two that `Distribution::wide` spans on each operand.
int wide_exponent(const Problem& problem) {
  const bool half = problem.dtype == DType::float16 || problem.out_dtype == DType::float16;
  return half ? 3 : 10;
}

double draw(Element& element, Distribution distribution, Role role, int exponent) {
  switch (distribution) {
    case Distribution::normal:
      return element.normal();
    case Distribution::uniform:
      return 2 * element.unit() - 1;
    case Distribution::positive:
      return element.unit();
    case Distribution::relu:
      return role == Role::input ? std::max(0.0, element.normal()) : element.normal();
    case Distribution::lognormal: {
      const double magnitude = std::exp(1.5 * element.normal());
      return role == Role::input ? magnitude : element.sign() * magnitude;
    }
    case Distribution::wide: {
      const double magnitude = std::exp2(exponent * (2 * element.unit() - 1));
      return element.sign() * magnitude;
    }
  }
  return 0;
}

/// Fills a tensor with value(element), on all cores.
template <class Value>
void fill(std::vector<std::byte>& tensor, DType dtype, std::uint64_t seed, const Value& value) {
  parallel_for(static_cast<std::int64_t>(tensor.size() / element_bytes(dtype)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   Element element(seed, i);
                   store_element(tensor.data(), dtype, i, value(element));
                 }
               });
}

/// The fan-in's square root, of the first and the last stage.
struct Scales {
  double first, last;

  explicit Scales(const Problem& problem)
      : first(1 / std::sqrt(products_of_output(stages(problem).front()))),
        last(1 / std::sqrt(products_of_output(stages(problem).back()))) {}
};

/// Tensors have seeds apart from each other.
constexpr std::uint64_t operand_count = 6;

}  // namespace

std::string_view name(Distribution distribution) noexcept {
  switch (distribution) {
    case Distribution::normal:
      return "normal";
    case Distribution::uniform:
      return "uniform";
    case Distribution::positive:
      return "positive";
    case Distribution::relu:
      return "ReLU-sparse";
    case Distribution::lognormal:
      return "lognormal";
    case Distribution::wide:
      return "wide";
  }
  return "";
}

bool has_even_magnitudes(Distribution distribution) noexcept {
  return distribution != Distribution::lognormal && distribution != Distribution::wide;
}

HostTensors draw_operands(const Problem& problem, Distribution distribution, std::uint64_t seed) {
  HostTensors tensors(problem);
  const Scales scales(problem);
  const int exponent = wide_exponent(problem);
  const auto fill_one = [&](std::vector<std::byte>& tensor, DType dtype, Role role, double scale, std::uint64_t index) {
    fill(tensor, dtype, operand_count * seed + index,
         [&](Element& element) { return scale * draw(element, distribution, role, exponent); });
  };
  fill_one(tensors.input, problem.dtype, Role::input, 1, 0);
  fill_one(tensors.weight, problem.dtype, Role::weight, scales.first, 1);
  fill_one(tensors.bias, problem.dtype, Role::weight, scales.first, 2);
  fill_one(tensors.pointwise_weight, problem.dtype, Role::weight, scales.last, 3);
  fill_one(tensors.pointwise_bias, problem.dtype, Role::weight, scales.last, 4);
  fill_one(tensors.residual, problem.out_dtype, Role::input, 1, 5);
  return tensors;
}

HostTensors draw_sparse_operands(const Problem& problem, double products, std::uint64_t seed) {
  HostTensors tensors(problem);
  const std::vector<Problem> parts = stages(problem);
  const auto fill_one = [&](std::vector<std::byte>& tensor, DType dtype, double keep, std::uint64_t index) {
    fill(tensor, dtype, operand_count * seed + index,
         [&](Element& element) { return element.unit() < keep ? element.normal() : 0.0; });
  };
  fill_one(tensors.input, problem.dtype, products / products_of_output(parts.front()), 0);
  fill_one(tensors.weight, problem.dtype, 1, 1);
  fill_one(tensors.bias, problem.dtype, 0.5, 2);
  fill_one(tensors.pointwise_weight, problem.dtype, products / products_of_output(parts.back()), 3);
  fill_one(tensors.pointwise_bias, problem.dtype, 0.5, 4);
  fill_one(tensors.residual, problem.out_dtype, 0.5, 5);
  return tensors;
}

}  // namespace tapconv
