#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapconv {

/// Why a result is wrong: docs/diagnosis.md has the causes. Outputs are examined by the fp64 oracle: all of a small
/// problem, a few thousand of a large one.
struct Diagnosis {
  std::int64_t outputs = 0;                   ///< of the problem
  std::int64_t examined = 0;                  ///< by the oracle
  std::int64_t wrong = 0;                     ///< of those examined: beyond the bound of the contract
  double unwritten_share = 0, nan_share = 0;  ///< over the whole output; an unwritten one is no NaN

  /// An output, at (n, k, spatial...).
  struct Worst {
    std::vector<std::int64_t> place;
    double actual = 0, expected = 0, bound = 0;
  };
  std::vector<Worst> worst;  ///< the largest |error| / bound, descending; ten at most, wrong ones alone

  /// How many of those examined have from <= |error| / bound < to. Where the bound is 0 or a value is not finite the
  /// ratio is 0 or infinite; the last `to` is infinite and belongs to its bin.
  struct Bin {
    double from = 0, to = 0;
    std::int64_t outputs = 0;
  };
  std::vector<Bin> histogram;

  /// Outputs with something in common: "first row of the output", "channel mod 8 = 3", "rows 64 to 127".
  struct Group {
    std::string what;
    std::int64_t outputs = 0, wrong = 0;  ///< of those examined
    double max_ratio = 0;                 ///< largest |error| / bound
  };
  std::vector<Group> groups;  ///< those where the share of wrong outputs is another than elsewhere, telling ones first

  /// Least squares over the outputs examined: result ~ scale * expected + offset. Where nothing can be fitted all are
  /// 0.
  double scale = 0, offset = 0, correlation = 0;

  std::string cause;              ///< "kernel-flipped", "unwritten-tile", ...; "unknown"; empty: nothing is wrong
  std::string sentence;           ///< what happened and what to do
  std::vector<std::string> also;  ///< other causes that explain the result equally well
};

}  // namespace tapconv
