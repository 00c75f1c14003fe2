// Times the CPU engine against the same oneDNN primitive driven by hand: written against oneDNN alone, the caller's
// tensors in and out. One thread; both alternate in random order. Prints one JSON object.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "cpu/engine.hpp"
#include "hand_driven.hpp"
#include "overhead_problems.hpp"

namespace tapconv::bench {
namespace {

using Bytes = std::vector<std::byte>;

double processor_ms() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Time {
  double processor, wall;  // ms a call
};

template <class Call>
Time time(int calls, const Call& call) {
  const double processor = processor_ms(), wall = wall_ms();
  for (int i = 0; i < calls; ++i) call();
  return {(processor_ms() - processor) / calls, (wall_ms() - wall) / calls};
}

Bytes draw(std::int64_t count, DType dtype, std::mt19937_64& generator) {
  Bytes bytes(static_cast<std::size_t>(count) * element_bytes(dtype));
  for (std::int64_t i = 0; i < count; ++i)
    store_element(bytes.data(), dtype, i, static_cast<double>(generator() >> 11) * 0x1p-52 - 1);
  return bytes;
}

/// Median, and the order statistics that enclose it with 95 % confidence.
nlohmann::json median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t count = values.size();
  const auto reach = static_cast<std::size_t>(std::ceil(0.98 * std::sqrt(static_cast<double>(count))));
  const auto round = [](double value) { return std::round(value * 1e4) / 1e4; };
  return {{"median", round(values[count / 2])},
          {"interval", {round(values[count / 2 - reach]), round(values[std::min(count / 2 + reach, count - 1)])}}};
}

double largest_difference(const Bytes& a, const Bytes& b, DType dtype) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size() / element_bytes(dtype); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    largest = std::max(largest, std::abs(load_element(a.data(), dtype, index) - load_element(b.data(), dtype, index)));
  }
  return largest;
}

struct Operands {
  Bytes input, weight, bias, residual;
};

Operands draw(const Problem& p, std::mt19937_64& generator) {
  return {draw(element_count(input_shape(p)), p.dtype, generator),
          draw(element_count(weight_shape(p)), p.dtype, generator), draw(bias_count(p), p.dtype, generator),
          draw(p.residual ? element_count(output_shape(p)) : 0, p.out_dtype, generator)};
}

/// The fastest way by hand, by the least of a few calls; none if oneDNN has none.
std::optional<Way> fastest_way(const Problem& p, const Operands& operands, Bytes& output) {
  std::optional<Way> fastest;
  double best = 0;
  for (const Way way : all_ways) {
    const auto hand = HandDriven::make(p, way);
    if (!hand) continue;
    hand->set_weights(operands.weight.data(), operands.bias.data());
    double least = 1e30;
    for (int i = 0; i < 5; ++i) {
      const auto run = [&] { hand->run(operands.input.data(), operands.residual.data(), output.data()); };
      least = std::min(least, time(1, run).processor);
    }
    if (fastest && least >= best) continue;
    best = least;
    fastest = way;
  }
  return fastest;
}

nlohmann::json measure(const NamedProblem& named, std::mt19937_64& generator) {
  const Problem& p = named.problem;
  const Operands operands = draw(p, generator);
  Bytes output(static_cast<std::size_t>(element_count(output_shape(p))) * element_bytes(p.out_dtype));
  const std::optional<Way> way = fastest_way(p, operands, output);
  if (!way) return {{"problem", named.name}, {"by_hand", nullptr}};

  // Where tensors lie in memory matters as much as what is measured here, so both are set up anew in every round; a
  // round counts as one observation, the median of its pairs.
  constexpr int rounds = 11, pairs = 11;
  constexpr double least_ms = 2;
  std::vector<double> processor, wall, engine_ms, hand_ms;
  std::string engine_name, hand_name;
  double difference = 0;
  for (int round = 0; round < rounds; ++round) {
    cpu::Convolution engine(p, 1);
    engine.set_weights(
        {.weight = operands.weight, .bias = operands.bias, .pointwise_weight = {}, .pointwise_bias = {}});
    const auto hand = HandDriven::make(p, *way);
    hand->set_weights(operands.weight.data(), operands.bias.data());
    const auto run_engine = [&] { engine.run(operands.input, operands.residual, output); };
    const auto run_hand = [&] { hand->run(operands.input.data(), operands.residual.data(), output.data()); };
    engine_name = engine.implementation();
    hand_name = hand->name();
    run_engine();
    const Bytes by_engine = output;
    run_hand();
    difference = std::max(difference, largest_difference(by_engine, output, p.out_dtype));
    const int calls = std::max(1, static_cast<int>(least_ms / std::max(time(1, run_hand).processor, 1e-3)));
    std::vector<double> processor_ratios, wall_ratios;
    for (int i = 0; i < pairs; ++i) {
      const bool engine_first = generator() % 2 == 0;
      const Time first = engine_first ? time(calls, run_engine) : time(calls, run_hand);
      const Time second = engine_first ? time(calls, run_hand) : time(calls, run_engine);
      const Time& ours = engine_first ? first : second;
      const Time& theirs = engine_first ? second : first;
      processor_ratios.push_back(ours.processor / theirs.processor);
      wall_ratios.push_back(ours.wall / theirs.wall);
      engine_ms.push_back(ours.processor);
      hand_ms.push_back(theirs.processor);
    }
    processor.push_back(median(processor_ratios)["median"]);
    wall.push_back(median(wall_ratios)["median"]);
  }
  fmt::print(stderr, "{:36} {:8.4f} ms, ratio {}\n", named.name, median(hand_ms)["median"].get<double>(),
             median(processor).dump());
  return {{"problem", named.name},
          {"gflop", work(p).flop / 1e9},
          {"engine", engine_name},
          {"by_hand", hand_name},
          {"engine_ms", median(engine_ms)["median"]},
          {"by_hand_ms", median(hand_ms)["median"]},
          {"ratio_processor_time", median(processor)},
          {"ratio_wall_time", median(wall)},
          {"rounds", rounds},
          {"pairs_a_round", pairs},
          {"largest_difference", difference}};
}

}  // namespace
}  // namespace tapconv::bench

int main() {
  std::mt19937_64 generator(1);
  nlohmann::json results = nlohmann::json::array();
  for (const auto& named : tapconv::bench::overhead_problems())
    results.push_back(tapconv::bench::measure(named, generator));
  fmt::print("{}\n",
             nlohmann::json{{"onednn", tapconv::cpu::version()}, {"threads", 1}, {"problems", results}}.dump(1));
}
