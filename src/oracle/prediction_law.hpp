#pragma once

#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// The joint law of an output's sum y and of an error d of it, for some share of the outputs. y is the sum p of the
/// products and of other terms. d is a multiple of y - E(y) and a rest whose variance is random and depends on p.
struct SumLaw {
  double share = 1;
  double products_mean = 0, products_variance = 0;
  double terms_mean = 0, terms_variance = 0;
  double value_fourth_cumulant = 0;
  double mean = 0, covariance = 0;           ///< of d, and of y and d
  double variance = 0, fourth_cumulant = 0;  ///< of the part of d that the rest below is not in
  double rest = 0, rest_square = 0;          ///< variance of the rest given p: rest + rest_square * p^2 on average,
  double rest_spread = 0, rest_spread_square = 0;  ///< and with the variance rest_spread + rest_spread_square * p^2
  int final_roundings = 0;                         ///< of y to its accumulator's type

  [[nodiscard]] double value_mean() const { return products_mean + terms_mean; }
  [[nodiscard]] double value_variance() const { return products_variance + terms_variance; }
  /// E(d^2) - E(d)^2, without final roundings.
  [[nodiscard]] double total_variance() const {
    return variance + rest + rest_square * (products_variance + products_mean * products_mean);
  }
};

/// How the sums become outputs.
struct Storing {
  Activation activation = Activation::none;
  double negative_slope = 0;
  DType accumulator = DType::float32;  ///< what final roundings are to
  DType dtype = DType::float32;
  int rounded = 0;  ///< how many of the results that d is the difference of are rounded to `dtype`: 0 to 2
};

/// The law of the errors of outputs: a finite mixture of normal ones.
class OutputErrors {
 public:
  OutputErrors(const std::vector<SumLaw>& sums, const Storing& storing);

  [[nodiscard]] double rms_value() const;
  [[nodiscard]] double rms() const;
  /// P(|error| > x).
  [[nodiscard]] double exceeding(double x) const;
  /// P(|error| > atol + rtol |value|).
  [[nodiscard]] double failing(double atol, double rtol) const;
  /// Of so many independent ones.
  [[nodiscard]] double expected_max(double outputs) const;

 private:
  /// Outputs with one value and a normal error before they are stored.
  struct Cell {
    double weight = 0;
    double value = 0;
    double mean = 0, deviation = 0;
    double spacing = 0;  ///< of stored values; 0: they are not rounded
  };
  [[nodiscard]] double exceeding(const Cell& cell, double x) const;
  [[nodiscard]] double square(const Cell& cell) const;
  void add(const SumLaw& sum, const Storing& storing);

  int rounded_;
  std::vector<Cell> cells_;
};

}  // namespace tapconv
