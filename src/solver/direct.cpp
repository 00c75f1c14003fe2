#include "solver/direct.hpp"

#include <algorithm>

#include "problem/text.hpp"

namespace tapconv {
namespace {

/// Mirrors DirectTile of kernels/tapconv/direct.cuh.
struct Tile {
  int threads = 128, pixels = 4, channels = 16, pairs = 256;
};

/// Three blocks of 128 threads leave a thread 168 registers: none spills.
constexpr int blocks_per_multiprocessor = 3;

std::int64_t blocks(const TapConvolution& conv, const Tile& tile) {
  const std::int64_t positions = conv.batch * conv.grid_size();
  const std::int64_t per_block = std::int64_t{tile.threads} * tile.pixels;
  const std::int64_t channel_blocks = (conv.out_channels + tile.channels - 1) / tile.channels;
  return (positions + per_block - 1) / per_block * conv.groups * channel_blocks;
}

/// Blocks in a row, and in further rows where one cannot hold them; the kernel knows which are beyond the last.
std::array<std::int64_t, 3> grid(std::int64_t blocks, const cuda::DeviceFacts& device) {
  const std::int64_t rows = (blocks + device.max_grid[0] - 1) / device.max_grid[0];
  return {(blocks + rows - 1) / rows, rows, 1};
}

/// As many outputs a thread as registers allow, since each operand read then serves more of them; fewer while the
/// device is not full, pixels first: channels share the input, which is the larger operand.
Tile choose(const TapConvolution& conv, const cuda::DeviceFacts& device) {
  Tile tile;
  // The widest tile that the channels fill; three are nearer to four than to two.
  for (const int channels : {16, 8, 4, 2, 1}) {
    tile.channels = channels;
    if (channels <= conv.out_channels || (channels == 4 && conv.out_channels == 3)) break;
  }
  const std::int64_t full = std::int64_t{device.multiprocessors} * blocks_per_multiprocessor;
  while (tile.pixels > 1 && blocks(conv, tile) < full) tile.pixels /= 2;
  while (tile.channels > 4 && blocks(conv, tile) < full) tile.channels /= 2;
  return tile;
}

std::string_view rounding_text(OperandRounding rounding) {
  switch (rounding) {
    case OperandRounding::tf32_rna:
      return "tf32_rna";
    case OperandRounding::tf32_rn:
      return "tf32_rn";
    default:
      return "exact";
  }
}

}  // namespace

Support DirectSolver::supports(const Problem& problem, const cuda::DeviceFacts&) const {
  const auto refuse = [](std::string_view field, std::string_view value, std::string_view valid) -> Support {
    return {.ok = false, .reason = fmt::format("{} = {} is not supported; valid: {}", field, value, valid)};
  };
  if (problem.kind == Kind::transposed) return refuse("layer", "ConvTranspose", "Conv");
  if (problem.kind == Kind::depthwise_separable) return refuse("layer", "DepthwiseSeparable", "Conv");
  if (problem.padding_mode != PaddingMode::zeros)
    return refuse("padding_mode", tapconv::name(problem.padding_mode), "zeros");
  if (problem.dtype != DType::float32) return refuse("dtype", tapconv::name(problem.dtype), "float32");
  if (problem.out_dtype != DType::float32) return refuse("out_dtype", tapconv::name(problem.out_dtype), "float32");
  if (problem.layout != Layout::contiguous) return refuse("layout", tapconv::name(problem.layout), "contiguous");
  if (problem.residual) return refuse("residual", "True", "False");
  if (problem.activation != Activation::none) return refuse("activation", tapconv::name(problem.activation), "none");
  return {};
}

KernelPlan DirectSolver::plan(const TapConvolution& conv, const Problem& problem,
                              const cuda::DeviceFacts& device) const {
  const Tile tile = choose(conv, device);
  const std::string configuration = fmt::format(
      "  static constexpr shared::Shape shape = {};\n"
      "  static constexpr DirectTile tile = {{.threads = {}, .pixels = {}, .channels = {}, .pairs = {}}};\n"
      "  static constexpr shared::Rounding rounding = shared::Rounding::{};\n",
      shape_text(conv), tile.threads, tile.pixels, tile.channels, tile.pairs,
      rounding_text(operand_rounding(problem.contract, problem.tie_rule)));
  return {
      .source = kernel_source("tapconv_direct", "tapconv/direct.cuh", configuration,
                              fmt::format("{}, {}", tile.threads, blocks_per_multiprocessor), "Tensors",
                              "tapconv::Direct<tapconv::Config>::run(arguments);"),
      .launch = {.grid = grid(blocks(conv, tile), device), .block = {tile.threads, 1, 1}, .dynamic_shared_bytes = 0},
      .configuration = fmt::format("{} threads, {} channels x {} pixels a thread, {} weight pairs staged", tile.threads,
                                   tile.channels, tile.pixels, tile.pairs)};
}

}  // namespace tapconv
