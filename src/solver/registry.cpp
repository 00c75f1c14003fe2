#include <array>

#include "solver/direct.hpp"
#include "solver/warpgroup.hpp"

namespace tapconv {

std::span<const Solver* const> solvers() {
  static const WarpgroupSolver warpgroup;
  static const DirectSolver direct;
  static const std::array<const Solver*, 2> all{&warpgroup, &direct};
  return all;
}

}  // namespace tapconv
