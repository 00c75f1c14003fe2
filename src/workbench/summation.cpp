#include "workbench/summation.hpp"

#include <cmath>

namespace tapconv {
namespace {

/// The errors' mean direction in its own standard errors: far below 0 where they point towards zero.
double towards_zero(std::span<const double> result, std::span<const double> exact) {
  double ee = 0, es = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double error = result[i] - exact[i];
    ee += error * error;
    if (exact[i] == 0) continue;
    es += exact[i] > 0 ? error : -error;
    ++count;
  }
  return ee > 0 && count > 0 ? es / std::sqrt(ee) : 0;
}

}  // namespace

std::string_view name(Summation summation) noexcept {
  switch (summation) {
    case Summation::undecided:
      return "undecided";
    case Summation::once:
      return "once";
    case Summation::chain:
      return "chain";
    case Summation::rounded:
      return "rounded";
    case Summation::truncated:
      return "truncated";
  }
  return "?";
}

Summation summation_of(std::span<const double> result, std::span<const double> exact, std::span<const double> chain) {
  constexpr std::size_t least_outputs = 64;
  constexpr double nearly_all = 0.99;
  // Six standard errors are not reached by chance.
  constexpr double clearly = -6;
  std::size_t as_chain = 0, as_exact = 0, chain_exact = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto rounded = static_cast<double>(static_cast<float>(exact[i]));
    as_chain += result[i] == chain[i];
    as_exact += result[i] == rounded;
    chain_exact += chain[i] == rounded;
  }
  const auto share = [&](std::size_t count) { return static_cast<double>(count) / static_cast<double>(result.size()); };
  if (result.size() < least_outputs || share(chain_exact) > 0.9) return Summation::undecided;
  if (share(as_chain) >= nearly_all) return Summation::chain;
  if (share(as_exact) >= nearly_all) return Summation::once;
  return towards_zero(result, exact) < clearly ? Summation::truncated : Summation::rounded;
}

}  // namespace tapconv
