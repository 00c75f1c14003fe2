#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tapconv/engine.hpp"

namespace tapconv::cli {

/// Options that several subcommands share.
struct DeviceOptions {
  std::string device;  ///< empty: the first CUDA device, or the CPU
  bool json = false;

  void add(CLI::App& command);
  [[nodiscard]] Device chosen() const;
};

struct ProblemOptions {
  std::string text;
  std::int64_t batch = 0;  ///< 0: as spelled

  void add(CLI::App& command);
  [[nodiscard]] Problem problem() const;
};

struct TensorOptions {
  std::string input, weight, bias;  ///< .npy files; empty: drawn from the seed
  std::uint64_t seed = 0;

  void add(CLI::App& command);
  [[nodiscard]] TensorSource source() const;
};

}  // namespace tapconv::cli
