#include "workbench/honest_errors.hpp"

#include <algorithm>
#include <cmath>

namespace tapconv {
namespace {

/// Below so many outputs in which honest summation errs an RMS error says nothing.
constexpr std::int64_t least_outputs = 64;

}  // namespace

HonestErrors::HonestErrors(const Problem& problem)
    : problem_(problem), roundoff_(problem.contract == Contract::fp64 ? 0x1p-53 : 0x1p-24) {}

void HonestErrors::add(const OracleOutput& expected) {
  inexact_ += expected.sequential != expected.value;
  if (!std::isfinite(expected.value) || expected.products == 0) return;
  const double cut_off = 8 * roundoff_ * expected.magnitude / std::sqrt(static_cast<double>(expected.products));
  partial_sums_.add(activated_error(problem_.activation, expected.sum, cut_off, problem_.negative_slope));
}

bool HonestErrors::include(const ErrorStatistics& statistics) const {
  switch (problem_.contract) {
    case Contract::tf32:
    case Contract::fp16:
    case Contract::bf16:
      return true;
    case Contract::ieee:
    case Contract::fp32:
    case Contract::fp64:
      break;
  }
  double most = std::max(2 * statistics.sequential_rms_error(), 2 * roundoff_ * statistics.rms_value());
  // `ieee` is met by fused multiply-adds alone.
  if (problem_.contract != Contract::ieee) most = std::max(most, partial_sums_.value());
  return inexact_ < least_outputs || statistics.rms_error() <= most + statistics.rms_activation_error();
}

}  // namespace tapconv
