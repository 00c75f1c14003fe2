#include "solver/warpgroup.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "problem/text.hpp"
#include "solver/warpgroup_model.hpp"

namespace tapconv {
namespace {

std::string tile_member(const shared::WarpgroupTile& t) {
  return fmt::format(
      "  static constexpr shared::WarpgroupTile tile = {{.pixels_are_rows = {}, .from_registers = {}, .columns = {}, "
      ".channel_blocks = {}, "
      ".segments = {}, .split_channels = {}, .images = {}, .extent = {{{}, {}, {}}}, .along_rows = {}, .steps = {}, "
      ".pairs = {}, .input_stages = {}, .weight_stages = {}, .parts = {}{}{}}};\n",
      t.pixels_are_rows, t.from_registers, t.columns, t.channel_blocks, t.segments, t.split_channels, t.images,
      t.extent[0], t.extent[1], t.extent[2], t.along_rows, t.steps, t.pairs, t.input_stages, t.weight_stages, t.parts,
      t.scattered ? ", .scattered = true" : "",
      t.splits == 1 ? "" : fmt::format(", .splits = {}, .cluster = {}", t.splits, t.cluster));
}

/// Filters beyond these have too few outputs in a tile, or too many instructions.
constexpr std::int64_t most_taps = 4096;
/// So that positions in a tile and distances of taps fit into 64 bits.
constexpr std::int64_t most_step = std::int64_t{1} << 40;
/// Kernels count them in 32 bits.
constexpr std::int64_t most_channels = 1 << 30;

/// Their product, if that is at most `limit`; else something larger.
std::int64_t count_up_to(std::span<const std::int64_t> factors, std::int64_t limit) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) product = std::min(product, limit + 1) * std::min(factor, limit + 1);
  return product;
}

/// Of a shape of at most `most_taps` taps.
Support supports_forward(const shared::Shape& shape) {
  /// Zeros among the weights of a transposed convolution's classes, for each other one.
  constexpr std::int64_t most_zeros = 3;
  const shared::Shape forward = shared::forward_shape(shape);
  if (forward.out_channels < 8)
    return {false,
            fmt::format("{} output channels of a group: an instruction makes eight at least", forward.out_channels)};
  if (forward.out_channels > most_channels)
    return {false, fmt::format("more than {} output channels of all residues of the outputs", most_channels)};
  std::array<std::int64_t, 3> taps{};
  std::int64_t weights = 1, classes = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    taps[i] = forward.axis[i].kernel;
    weights *= shape.axis[i].kernel;
    classes *= shared::tap_classes(shape.axis[i], shape.transposed);
  }
  if (count_up_to(taps, most_taps) > most_taps || count_up_to(taps, most_taps) * classes > (1 + most_zeros) * weights)
    return {false, "the stride's residues have so few taps in common that most of their weights would be zeros"};
  return {};
}

}  // namespace

Support WarpgroupSolver::supports(const Task& task, const DeviceModel& device) const {
  const Problem& problem = task.problem;
  if (device.facts.compute_major != 9 || device.facts.compute_minor != 0)
    return {false, "the instructions are those of compute capability 9.0"};
  if (problem.dtype != DType::float32 || task.input_dtype != DType::float32)
    return {false, "operands other than float32"};
  if (problem.contract != Contract::tf32 && problem.contract != Contract::fp32)
    return {false, fmt::format("{} allows no products of TF32 numbers", tapconv::name(problem.contract))};
  if (problem.in_channels / problem.groups < 5)
    return {false, fmt::format("{} input channels of a group: less than five waste too much of an instruction",
                               problem.in_channels / problem.groups)};
  if (problem.in_channels / problem.groups > most_channels)
    return {false, fmt::format("more than {} input channels of a group", most_channels)};
  if (problem.out_channels > most_channels) return {false, fmt::format("more than {} output channels", most_channels)};
  for (int i = 0; i < problem.rank; ++i) {
    if (problem.stride[i] > most_step || problem.dilation[i] > most_step)
      return {false, fmt::format("a stride or dilation of more than {}", most_step)};
  }
  if (count_up_to(problem.kernel, most_taps) > most_taps) return {false, fmt::format("more than {} taps", most_taps)};
  if (const Support forward = supports_forward(shape_of(task)); !forward.ok) return forward;
  if (!has_warpgroup_tile(task, device)) return {false, "no tile of it fits into shared memory"};
  return {};
}

std::vector<Candidate> WarpgroupSolver::candidates(const Task& task, const DeviceModel& device) const {
  constexpr std::size_t most = 48;
  std::vector<Candidate> all, of_clusters;
  for (const shared::WarpgroupTile& tile : warpgroup_tiles(task, device))
    (tile.cluster == 1 ? all : of_clusters).push_back(warpgroup_estimate(task, tile, device));
  const auto keep_best = [](std::vector<Candidate>& candidates, std::size_t count) {
    std::ranges::stable_sort(candidates, {}, &Candidate::predicted_ms);
    if (candidates.size() > count) candidates.resize(count);
  };
  // Where a tile's parts can be in one block or in several, half of each: the model shall not forget one of them.
  const std::size_t count = of_clusters.empty() ? most : most / 2;
  keep_best(all, count);
  keep_best(of_clusters, count);
  all.insert(all.end(), of_clusters.begin(), of_clusters.end());
  keep_best(all, most);
  return all;
}

KernelPlan WarpgroupSolver::plan(const Task& task, std::string_view configuration, const DeviceModel& device) const {
  const std::optional<shared::WarpgroupTile> tile = parse_warpgroup_tile(task, configuration, device);
  if (!tile)
    fail(ErrorCode::usage, "configuration of warpgroup = \"{}\"; valid: one of its candidates for {}", configuration,
         spell(task.problem));
  return warpgroup_plan(task, *tile, device);
}

KernelPlan warpgroup_plan(const Task& task, const shared::WarpgroupTile& tile, const DeviceModel& device) {
  const shared::Shape shape = warpgroup_shape(task);
  const shared::WarpgroupLayout layout = shared::warpgroup_layout(shape, tile);
  const std::string members = common_configuration(task) + tile_member(tile);
  const auto source = [&](std::string_view entry, std::string_view bounds, std::string_view function, int cluster) {
    cuda::KernelSource unit =
        kernel_source(entry, "tapconv/warpgroup.cuh", members, bounds, "Arguments",
                      fmt::format("tapconv::Warpgroup<tapconv::Config>::{}(arguments);", function), cluster);
    const std::string place = "namespace tapconv {\n\nstruct Config {";
    unit.text.insert(unit.text.find(place), wgmma_text(tile.columns));
    return unit;
  };
  const std::int64_t count = shape.groups * layout.channel_blocks * layout.chunks * layout.pairs * layout.pair_part;
  std::string k_order = fmt::format("chunks of {} channels, taps, steps of 8 channels", 8 * tile.steps);
  if (shared::is_promoted(tile)) k_order += fmt::format("; sums of {} steps promoted", tile.pairs);
  if (tile.splits > 1)
    k_order +=
        fmt::format("; {}{} parts of the chunks", shared::has_dynamic_output(shape) ? "at most " : "", tile.splits);
  constexpr int packing_threads = 256;
  const std::int64_t full = std::int64_t{device.facts.multiprocessors} * 8;
  return {
      .source = source("tapconv_warpgroup", fmt::format("{}, 1", shared::warpgroup_threads), "run", tile.cluster),
      .launch =
          [task, tile, layout, resident = shared::is_resident(shape, tile, layout),
           facts = device.facts](const shared::Sizes& sizes) {
            std::int64_t clusters = std::min<std::int64_t>(warpgroup_tile_count(task, tile, sizes),
                                                           std::max(facts.multiprocessors / tile.cluster, 1));
            if (resident)
              clusters = std::max<std::int64_t>(clusters / layout.channel_blocks, 1) * layout.channel_blocks;
            return cuda::LaunchShape{.grid = {clusters * tile.cluster, 1, 1},
                                     .block = {shared::warpgroup_threads, 1, 1},
                                     .dynamic_shared_bytes = static_cast<int>(layout.shared_bytes),
                                     .cluster = tile.cluster};
          },
      .input_alignment = (tile.from_registers ? shared::copied_pixels(shape, tile) : 1) *
                         static_cast<int>(element_bytes(task.input_dtype)),
      .output_alignment = static_cast<int>(element_bytes(task.problem.out_dtype)),
      .packing =
          KernelPlan::Packing{.source = source("tapconv_warpgroup_pack", fmt::format("{}", packing_threads), "pack", 1),
                              .launch = {.grid = {std::clamp<std::int64_t>(
                                                      (count + packing_threads - 1) / packing_threads, 1, full),
                                                  1, 1},
                                         .block = {packing_threads, 1, 1},
                                         .dynamic_shared_bytes = 0},
                              .bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(tile.parts) *
                                       shared::warpgroup_unit_bytes,
                              .layout = fmt::format("blocks of {} output channels, chunks of {} input channels",
                                                    layout.block_channels, 8 * tile.steps)},
      .k_order = std::move(k_order)};
}

std::string wgmma_text(int columns) {
  const int registers = columns / 2;
  std::string places, operands;
  for (int i = 0; i < registers; ++i) {
    places += fmt::format("{}%{}", i == 0 ? "" : i % 8 == 0 ? ", \"\n        \"" : ", ", i);
    operands += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : i % 8 == 0 ? ",\n          " : ", ", i);
  }
  const auto function = [&](std::string_view type, std::string_view place, std::string_view operand, int inputs) {
    return fmt::format(R"(  static void tf32(float (&d)[{1}], {2}, WgmmaDescriptor b, bool accumulate) {{
    asm volatile(
        "{{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %{5}, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n{0}k8.f32.tf32.tf32 {{"
        "{6}}}, "
        "{3}, %{7}, accumulate, 1, 1;\n}}\n"
        : {8}
        : {4}, "l"(b.bits()), "r"(int(accumulate)));
  }}
)",
                       columns, registers, type, place, operand, registers + inputs + 1, places, registers + inputs,
                       operands);
  };
  return fmt::format(
      R"(#ifdef __CUDACC__  // an emulation has its own
template <>
struct tapconv::ptx::Wgmma<{}> {{
{}{}}};
#endif

)",
      columns, function("WgmmaDescriptor a", fmt::format("%{}", registers), R"("l"(a.bits()))", 1),
      function("const unsigned (&a)[4]",
               fmt::format("{{%{}, %{}, %{}, %{}}}", registers, registers + 1, registers + 2, registers + 3),
               R"("r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))", 4));
}

}  // namespace tapconv
