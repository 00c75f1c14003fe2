#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "tapconv/convolution.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {

std::int64_t parse_number(const char* field, const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    const std::string end_of_range =
        most == std::numeric_limits<std::int64_t>::max() ? "on" : fmt::format("to {}", most);
    throw Error(ErrorCode::usage,
                fmt::format("{} = {}; valid: a whole number from {} {}", field, text, least, end_of_range));
  }
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
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

void DeviceOptions::add_threads(CLI::App& command) { command.add_option("--threads", threads)->check(expect_value); }

Device DeviceOptions::chosen() const {
  // Far more threads than any machine has cores only fail to start.
  constexpr std::int64_t most_threads = 4096;
  Device result = device.empty() ? default_device() : parse_device(device);
  if (threads.empty()) return result;
  if (result.kind != Device::Kind::cpu)
    throw Error(ErrorCode::usage,
                fmt::format("threads = {}; the device is {}; valid with --device cpu", threads, name(result)));
  result.threads = static_cast<int>(parse_number("threads", threads, 1, most_threads));
  return result;
}

void ProblemOptions::add(CLI::App& command, bool required) {
  command.add_option("problem", text)->required(required);
  command.add_option("--batch", batch)->check(expect_value);
}

std::vector<NamedProblem> problems_of(const std::string& source) {
  const auto& lists = problem_lists();
  const auto list = std::ranges::find(lists, source, &ProblemList::name);
  return list == lists.end() ? parse_problems(source) : list->problems;
}

Problem sized_by_input(const Problem& problem, const TensorSource& tensors) {
  const bool dynamic =
      problem.dynamic_batch || std::ranges::find(problem.dynamic_input, true) != problem.dynamic_input.end();
  return dynamic && tensors.input ? with_input_shape(problem, tensors.input->shape()) : problem;
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

std::string TensorOptions::drawn_note(const Problem& problem) const {
  const bool separable = problem.kind == Kind::depthwise_separable;
  struct Operand {
    const char* name;
    const std::string& file;
    bool present;
  };
  const Operand operands[] = {{"input", input, true},
                              {"weight", weight, true},
                              {"bias", bias, problem.bias},
                              {"pointwise_weight", pointwise_weight, separable},
                              {"pointwise_bias", pointwise_bias, separable && problem.bias},
                              {"residual", residual, problem.residual}};
  std::vector<std::string> drawn;
  bool any_given = false;
  for (const auto& [name, file, present] : operands) {
    if (!file.empty()) any_given = true;
    if (present && file.empty()) drawn.emplace_back(name);
  }
  if (!any_given || drawn.empty()) return "";
  return fmt::format("  drawn from seed {}: {}\n", seed, fmt::join(drawn, ", "));
}

}  // namespace tapconv::cli
