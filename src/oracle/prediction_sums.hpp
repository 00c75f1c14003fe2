#pragma once

#include <vector>

#include "oracle/prediction_operands.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// How many products an output of a plain problem has, those with padding zeros left out, and what share of the
/// outputs has so many.
struct SumLength {
  double products = 0;
  double share = 0;
};

/// The lengths of a plain problem's sums, ascending; neighbours are merged until at most four are left. Axes of more
/// than 65536 output positions are seen at about so many, evenly spread.
[[nodiscard]] std::vector<SumLength> sum_lengths(const Problem& problem);

/// The error of adding up the products of an output, beyond that of the operands; y is their sum.
struct AccumulationError {
  double mean = 0, covariance = 0;       ///< covariance with y
  double linear = 0;                     ///< the part of the variance that is a multiple of the partial sums themselves
  double constant = 0, square = 0;       ///< the rest of the variance, given y, is constant + square * y^2 on average,
  double spread = 0, spread_square = 0;  ///< and has the variance spread + spread_square * y^2
};

/// Errors of rounding to `precision` significant bits as terms of one law are added.
class Accumulator {
 public:
  /// `bits` are those of the products that are added.
  Accumulator(const ProductLaw& law, const LastBits& bits, int precision);

  /// Of `count` products. Of exact ones: none, see Storing.
  [[nodiscard]] AccumulationError error(const Arithmetic& arithmetic, double count) const;

 private:
  /// What is below a unit of the last place, 2^unit, after `terms` products were added.
  struct Tail {
    double any = 0;     ///< probability that there is something
    double square = 0;  ///< E(4^(last bit)) if there is
    double half = 0;    ///< probability that it is half a unit, if there is
  };
  [[nodiscard]] Tail tail(int unit, double terms) const;
  /// E(error^2) of rounding a sum after `terms` products were added.
  [[nodiscard]] double rounding(double mean, double variance, double terms) const;
  /// The same of the sum of two numbers that are rounded already, of which the first has the share `first` of the
  /// products.
  [[nodiscard]] double pair_rounding(double mean, double variance, double first) const;
  [[nodiscard]] AccumulationError chain(double count) const;
  [[nodiscard]] AccumulationError outer_chain(double block, double count) const;
  [[nodiscard]] AccumulationError tree(double block, double count) const;
  [[nodiscard]] AccumulationError truncated(double block, double count) const;
  /// Errors of variance `variance` in all, each a multiple of a partial sum of `count` products.
  [[nodiscard]] AccumulationError walk(double variance, double count) const;

  ProductLaw law_;
  LastBits bits_;
  int precision_;
};

}  // namespace tapconv
