#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tapconv/engine.hpp"

namespace tapconv::cli {

/// A whole number from `least` to `most`, in decimal. Throws Error{usage} naming the field.
[[nodiscard]] std::int64_t parse_number(const char* field, const std::string& text, std::int64_t least,
                                        std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// What lies between the commas of `text`; nothing of an empty one.
[[nodiscard]] std::vector<std::string> split(const std::string& text);

/// Refuses an empty value, which an unset variable of the shell leaves behind.
[[nodiscard]] std::string expect_value(const std::string& text);

/// Answers an option that belongs to another command with `why`, Error{usage}. It is hidden.
void refuse_option(CLI::App& command, const std::string& name, const std::string& why);

/// Options that several subcommands share.
struct DeviceOptions {
  std::string device;   ///< empty: the first CUDA device, or the CPU
  std::string threads;  ///< empty: all cores
  bool json = false;

  void add(CLI::App& command);
  /// --threads, for commands that compute.
  void add_threads(CLI::App& command);
  [[nodiscard]] Device chosen() const;
};

struct ProblemOptions {
  std::string text;
  std::string batch;  ///< empty: as spelled

  void add(CLI::App& command, bool required = true);
  [[nodiscard]] Problem problem() const;
};

/// What an argument stands for that may be several problems: a list's name, a file of problems, or one problem. Throws
/// as parse_problems().
[[nodiscard]] std::vector<NamedProblem> problems_of(const std::string& source);

/// A problem with its dynamic sizes taken from a given input. Throws Error{usage} if the others do not fit it.
[[nodiscard]] Problem sized_by_input(const Problem& problem, const TensorSource& tensors);

struct TensorOptions {
  std::string input, weight, bias, pointwise_weight, pointwise_bias, residual;  ///< files; empty: drawn from the seed
  std::string seed = "0";

  void add(CLI::App& command);
  [[nodiscard]] std::uint64_t seed_number() const;
  [[nodiscard]] TensorSource source() const;
  /// "drawn from seed 0: bias, residual": what the problem has and nobody gave, if anything else was given.
  [[nodiscard]] std::string drawn_note(const Problem& problem) const;
};

}  // namespace tapconv::cli
