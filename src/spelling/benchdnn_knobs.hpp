#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "spelling/tokens.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// What stands before a benchdnn descriptor: the driver, and the knobs that make up a problem.
struct BenchdnnKnobs {
  Kind kind = Kind::convolution;                 ///< the driver
  std::int64_t batch = 0;                        ///< instead of the descriptor's; 0: the descriptor's
  bool direction_has_bias = true;                ///< --dir=FWD_B
  std::optional<DType> bias_dtype;               ///< none: undef
  DType dtype = DType::float32;                  ///< source and weights
  DType out_dtype = DType::float32;              ///< destination
  std::array<std::optional<Layout>, 3> layouts;  ///< of source, weights, destination; none: any
  bool tf32 = false;
  bool residual = false;
  Activation activation = Activation::none;
  double negative_slope = Problem{}.negative_slope;
};

/// Applies `token`, a word of `source`, if it is the program, a driver or a knob; false if it is none of them. Knobs
/// that do not change the problem are accepted; those that change it to what Tapconv cannot say are refused. Throws
/// SpellingError.
[[nodiscard]] bool apply_knob(const Tokens& source, Token token, BenchdnnKnobs& knobs);

/// `sizes`, read from the descriptor at `position` of `source`, with everything that the knobs say; valid. Throws
/// SpellingError.
[[nodiscard]] Problem with_knobs(const Tokens& source, std::size_t position, Problem sizes, const BenchdnnKnobs& knobs);

}  // namespace tapconv
