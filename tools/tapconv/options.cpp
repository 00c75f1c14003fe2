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
  const auto add_tensor = [&](const char* option, std::string& value, const char* what) {
    command
        .add_option(option, value, fmt::format("{}: x.npy or x.safetensors:name (default: drawn from the seed)", what))
        ->check(expect_value);
  };
  add_tensor("--input", input, "Input tensor");
  add_tensor("--weight", weight, "Weight tensor");
  add_tensor("--bias", bias, "Bias tensor");
  add_tensor("--pointwise-weight", pointwise_weight, "Weight of the pointwise half of a DepthwiseSeparable layer");
  add_tensor("--pointwise-bias", pointwise_bias, "Bias of the pointwise half of a DepthwiseSeparable layer");
  add_tensor("--residual", residual, "Tensor that is added before the activation");
  command.add_option("--seed", seed, "Seed of tensors that are drawn (default: 0)");
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
