#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cuda/cudnn_graph.hpp"

namespace tapconv::cuda {

std::string_view name(CudnnHeuristic heuristic) noexcept {
  switch (heuristic) {
    case CudnnHeuristic::a:
      return "A";
    case CudnnHeuristic::b:
      return "B";
    case CudnnHeuristic::fallback:
      return "fallback";
  }
  return "unknown";
}

namespace cudnn {
namespace {

HeuristicMode mode(CudnnHeuristic heuristic) {
  switch (heuristic) {
    case CudnnHeuristic::a:
      return HeuristicMode::a;
    case CudnnHeuristic::b:
      return HeuristicMode::b;
    case CudnnHeuristic::fallback:
      return HeuristicMode::fallback;
  }
  return HeuristicMode::a;
}

std::vector<Descriptor> configurations(const Target& target, const Graph& graph, CudnnHeuristic heuristic) {
  Descriptor query(DescriptorType::engine_heuristic);
  query.set(Attribute::engine_heuristic_operation_graph, graph.descriptor());
  query.set(Attribute::engine_heuristic_mode, mode(heuristic));
  if (target.handle == nullptr) query.set(Attribute::engine_heuristic_device_properties, *target.properties);
  const Status status = query.try_finalize();
  if (not_supported(status)) return {};
  check(status, "ask its heuristics for engines");
  return query.get_all(Attribute::engine_heuristic_results, DescriptorType::engine_config);
}

std::string spell(const Descriptor& engine, const Descriptor& configuration) {
  constexpr std::int64_t most_knobs = 64;  // cuDNN 9.19 has 44 types
  std::vector<std::pair<int, std::int64_t>> knobs;
  for (const Descriptor& choice :
       configuration.get_up_to(most_knobs, Attribute::engine_config_knob_choices, DescriptorType::knob_choice)) {
    knobs.emplace_back(static_cast<int>(choice.get<KnobType>(Attribute::knob_choice_type)),
                       choice.get<std::int64_t>(Attribute::knob_choice_value));
  }
  std::sort(knobs.begin(), knobs.end());
  std::vector<std::string> spelled;
  for (const auto& [type, value] : knobs) spelled.push_back(fmt::format("{}={}", type, value));
  return fmt::format("engine {} {{{}}}", engine.get<std::int64_t>(Attribute::engine_global_index),
                     fmt::join(spelled, ","));
}

CudnnNotes notes(const Descriptor& engine) {
  CudnnNotes result;
  for (const NumericalNote note : engine.get_all<NumericalNote>(Attribute::engine_numerical_note)) {
    switch (note) {
      case NumericalNote::tensor_core:
        result.tensor_cores = true;
        break;
      case NumericalNote::down_convert_inputs:
        result.down_converts_inputs = true;
        break;
      case NumericalNote::reduced_precision_reduction:
        result.reduced_precision_reduction = true;
        break;
      case NumericalNote::fft:
        result.fft = true;
        break;
      case NumericalNote::nondeterministic:
        result.nondeterministic = true;
        break;
      case NumericalNote::winograd:
      case NumericalNote::winograd_tile_4x4:
      case NumericalNote::winograd_tile_6x6:
      case NumericalNote::winograd_tile_13x13:
        result.winograd = true;
        break;
    }
  }
  for (const BehaviorNote note : engine.get_all<BehaviorNote>(Attribute::engine_behavior_note)) {
    if (note == BehaviorNote::runtime_compilation) result.compiled_at_run_time = true;
  }
  return result;
}

}  // namespace

std::vector<Offer> offers(const Target& target, const Graph& graph) {
  std::vector<Offer> result;
  std::set<std::string> seen;
  for (const CudnnHeuristic heuristic : {CudnnHeuristic::a, CudnnHeuristic::b, CudnnHeuristic::fallback}) {
    for (Descriptor& configuration : configurations(target, graph, heuristic)) {
      const Descriptor engine = configuration.get(Attribute::engine_config_engine, DescriptorType::engine);
      std::string spelling = spell(engine, configuration);
      if (!seen.insert(spelling).second) continue;
      result.push_back({std::move(configuration), std::move(spelling), heuristic, notes(engine)});
    }
  }
  return result;
}

bool allowed(const CudnnNotes& notes, const CudnnChoice& choice) noexcept {
  return !notes.down_converts_inputs && (choice.allow_tensor_cores || !notes.tensor_cores);
}

Descriptor execution_plan(const Target& target, const Descriptor& configuration) {
  Descriptor result(DescriptorType::execution_plan);
  if (target.handle != nullptr) {
    result.set(Attribute::execution_plan_handle, target.handle);
  } else {
    result.set(Attribute::execution_plan_device_properties, *target.properties);
  }
  result.set(Attribute::execution_plan_engine_config, configuration);
  result.finalize();
  return result;
}

}  // namespace cudnn
}  // namespace tapconv::cuda
