#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json.hpp"
#include "options.hpp"
#include "tapconv/calculators.hpp"

namespace tapconv::cli {

/// The options of `explain` that answer one question about a kernel that somebody writes.
struct CalculatorOptions {
  std::string occupancy;              ///< "threads=128,registers=96,shared=49152"
  std::string tile;                   ///< "channels=64,pixels=256" or "channels=64,height=8,width=32"
  std::vector<std::string> accesses;  ///< see parse_access()
  std::string block;                  ///< threads of the accesses' block; empty: 32

  void add(CLI::App& command);
  [[nodiscard]] bool any() const { return !occupancy.empty() || !tile.empty() || !accesses.empty(); }
};

/// What they answer.
struct CalculatorAnswers {
  struct OfOccupancy {
    Multiprocessor multiprocessor;
    Occupancy occupancy;
  };
  struct OfTile {
    std::int64_t resident_blocks = 0;
    std::vector<TileFit> fits;
  };
  struct OfAccess {
    std::string access;
    SharedAccess shared;
    GlobalAccess global;
  };
  std::optional<OfOccupancy> occupancy;
  std::optional<OfTile> tile;
  std::vector<OfAccess> accesses;
};

/// `device` chooses one where it is needed, `problem` too. Throws Error{usage} naming the option and its fields.
[[nodiscard]] CalculatorAnswers answers(const CalculatorOptions& options, const ProblemOptions& problem,
                                        const DeviceOptions& device);

void print_text(const CalculatorAnswers& answers);
[[nodiscard]] Json to_json(const CalculatorAnswers& answers);
[[nodiscard]] Json to_json(const Occupancy& occupancy);

/// That of a planned kernel; nothing if it was not compiled.
[[nodiscard]] std::optional<Occupancy> occupancy_of(const PlannedKernel& kernel, const Device& device);

/// "3 blocks, 12 of 64 warps (19 %), limited by registers".
[[nodiscard]] std::string text(const Occupancy& occupancy, const Multiprocessor& multiprocessor);

}  // namespace tapconv::cli
