#include "options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "tapconv/error.hpp"

namespace tapconv::cli {

std::int64_t parse_number(const char* field, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    throw Error(ErrorCode::usage, fmt::format("{} = {}; valid: a whole number from {} on", field, text, least));
  return value;
}

std::string expect_value(const std::string& text) { return text.empty() ? "a value is needed" : ""; }

void DeviceOptions::add(CLI::App& command) {
  command.add_option("--device", device, "cpu, cuda or cuda:N (default: cuda:0 if there is one, else cpu)");
  command.add_flag("--json", json, "Print one JSON object instead of text");
}

Device DeviceOptions::chosen() const { return device.empty() ? default_device() : parse_device(device); }

void ProblemOptions::add(CLI::App& command) {
  command.add_option("problem", text, "Like 'Conv2d(64, 128, (5,7), bias=False) @ 8x64x512x256', or a name like kb56")
      ->required();
  command.add_option("--batch", batch, "Replaces the batch size of the problem")->check(expect_value);
}

Problem ProblemOptions::problem() const {
  Problem problem = parse_problem(text);
  if (!batch.empty()) problem.batch = parse_number("batch", batch, 1);
  validate(problem);
  return problem;
}

void TensorOptions::add(CLI::App& command) {
  command.add_option("--input", input, "Input tensor, a .npy file (default: drawn from the seed)")->check(expect_value);
  command.add_option("--weight", weight, "Weight tensor, a .npy file (default: drawn from the seed)")
      ->check(expect_value);
  command.add_option("--bias", bias, "Bias tensor, a .npy file (default: drawn from the seed)")->check(expect_value);
  command.add_option("--seed", seed, "Seed of tensors that are drawn (default: 0)");
}

std::uint64_t TensorOptions::seed_number() const { return static_cast<std::uint64_t>(parse_number("seed", seed, 0)); }

TensorSource TensorOptions::source() const {
  TensorSource source;
  source.seed = seed_number();
  if (!input.empty()) source.input = read_tensor(input);
  if (!weight.empty()) source.weight = read_tensor(weight);
  if (!bias.empty()) source.bias = read_tensor(bias);
  return source;
}

}  // namespace tapconv::cli
