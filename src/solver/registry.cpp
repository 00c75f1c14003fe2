#include <array>

#include "solver/direct.hpp"

namespace tapconv {

std::span<const Solver* const> solvers() {
  static const DirectSolver direct;
  static const std::array<const Solver*, 1> all{&direct};
  return all;
}

}  // namespace tapconv
