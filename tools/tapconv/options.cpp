#include "options.hpp"

namespace tapconv::cli {

void DeviceOptions::add(CLI::App& command) {
  command.add_option("--device", device, "cpu, cuda or cuda:N (default: cuda:0 if there is one, else cpu)");
  command.add_flag("--json", json, "Print one JSON object instead of text");
}

Device DeviceOptions::chosen() const { return device.empty() ? default_device() : parse_device(device); }

void ProblemOptions::add(CLI::App& command) {
  command.add_option("problem", text, "Like 'Conv2d(64, 128, (5,7), bias=False) @ 8x64x512x256', or a name like kb56")
      ->required();
  command.add_option("--batch", batch, "Replaces the batch size of the problem");
}

Problem ProblemOptions::problem() const {
  Problem problem = parse_problem(text);
  if (batch != 0) problem.batch = batch;
  validate(problem);
  return problem;
}

void TensorOptions::add(CLI::App& command) {
  command.add_option("--input", input, "Input tensor, a .npy file (default: drawn from the seed)");
  command.add_option("--weight", weight, "Weight tensor, a .npy file (default: drawn from the seed)");
  command.add_option("--bias", bias, "Bias tensor, a .npy file (default: drawn from the seed)");
  command.add_option("--seed", seed, "Seed of tensors that are drawn (default: 0)");
}

TensorSource TensorOptions::source() const {
  TensorSource source;
  source.seed = seed;
  if (!input.empty()) source.input = read_npy(input);
  if (!weight.empty()) source.weight = read_npy(weight);
  if (!bias.empty()) source.bias = read_npy(bias);
  return source;
}

}  // namespace tapconv::cli
