#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tapconv/engine.hpp"

namespace tapconv::cli {

/// Where `run` writes its output and the tensors that it computed on; empty: nowhere.
struct SaveOptions {
  std::string output, input, weight, bias, pointwise_weight, pointwise_bias, residual;

  void add(CLI::App& command);

  /// Throws Error{environment} if a file's folder does not exist, Error{usage} if two tensors are to be written to one
  /// file.
  void check() const;

  /// Whether anything but the output is wanted.
  [[nodiscard]] bool any_operand() const;

  /// Writes what is wanted of `tensors`. Throws Error{usage} for a tensor that is not there.
  void write(const TensorSource& tensors) const;
};

}  // namespace tapconv::cli
