#include <algorithm>
#include <random>
#include <regex>

#include "emulation.hpp"
#include "h200.hpp"
#include "oracle/statistics.hpp"
#include "plan/planner.hpp"
#include "problem/parallel.hpp"
#include "problem/text.hpp"
#include "random_problem.hpp"
#include "solver/warpgroup_tile.hpp"

namespace tapconv {
namespace {

using testing::Emulation;
using testing::Strided;
using testing::Tensors;

/// What a task may ask for beside its problem.
struct Variant {
  bool strided = false, packed = false, wide = false;
  /// Of warpgroup's configurations one of so many blocks a cluster, on a device that holds one cluster; 0: any.
  int cluster = 0;
  /// Of warpgroup's tiles those whose text has it; empty: of its candidates.
  std::string_view tiles = {};
};

enum class Fill { integers, uniform, special };

/// One stage of a problem: the programs that compute it.
struct Stage {
  Task task;
  KernelPlan plan;
  std::optional<KernelPlan> unreached;
  std::string name;
};

shared::Strides activation_strides(const Strided& tensor, int rank) {
  shared::Strides strides{.outer = tensor.strides[0], .inner = tensor.strides[1], .axis = {1, 1, 1}};
  std::copy_n(tensor.strides.begin() + 2, rank, strides.axis + (max_rank - rank));
  return strides;
}

shared::WeightStrides weight_strides(const Strided& tensor, const Problem& problem) {
  const shared::Strides by_axis = activation_strides(tensor, problem.rank);
  const bool transposed = problem.kind == Kind::transposed;
  return {.group = (transposed ? problem.in_channels : problem.out_channels) / problem.groups * by_axis.outer,
          .out_channel = transposed ? by_axis.inner : by_axis.outer,
          .in_channel = transposed ? by_axis.outer : by_axis.inner,
          .axis = {by_axis.axis[0], by_axis.axis[1], by_axis.axis[2]}};
}

/// A solver's kernels of a problem, compiled as host code.
class Programs {
 public:
  Programs(const Emulation& emulation, const std::string& name, std::string_view solver, const Problem& problem,
           Variant variant, std::uint64_t seed)
      : emulation_(emulation), problem_(problem), variant_(variant), generator_(seed) {
    cuda::DeviceFacts facts = testing::h200();
    // So that blocks have several tiles.
    if (!variant.tiles.empty()) facts.multiprocessors = 5;
    if (variant.cluster != 0) facts.multiprocessors = variant.cluster;
    const DeviceModel device = device_model(facts);
    const auto named = std::ranges::find(solvers(), solver, &Solver::name);
    for (Task task : tasks_of(problem)) {
      task.strided = variant.strided;
      task.packed = variant.packed;
      task.wide = task.wide || variant.wide;
      std::vector<std::string> configurations;
      if (variant.tiles.empty()) {
        for (const Candidate& candidate : (*named)->candidates(task, device))
          configurations.push_back(candidate.configuration);
      } else {
        for (const shared::WarpgroupTile& tile : warpgroup_tiles(task, device)) configurations.push_back(text(tile));
      }
      std::erase_if(configurations, [&](const std::string& configuration) {
        return !std::regex_search(configuration, std::regex(variant.tiles.begin(), variant.tiles.end())) ||
               (variant.cluster != 0 && !configuration.ends_with(fmt::format(" cluster={}", variant.cluster)));
      });
      if (configurations.empty()) throw std::runtime_error("no such configuration of " + spell(problem));
      const std::string configuration = configurations[generator_() % configurations.size()];
      stages_.push_back({.task = task,
                         .plan = (*named)->plan(task, configuration, device),
                         .unreached = unreached_plan(task, device),
                         .name = name + "-" + std::to_string(stages_.size())});
      const Stage& stage = stages_.back();
      emulation_.compile(stage.name, stage.plan.source);
      if (stage.unreached) emulation_.compile(stage.name + "-unreached", stage.unreached->source);
      if (stage.plan.packing) emulation_.compile(stage.name + "-pack", stage.plan.packing->source);
    }
  }

  /// Computes `problem`, which may differ from that of the constructor in its dynamic dimensions, and judges the
  /// result; twice, with the threads in either order. Empty if all is well.
  std::string failure(const Problem& problem, Fill fill) {
    Tensors tensors(problem, generator_());
    if (fill != Fill::integers) draw(tensors, fill == Fill::special);
    for (const bool reversed : {false, true}) {
      const std::string wrong = judge(tensors, outputs(tensors, reversed), fill);
      if (!wrong.empty()) return wrong + (reversed ? ", threads reversed" : "");
    }
    return {};
  }

  /// The outputs of tensors, with the threads in either order. Throws if anything was written beside them.
  std::vector<double> outputs(const Tensors& tensors, bool reversed) {
    const std::vector<Task> tasks = tasks_of(tensors.problem);
    std::optional<Strided> between;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const Problem& stage = tasks[i].problem;
      const bool first = i == 0, last = i + 1 == stages_.size();
      Strided output = place(testing::dense(stage.out_dtype, output_shape(stage), stage.layout));
      run(stages_[i], stage, first ? tensors.input : *between, first ? tensors.weight : *tensors.pointwise_weight,
          first ? tensors.bias : tensors.pointwise_bias, last ? tensors.residual : std::nullopt, output, reversed);
      between.emplace(testing::dense(stage.out_dtype, output_shape(stage), stage.layout));
      copy(output, *between);
      output.wipe();
      if (std::ranges::any_of(output.memory, [](std::byte byte) { return byte != std::byte{0xff}; }))
        throw std::runtime_error("written beside the output");
    }
    return testing::values_of(*between);
  }

  /// Numbers of all significant bits; with `special` some that are not finite.
  void draw(Tensors& tensors, bool special) {
    const auto draw_one = [&](Strided& tensor) {
      const shared::Recipe recipe{.seed = generator_(), .values = shared::Values::signed_, .scale = 1, .keep = 1};
      for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) tensor.set(i, shared::seeded_value(recipe, i));
      if (special)
        tensor.set(static_cast<std::int64_t>(generator_() % 5) % element_count(tensor.shape),
                   specials_[generator_() % 3]);
    };
    draw_one(tensors.input);
    draw_one(tensors.weight);
    for (auto* tensor : {&tensors.bias, &tensors.pointwise_weight, &tensors.pointwise_bias, &tensors.residual})
      if (*tensor) draw_one(**tensor);
  }

 private:
  static void copy(const Strided& from, Strided& to) {
    const auto bytes = element_bytes(from.dtype);
    for (std::int64_t i = 0; i < element_count(from.shape); ++i) {
      const auto size = static_cast<std::int64_t>(bytes);
      std::memcpy(to.data + to.place(i) * size, from.data + from.place(i) * size, bytes);
    }
  }

  /// Where the variant has a tensor with the elements of a dense one: any order and direction of the axes, with gaps,
  /// at an address that fits an element alone.
  Strided place(const Strided& dense) {
    std::vector<std::int64_t> strides = dense.strides;
    if (variant_.strided) {
      std::vector<std::size_t> order(strides.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::shuffle(order, generator_);
      std::int64_t step = 1;
      for (const std::size_t axis : order) {
        step += static_cast<std::int64_t>(generator_() % 3);
        strides[axis] = generator_() % 2 ? step : -step;
        step *= dense.shape[axis];
      }
    }
    Strided placed(dense.dtype, dense.shape, strides, variant_.strided ? element_bytes(dense.dtype) : 0);
    copy(dense, placed);
    return placed;
  }

  void run(const Stage& stage, const Problem& problem, const Strided& dense_input, const Strided& dense_weight,
           const std::optional<Strided>& bias, const std::optional<Strided>& dense_residual, Strided& output,
           bool reversed) {
    const Strided input = place(dense_input), weight = place(dense_weight);
    const std::optional<Strided> residual = dense_residual ? std::optional(place(*dense_residual)) : std::nullopt;
    shared::Sizes sizes = sizes_of(problem, variant_.strided);
    if (variant_.strided) {
      sizes.input_strides = activation_strides(input, problem.rank);
      sizes.output_strides = activation_strides(output, problem.rank);
      sizes.weight_strides = weight_strides(weight, problem);
      if (residual) sizes.residual_strides = activation_strides(*residual, problem.rank);
    }
    Emulation::Tensors tensors{.input = &input,
                               .weight = &weight,
                               .bias = bias ? &*bias : nullptr,
                               .residual = residual ? &*residual : nullptr,
                               .output = &output};
    std::optional<Strided> packed;
    if (const auto& packing = stage.plan.packing) {
      const DType number = number_type(stage.task);
      packed.emplace(number, testing::Shape{static_cast<std::int64_t>(packing->bytes / element_bytes(number))},
                     testing::Shape{1});
      emulation_.run(stage.name + "-pack", packing->launch, sizes,
                     {.input = nullptr, .weight = &weight, .bias = nullptr, .residual = nullptr, .output = &*packed},
                     reversed);
      tensors.weight = &*packed;
    }
    emulation_.run(stage.name, stage.plan.launch(sizes), sizes, tensors, reversed);
    if (!stage.unreached || reaches_all(problem)) return;
    tensors.input = tensors.weight = nullptr;
    emulation_.run(stage.name + "-unreached", stage.unreached->launch(sizes), sizes, tensors, reversed);
  }

  /// Whether sums are made in the oracle's order, and nothing behind them is rounded in another way.
  [[nodiscard]] bool is_oracle_chain() const {
    return stages_.size() == 1 && stages_[0].plan.k_order == "channels, taps" &&
           problem_.activation <= Activation::relu;
  }

  [[nodiscard]] std::string judge(const Tensors& tensors, const std::vector<double>& actual, Fill fill) const {
    const std::vector<OracleOutput> expected = tensors.evaluate();
    std::vector<std::int64_t> outputs(expected.size());
    std::iota(outputs.begin(), outputs.end(), 0);
    ErrorStatistics statistics(tensors.problem);
    statistics.add(outputs, actual, expected);
    std::string place = fmt::format("output {} = {}, expected {}", statistics.worst_output(), statistics.worst_actual(),
                                    statistics.worst_expected());
    if (statistics.violations() > 0) return fmt::format("{} violations, {}", statistics.violations(), place);
    const bool exact = fill == Fill::integers && problem_.activation <= Activation::relu;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double chain = expected[i].sequential;
      const bool same = actual[i] == chain || (std::isnan(actual[i]) && std::isnan(chain));
      if (is_oracle_chain() && !same) return fmt::format("output {} = {}, the chain {}", i, actual[i], chain);
      const double rounded = round_to(expected[i].value, problem_.out_dtype);
      if (exact && actual[i] != rounded) return fmt::format("output {} = {}, exactly {}", i, actual[i], rounded);
    }
    return {};
  }

  static constexpr double specials_[] = {std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN()};

  const Emulation& emulation_;
  Problem problem_;
  Variant variant_;
  std::mt19937_64 generator_;
  std::vector<Stage> stages_;
};

/// The problem on another input, where it is dynamic.
Problem grown(Problem problem) {
  if (problem.dynamic_batch) ++problem.batch;
  for (int axis = 0; axis < problem.rank; ++axis)
    if (problem.dynamic_input[axis]) problem.input[axis] += 2 + axis;
  return problem;
}

void expect_right(std::string_view solver, const std::vector<Problem>& problems, std::uint64_t seed,
                  std::string_view tiles = {}) {
  if (!Emulation::available()) GTEST_SKIP() << TAPCONV_TEST_COMPILER << " is not there";
  const Emulation emulation;
  parallel_for(std::ssize(problems), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Problem& problem = problems[static_cast<std::size_t>(i)];
      const std::uint64_t own = seed + static_cast<std::uint64_t>(i);
      // `warpgroup` takes packed weights alone.
      const Variant variant{.strided = own % 3 == 1,
                            .packed = own % 2 == 1 || solver == "warpgroup",
                            .wide = own % 5 == 2,
                            .tiles = tiles};
      SCOPED_TRACE(fmt::format("seed {}: {}{}{}{}", own, spell(problem), variant.strided ? ", strided" : "",
                               variant.packed ? ", packed" : "", variant.wide ? ", wide" : ""));
      try {
        Programs programs(emulation, fmt::format("kernel{}", i), solver, problem, variant, own);
        for (const Fill fill : {Fill::integers, Fill::uniform, Fill::special})
          EXPECT_EQ("", programs.failure(problem, fill)) << "fill " << static_cast<int>(fill);
        if (grown(problem) == problem) continue;
        EXPECT_EQ("", programs.failure(grown(problem), Fill::integers)) << "on " << spell(grown(problem));
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  });
}

/// Shards, for ctest to run side by side.
class DirectEmulation : public ::testing::TestWithParam<unsigned> {};

TEST_P(DirectEmulation, RandomProblemsAreRight) {
  constexpr unsigned each = 6;
  std::vector<Problem> problems;
  for (unsigned i = 0; i < each; ++i) problems.push_back(testing::any_random_problem(GetParam() * each + i, 2e5));
  expect_right("direct", problems, GetParam() * each);
}

INSTANTIATE_TEST_SUITE_P(Shards, DirectEmulation, ::testing::Range(0u, 5u));

TEST(DirectEmulationEdges, OfTilesVectorsAndSharedMemoryAreRight) {
  std::vector<Problem> problems;
  // Each with some tile and variant that its place in the list decides.
  for (const char* text : {
           "Conv1d(1, 1, 255, padding=127) @ 1x1x300",                     // a filter that just fits shared memory
           "Conv1d(3, 17, 3) @ 1x3x131",                                   // one more than a tile
           "Conv1d(2, 5, 257, padding=128) @ 1x2x300",                     // a filter larger than shared memory
           "Conv2d(4, 6, 17, padding=8, layout=channels_last) @ 1x4x9x9",  // and one read by vectors
           "Conv1d(300, 8, 1) @ 1x300x9",                                  // many chunks of channels
           "Conv1d(8, 24, 3, groups=2, layout=channels_last, residual=True, dtype=float16) @ 2x8x20",
           "ConvTranspose2d(3, 5, 2, stride=(3,4), layout=channels_last, activation=relu) @ 1x3x5x4",  // gaps
           "ConvTranspose1d(4, 13, 5, stride=6, dilation=4, padding=-3) @ 2x4x7",
           "Conv2d(4, 16, 2, layout=channels_last, residual=True, dtype=float64) @ 1x4x5x6",  // vectors read and stored
           "Conv2d(6, 13, 2, padding=1, padding_mode=circular, layout=channels_last) @ 1x6x5x6",
       })
    problems.push_back(parse_problem(text));
  expect_right("direct", problems, 1000);
}

/// A problem a shard.
class WarpgroupEmulation : public ::testing::TestWithParam<const char*> {};

TEST_P(WarpgroupEmulation, IsRight) { expect_right("warpgroup", {parse_problem(GetParam())}, 3); }

// Every way to cut a problem up: strides, dilations that share stored positions and such that do not, boundaries,
// channels that fill no chunk and no block, slabs and images in a tile, both orientations.
INSTANTIATE_TEST_SUITE_P(
    Problems, WarpgroupEmulation,
    ::testing::Values("Conv2d(16, 128, (3,5), math=tf32) @ 1x16x9x30",
                      "Conv1d(8, 40, 3, stride=3, dilation=4, math=tf32) @ 2x8x300",
                      "Conv2d(24, 70, 3, stride=2, padding=1, math=tf32) @ 2x24x17x19",
                      "Conv3d(9, 33, 3, padding=1, math=tf32) @ 1x9x6x7x9",
                      "Conv2d(32, 64, 3, padding=1, groups=2, math=tf32, residual=True, activation=relu) @ 2x32x14x14",
                      "Conv2d(8, 24, 5, padding=2, padding_mode=reflect, math=tf32, rounding=rn) @ 1x8x12x13",
                      "Conv2d(16, 16, 1, math=tf32, bias=False) @ 3x16x7x7",
                      "ConvTranspose2d(12, 20, 3, padding=1, math=tf32) @ 1x12x9x11",
                      "Conv2d(8, 16, 3, dilation=9, padding=9, math=tf32) @ 1x8x16x40",
                      "Conv2d(8, 16, 3, math=fp32) @ 1x8x10x20", "Conv1d(64, 72, 1, math=fp32) @ 1x64x200",
                      "Conv2d(8, 64, 3, padding=1, layout=channels_last, math=tf32) @ 1x8x12x12",
                      "Conv3d(6, 8, (1,3,3), stride=(1,2,2), padding_mode=circular, padding=1) @ 1x6x4x9x10",
                      "Conv2d(17, 9, 11, stride=4, padding=2, math=tf32) @ 1x17x30x31",
                      "ConvTranspose1d(10, 130, 7, dilation=3, activation=relu) @ 2x10x100",
                      "Conv2d(8, 16, 3, padding=1) @ 2?x8x9x20?"));

// Classes whose outputs follow each other and such whose do not, that lack taps, that leave gaps, of any number.
INSTANTIATE_TEST_SUITE_P(
    Strided, WarpgroupEmulation,
    ::testing::Values("ConvTranspose2d(12, 20, 2, stride=2, math=tf32) @ 1x12x9x11",
                      "ConvTranspose3d(16, 24, 2, stride=2, residual=True) @ 1x16x3x4x9",
                      "ConvTranspose2d(8, 16, 4, stride=2, padding=1, math=tf32) @ 2x8x7x9",
                      "ConvTranspose2d(8, 12, 3, stride=(3,2), padding=1, activation=relu) @ 2x8x6x10",
                      "ConvTranspose1d(10, 24, 16, stride=8, padding=((0,8),), math=tf32, rounding=rn) @ 2x10x40",
                      "ConvTranspose1d(8, 16, 2, stride=5, padding=1) @ 2x8x30",
                      "ConvTranspose1d(9, 16, 5, stride=6, dilation=4, padding=3, math=tf32) @ 1x9x50",
                      "ConvTranspose2d(16, 16, (2,3), stride=(2,4), groups=2, layout=channels_last, math=tf32) "
                      "@ 1x16x5x9",
                      "ConvTranspose3d(8, 8, (1,2,3), stride=(3,1,2), padding=(0,1,1), math=tf32) @ 1x8x3x5x9",
                      "ConvTranspose2d(8, 16, 3, stride=2, padding=1, output_padding=1) @ 2?x8x5x9?"));

/// Pixels from registers. A problem and a seed a shard.
class RegistersEmulation : public ::testing::TestWithParam<std::tuple<std::string, int, std::string>> {};

TEST_P(RegistersEmulation, IsRight) {
  const auto [text, seed, tiles] = GetParam();
  expect_right("warpgroup", {parse_problem(text)}, static_cast<std::uint64_t>(seed), tiles);
}

// Tensors with any strides (seeds 1 modulo 3), rows that no 16 bytes divide, strides, boundaries, channels that fill no
// chunk and no block, both sums, turns, parts.
INSTANTIATE_TEST_SUITE_P(
    Problems, RegistersEmulation,
    ::testing::Values(
        std::tuple{"Conv2d(64, 96, 1, math=tf32) @ 2x64x12x12", 2, "registers"},
        std::tuple{"Conv2d(64, 96, 1, math=tf32) @ 2x64x12x12", 1, "registers"},
        std::tuple{"Conv2d(64, 24, 1) @ 3x64x8x9", 3, "registers"},
        std::tuple{"Conv1d(70, 300, 1, math=tf32, residual=True) @ 1x70x130", 3, "registers"},
        std::tuple{"Conv1d(40, 40, 1, stride=3) @ 2x40x301", 5, "registers"},
        std::tuple{"Conv2d(32, 64, 1, stride=2, groups=2, math=tf32, rounding=rn) @ 2x32x24x24", 3, "registers"},
        std::tuple{"Conv3d(9, 33, 1, padding=(1,0,2), math=tf32) @ 1x9x4x8x12", 6, "registers"},
        std::tuple{"Conv3d(21, 40, 1, math=tf32) @ 2x21x2x9x12?", 6, "registers"},
        std::tuple{"Conv1d(8, 24, 1, padding=4, padding_mode=reflect) @ 2x8x92", 3, "registers"},
        std::tuple{"ConvTranspose2d(12, 20, 1, padding=1, math=tf32) @ 1x12x13x11", 4, "registers"},
        std::tuple{"Conv2d(16, 64, 1, layout=channels_last, math=tf32) @ 2x16x9x9", 3, "registers"},
        std::tuple{"Conv2d(32, 64, 1, math=tf32) @ 3x32x40x48", 3, "registers.*stages=2,"},
        std::tuple{"Conv1d(64, 200, 1, math=tf32) @ 4x64x390", 3, "registers.*stages=4,2"},
        std::tuple{"Conv2d(48, 64, 1, stride=2, math=tf32) @ 4x48x40x90", 3, "registers.*stages=3,"},
        std::tuple{"Conv1d(448, 72, 1, math=tf32) @ 2x448x68", 3, "registers"},
        std::tuple{"Conv2d(40, 64, 1) @ 1x40x5x5", 3, "registers"},
        std::tuple{"Conv1d(32, 64, 7, stride=2, math=tf32) @ 2x32x100", 3, "registers"},
        std::tuple{"Conv1d(24, 40, 10, stride=3, padding=4, dilation=4, math=tf32) @ 2x24x96", 6, "registers"},
        std::tuple{"Conv2d(16, 64, (1,3), stride=(1,2), padding=1) @ 1x16x9x20", 3, "registers"},
        std::tuple{"Conv1d(24, 40, 3, stride=3, dilation=4, padding=5) @ 2x24x400", 3, "registers"},
        std::tuple{"Conv2d(16, 40, (1,5), stride=2, padding=2, math=tf32) @ 2x16x9x60", 6, "registers"},
        std::tuple{"Conv1d(16, 40, 3, stride=2, dilation=100, padding=100, math=tf32) @ 2x16x300", 3, "registers"},
        std::tuple{"Conv2d(48, 24, 2, stride=2) @ 1x48x20x44", 5, "registers"},
        std::tuple{"ConvTranspose3d(64, 32, 2, stride=2, math=tf32) @ 1x64x2x4x8", 3, "registers"},
        std::tuple{"ConvTranspose2d(40, 24, 2, stride=2) @ 2x40x6x12", 5, "registers"},
        std::tuple{"Conv1d(384, 24, 1) @ 1x384x64", 6, "registers"},
        std::tuple{"Conv1d(32, 64, 1, math=tf32) @ 2?x32x64?", 3, "registers"}));

/// Problems whose sums have parts, and how many.
class WarpgroupParts : public ::testing::TestWithParam<std::pair<std::string, int>> {};

TEST_P(WarpgroupParts, AreAddedAlikeByABlockAndByACluster) {
  if (!Emulation::available()) GTEST_SKIP() << TAPCONV_TEST_COMPILER << " is not there";
  const Emulation emulation;
  const auto [text, splits] = GetParam();
  const Problem problem = parse_problem(text);
  Problem dynamic = problem;
  dynamic.dynamic_batch = dynamic.dynamic_input[0] = true;
  Tensors tensors(problem);
  std::optional<std::vector<double>> first;
  int number = 0;
  for (const auto& [planned, cluster] : {std::pair{problem, 1}, {problem, splits}, {problem, splits}, {dynamic, 1}}) {
    const Variant variant{.strided = number % 2 == 1, .packed = true, .wide = number == 2, .cluster = cluster};
    SCOPED_TRACE(fmt::format("{} blocks a cluster, {}", cluster, spell(planned)));
    const auto seed = static_cast<std::uint64_t>(number);
    Programs programs(emulation, fmt::format("parts{}", number++), "warpgroup", planned, variant, seed);
    for (const Fill fill : {Fill::integers, Fill::special}) EXPECT_EQ("", programs.failure(problem, fill));
    if (!first) programs.draw(tensors, false);
    const std::vector<double> outputs = programs.outputs(tensors, false);
    if (!first) first = outputs;
    EXPECT_EQ(*first, outputs);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Problems, WarpgroupParts,
    ::testing::Values(std::pair{"Conv2d(48, 72, 3, padding=1, math=tf32) @ 2x48x7x7", 2},
                      std::pair{"Conv2d(96, 24, 3, padding=1) @ 1x96x9x10", 4},
                      std::pair{"Conv1d(448, 72, 1, math=tf32, layout=channels_last) @ 1x448x70", 2},
                      std::pair{"Conv2d(197, 16, 3, stride=2, math=tf32, residual=True, activation=relu) @ 1x197x9x9",
                                8},
                      std::pair{"Conv1d(208, 40, 5, groups=2, dilation=2) @ 2x208x20", 2}));

}  // namespace
}  // namespace tapconv
