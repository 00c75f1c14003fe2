// Fits the costs of the `warpgroup` solver's model to what candidates.py measured, best with --random:
//
//     fit_warpgroup FILE...
//
// Prints the costs, those that changed beside what they were, and before and after the errors and what the choices
// among the tiles lose. The logarithm of predicted over measured time counts, by the cube of best over measured time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "plan/planner.hpp"
#include "solver/warpgroup_model.hpp"
#include "tapconv/error.hpp"

namespace {

using namespace tapconv;

struct Cost {
  std::string_view name;
  double WarpgroupCosts::*value;
  bool is_share = false;  ///< at most 1
};

constexpr Cost costs[] = {{"shared_byte_per_clock", &WarpgroupCosts::shared_byte_per_clock},
                          {"item_clocks", &WarpgroupCosts::item_clocks},
                          {"copy_clocks", &WarpgroupCosts::copy_clocks},
                          {"l2_byte_per_clock", &WarpgroupCosts::l2_byte_per_clock},
                          {"fragment_clocks", &WarpgroupCosts::fragment_clocks},
                          {"first_clocks", &WarpgroupCosts::first_clocks},
                          {"round_clocks", &WarpgroupCosts::round_clocks},
                          {"fetch_clocks", &WarpgroupCosts::fetch_clocks},
                          {"late_clocks", &WarpgroupCosts::late_clocks},
                          {"run_clocks", &WarpgroupCosts::run_clocks},
                          {"group_clocks", &WarpgroupCosts::group_clocks},
                          {"row_clocks", &WarpgroupCosts::row_clocks},
                          {"channel_clocks", &WarpgroupCosts::channel_clocks},
                          {"part_clocks", &WarpgroupCosts::part_clocks},
                          {"exchange_byte_per_clock", &WarpgroupCosts::exchange_byte_per_clock},
                          {"fill_clocks", &WarpgroupCosts::fill_clocks},
                          {"sustained_clock", &WarpgroupCosts::sustained_clock, true},
                          {"memory_share", &WarpgroupCosts::memory_share, true},
                          {"launch_ms", &WarpgroupCosts::launch_ms},
                          {"hidden", &WarpgroupCosts::hidden, true},
                          {"run_ms", &WarpgroupCosts::run_ms}};

struct Sample {
  Task task;
  shared::WarpgroupTile tile;
  double ms, weight;
  std::size_t problem;
};

void read(const std::string& name, const DeviceModel& device, std::vector<Sample>& samples) {
  std::ifstream file(name);
  if (!file) throw Error(ErrorCode::usage, name + " cannot be read");
  const nlohmann::json found = nlohmann::json::parse(file);
  for (const nlohmann::json& problem : found.at("problems")) {
    Task task = tasks_of(parse_problem(problem.at("problem").get<std::string>())).front();
    task.packed = true;
    const std::size_t first = samples.size();
    double best_ms = std::numeric_limits<double>::infinity();
    for (const nlohmann::json& row : problem.at("candidates")) {
      if (row.at("solver") != "warpgroup") continue;
      const auto tile = parse_warpgroup_tile(task, row.at("configuration").get<std::string>(), device);
      if (!tile) continue;
      samples.push_back({.task = task, .tile = *tile, .ms = row.at("ms").get<double>(), .weight = 1, .problem = first});
      best_ms = std::min(best_ms, samples.back().ms);
    }
    for (std::size_t i = first; i < samples.size(); ++i) {
      samples[i].weight = std::pow(best_ms / samples[i].ms, 3);
      samples[i].problem = first;
    }
  }
}

/// The root of the weighted mean of squared logarithms. What all tiles of a problem share counts a quarter: it does not
/// matter to the choice.
double error(const std::vector<Sample>& samples, const DeviceModel& device, const WarpgroupCosts& of) {
  double sum = 0, weights = 0;
  for (auto at = samples.begin(); at != samples.end();) {
    const auto end = std::find_if(at, samples.end(), [&](const Sample& other) { return other.problem != at->problem; });
    double weight = 0, first = 0, second = 0;
    for (; at != end; ++at) {
      const double log = std::log(warpgroup_estimate(at->task, at->tile, device, of).predicted_ms / at->ms);
      weight += at->weight;
      first += at->weight * log;
      second += at->weight * log * log;
    }
    const double mean = first / weight;
    sum += second - 0.75 * weight * mean * mean;
    weights += weight;
  }
  return std::sqrt(sum / weights);
}

/// By how much the tiles of the least estimates are slower than the best, sorted.
std::vector<double> losses(const std::vector<Sample>& samples, const DeviceModel& device, const WarpgroupCosts& of) {
  struct Choice {
    double predicted_ms, ms, best_ms;
  };
  std::map<std::size_t, Choice> choices;
  for (const Sample& sample : samples) {
    const double predicted = warpgroup_estimate(sample.task, sample.tile, device, of).predicted_ms;
    const auto [at, added] = choices.try_emplace(sample.problem, Choice{predicted, sample.ms, sample.ms});
    Choice& choice = at->second;
    choice.best_ms = std::min(choice.best_ms, sample.ms);
    if (predicted < choice.predicted_ms) choice = {predicted, sample.ms, choice.best_ms};
  }
  std::vector<double> found;
  for (const auto& [problem, choice] : choices) found.push_back(choice.ms / choice.best_ms);
  std::ranges::sort(found);
  return found;
}

/// One cost after the other by smaller and smaller factors, until none helps.
WarpgroupCosts fitted(const std::vector<Sample>& samples, const DeviceModel& device) {
  WarpgroupCosts best;
  double least = error(samples, device, best);
  for (double factor = 1.5; factor > 1.005; factor = std::sqrt(factor)) {
    bool changed = true;
    for (int round = 0; changed && round < 10; ++round) {
      changed = false;
      for (const Cost& cost : costs) {
        for (const double by : {factor, 1 / factor}) {
          WarpgroupCosts trial = best;
          trial.*cost.value *= by;
          if (cost.is_share && trial.*cost.value > 1) continue;
          const double got = error(samples, device, trial);
          if (got > least * 0.9999) continue;
          least = got;
          best = trial;
          changed = true;
        }
      }
    }
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw Error(ErrorCode::usage, "usage: fit_warpgroup FILE...");
    const auto device = std::ranges::find_if(
        known_devices(), [](const DeviceModel& one) { return one.facts.name.find("H200") != std::string::npos; });
    std::vector<Sample> samples;
    for (int i = 1; i < argc; ++i) read(argv[i], *device, samples);
    if (samples.empty()) throw Error(ErrorCode::usage, "no candidate of warpgroup that there still is");
    const WarpgroupCosts before, after = fitted(samples, *device);
    for (const Cost& cost : costs)
      fmt::print("{:24} {:<10.4g} {}\n", cost.name, after.*cost.value,
                 before.*cost.value == after.*cost.value ? "" : fmt::format("was {:.4g}", before.*cost.value));
    fmt::print("{} tiles: off by a factor of {:.3f}, was {:.3f}\n", samples.size(),
               std::exp(error(samples, *device, after)), std::exp(error(samples, *device, before)));
    const std::vector<double> lost = losses(samples, *device, after), was = losses(samples, *device, before);
    fmt::print("{} choices: slower than the best by {:.3f} in the median and {:.3f} at worst, was {:.3f} and {:.3f}\n",
               lost.size(), lost[lost.size() / 2], lost.back(), was[was.size() / 2], was.back());
  } catch (const std::exception& error) {
    fmt::print(stderr, "fit_warpgroup: {}\n", error.what());
    return 1;
  }
}
