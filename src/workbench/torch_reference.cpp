#include "workbench/torch_reference.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "problem/embedded.hpp"
#include "problem/text.hpp"
#include "workbench/judge.hpp"
#include "workbench/measurement.hpp"

namespace tapconv {
namespace {

using Json = nlohmann::json;

std::string_view name_of(shared::Values values) {
  switch (values) {
    case shared::Values::unit:
      return "unit";
    case shared::Values::signed_:
      return "signed";
    case shared::Values::ties:
      return "ties";
  }
  return "unit";
}

Json recipe_json(const shared::Recipe& recipe) {
  return {{"seed", recipe.seed}, {"values", name_of(recipe.values)}, {"scale", recipe.scale}, {"keep", recipe.keep}};
}

/// By the names of the tensors in pytorch_call().
Json recipes_json(const Recipes& recipes) {
  return {{"x", recipe_json(recipes.input)},
          {"w", recipe_json(recipes.weight)},
          {"b", recipe_json(recipes.bias)},
          {"w2", recipe_json(recipes.pointwise_weight)},
          {"b2", recipe_json(recipes.pointwise_bias)},
          {"residual", recipe_json(recipes.residual)}};
}

Json operands_json(const Problem& p) {
  Json operands;
  const auto add = [&operands](const char* name, const std::vector<std::int64_t>& shape, DType dtype) {
    operands[name] = {{"shape", shape}, {"dtype", tapconv::name(dtype)}};
  };
  add("x", input_shape(p), p.dtype);
  add("w", weight_shape(p), p.dtype);
  if (p.bias) add("b", {bias_count(p)}, p.dtype);
  if (p.kind == Kind::depthwise_separable) add("w2", pointwise_weight_shape(p), p.dtype);
  if (pointwise_bias_count(p) > 0) add("b2", {pointwise_bias_count(p)}, p.dtype);
  if (p.residual) add("residual", output_shape(p), p.out_dtype);
  return operands;
}

double number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  fail(ErrorCode::environment, "PyTorch's process answered {} for an output", text);
}

std::vector<double> numbers(const Json& values, std::size_t count, std::string_view what) {
  std::vector<double> result;
  for (const Json& value : values) result.push_back(number(value));
  if (result.size() != count)
    fail(ErrorCode::environment, "PyTorch's process answered {} {}; asked for {}", result.size(), what, count);
  return result;
}

/// Times must be possible at all, within what the whole answer took.
void expect_times(const std::vector<double>& spaced_ms, double sustained_ms, double wall_ms) {
  const auto possible = [](double ms) { return std::isfinite(ms) && ms > 0; };
  const double sum = std::accumulate(spaced_ms.begin(), spaced_ms.end(), 0.0);
  if (!std::ranges::all_of(spaced_ms, possible) || !(sustained_ms >= 0) || sum + sustained_ms > wall_ms)
    fail(ErrorCode::environment, "PyTorch's process answered impossible times: {} ms, sustained {} ms, in {} ms",
         fmt::join(spaced_ms, ", "), sustained_ms, wall_ms);
}

const std::string& script() {
  static const std::string text(python_files().front().text);
  return text;
}

/// One request to the process. `rounds` are timed calls on other operands than those full of ties; `outputs` are wanted
/// of each.
Json question(const Problem& problem, const Device& device, std::uint64_t seed, const std::vector<Recipes>& rounds,
              const std::vector<std::int64_t>& outputs) {
  const Translation call = pytorch_call(problem);
  if (!call.text) fail(ErrorCode::usage, "{}", call.reason);
  Json recipes = Json::array();
  for (const Recipes& round : rounds) recipes.push_back(recipes_json(round));
  return {{"expression", *call.text},
          {"device", tapconv::name(device)},
          {"threads", device.threads},
          {"channels_last", problem.layout == Layout::channels_last},
          {"operands", operands_json(problem)},
          {"ties", recipes_json(tie_recipes(problem, seed))},
          {"tie_outputs", fingerprint_samples(problem, seed)},
          {"rounds", recipes},
          {"outputs", outputs},
          {"idle_ms", 0},
          {"sustained_s", 0}};
}

/// What the process answered, unless that is why it could not.
Json answered(const std::string& line) {
  Json answer = Json::parse(line);
  if (answer.contains("error")) fail(ErrorCode::environment, "PyTorch: {}", answer.at("error").get<std::string>());
  return answer;
}

std::map<std::string, std::string> versions_of(const Json& answer) {
  return answer.at("versions").get<std::map<std::string, std::string>>();
}

std::string name_of(const Json& answer) { return fmt::format("PyTorch {}", versions_of(answer).at("PyTorch")); }

/// The fingerprint of what was computed on the operands full of ties, which the session gets.
Fingerprint print_of(Session& session, std::uint64_t seed, const Json& answer) {
  const std::vector<std::int64_t> outputs = fingerprint_samples(session.problem(), seed);
  session.fill(tie_recipes(session.problem(), seed));
  return fingerprint_of(session, outputs, numbers(answer.at("tie_outputs"), outputs.size(), "outputs"));
}

/// By what body() failed, in a sentence; empty if it did not.
template <class Body>
std::string failure_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  } catch (const Json::exception& error) {
    return fmt::format("PyTorch's process answered what is not a result: {}", error.what());
  } catch (const std::out_of_range&) {
    return "PyTorch's process did not say its version";
  }
  return {};
}

std::unique_ptr<Worker> start(bool benchmark) {
  const char* const chosen = std::getenv("TAPCONV_PYTHON");
  std::vector<std::string> command{chosen != nullptr && *chosen != '\0' ? chosen : "python3", "-c", script()};
  if (benchmark) command.emplace_back("--benchmark");
  return std::make_unique<Worker>(std::move(command));
}

}  // namespace

std::string TorchReference::ask(const std::string& line, double timeout_s) {
  if (!broken_.empty()) fail(ErrorCode::environment, "{}", broken_);
  try {
    if (!worker_) worker_ = start(name_ == "torch-benchmark");
    std::string answer = worker_->ask(line, timeout_s);
    answered_ = true;
    return answer;
  } catch (const Error& error) {
    worker_.reset();
    if (!answered_) broken_ = error.what();
    throw;
  }
}

BenchReport::Framework TorchReference::measure(Session& session, const BenchRequest& request) {
  BenchReport::Framework result{.name = name_, .entry = {}, .reason = {}, .versions = {}};
  result.reason = failure_of([&] {
    const Problem& problem = session.problem();
    const std::vector<std::int64_t> outputs = sample_outputs(problem, judged_outputs, request.seed);
    std::vector<Recipes> rounds;
    for (int round = 0; round < request.rounds; ++round)
      rounds.push_back(uniform_recipes(problem, request.seed + static_cast<std::uint64_t>(round) + 1));
    Json asked = question(problem, request.device, request.seed, rounds, outputs);
    asked["idle_ms"] = request.idle_ms;
    asked["sustained_s"] = request.sustained_s;
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const Json answer = answered(ask(asked.dump(), request.worker_timeout_s));
    const double wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();

    Measurement measurement;
    measurement.layout = std::string(problem.layout == Layout::channels_last ? "channels-last" : "contiguous");
    measurement.spaced_ms = numbers(answer.at("spaced_ms"), rounds.size(), "times");
    measurement.sustained_ms = answer.at("sustained_ms").get<double>();
    expect_times(measurement.spaced_ms, measurement.sustained_ms, wall_ms);
    result.versions = versions_of(answer);
    measurement.name = name_of(answer);
    measurement.notes = {answer.at("benchmark").get<bool>() ? "cudnn.benchmark on" : "cudnn.benchmark off",
                         answer.at("allow_tf32").get<bool>() ? "cudnn.allow_tf32 on" : "cudnn.allow_tf32 off"};
    measurement.print = print_of(session, request.seed, answer);
    const Json& called = answer.at("outputs");
    if (called.size() != rounds.size())
      fail(ErrorCode::environment, "PyTorch's process answered outputs of {} calls; asked for {}", called.size(),
           rounds.size());
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      session.fill(rounds[round]);
      judge_call(measurement, session, false, outputs, numbers(called[round], outputs.size(), "outputs"));
    }
    result.entry = entry_of(measurement, problem, session.device_name());
  });
  return result;
}

TorchOutputs TorchReference::outputs_on_ties(const Problem& problem, const Device& device, std::uint64_t seed,
                                             double timeout_s) {
  TorchOutputs result;
  result.reason = failure_of([&] {
    const Json answer = answered(ask(question(problem, device, seed, {}, {}).dump(), timeout_s));
    result.versions = versions_of(answer);
    result.name = name_of(answer);
    result.outputs = numbers(answer.at("tie_outputs"), fingerprint_samples(problem, seed).size(), "outputs");
  });
  return result;
}

}  // namespace tapconv
