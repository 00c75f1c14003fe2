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

void refuse_option(CLI::App& command, const std::string& name, const std::string& why) {
  command.add_option_function<std::string>(name, [why](const std::string&) { throw Error(ErrorCode::usage, why); })
      ->group("");
}

void DeviceOptions::add(CLI::App& command) {
  command.add_option("--device", device);
  command.add_flag("--json", json);
}

Device DeviceOptions::chosen() const { return device.empty() ? default_device() : parse_device(device); }

void ProblemOptions::add(CLI::App& command) {
  command.add_option("problem", text)->required();
  command.add_option("--batch", batch)->check(expect_value);
}

Problem ProblemOptions::problem() const {
  Problem problem = parse_problem(text);
  if (!batch.empty()) problem.batch = parse_number("batch", batch, 1);
  validate(problem);
  return problem;
}

void TensorOptions::add(CLI::App& command) {
  command.add_option("--input", input)->check(expect_value);
  command.add_option("--weight", weight)->check(expect_value);
  command.add_option("--bias", bias)->check(expect_value);
  command.add_option("--pointwise-weight", pointwise_weight)->check(expect_value);
  command.add_option("--pointwise-bias", pointwise_bias)->check(expect_value);
  command.add_option("--residual", residual)->check(expect_value);
  command.add_option("--seed", seed);
}

std::uint64_t TensorOptions::seed_number() const { return static_cast<std::uint64_t>(parse_number("seed", seed, 0)); }

TensorSource TensorOptions::source() const {
  TensorSource source;
  source.seed = seed_number();
  const auto read = [](const std::string& file, std::optional<Tensor>& tensor) {
    if (!file.empty()) tensor = read_tensor(file);
  };
  read(input, source.input);
  read(weight, source.weight);
  read(bias, source.bias);
  read(pointwise_weight, source.pointwise_weight);
  read(pointwise_bias, source.pointwise_bias);
  read(residual, source.residual);
  return source;
}

}  // namespace tapconv::cli
