#include <algorithm>

#include "problem/text.hpp"
#include "solver/solver.hpp"
#include "tapconv/shared.cuh"
#include "workbench/measured_ceilings.hpp"
#include "workbench/median.hpp"

namespace tapconv {
namespace {

constexpr int threads = 256;
constexpr int repeats = 20000;

class CudaCeilings {
 public:
  explicit CudaCeilings(const cuda::Context& context)
      : context_(context), stream_(context), start_(context), stop_(context), sink_(context, sizeof(float)) {}

  /// Bytes read plus bytes written per second, by the driver's own copy.
  double copy_byte_per_s() {
    const std::size_t bytes = std::min(std::size_t{4} << 30, context_.free_bytes() / 4);
    const cuda::Buffer source(context_, bytes), target(context_, bytes);
    return 2 * static_cast<double>(bytes) / seconds([&] { stream_.copy(target.as(), source.as(), bytes); });
  }

  double ffma_flop_per_s() {
    const std::int64_t blocks = std::int64_t{context_.facts().multiprocessors} * 4;
    return 2.0 * 32 * repeats * threads * static_cast<double>(blocks) /
           chain_seconds("tapconv_ffma", "tapconv::ffma_chains(arguments);", blocks);
  }

  /// Of wgmma with operands of `type` and `depth` terms a product of tiles.
  double wgmma_flop_per_s(const char* type, int depth) {
    // One block of two warpgroups a multiprocessor; each repeat is 8 products of 64 x depth by depth x 128.
    const std::int64_t blocks = context_.facts().multiprocessors;
    return 2.0 * 64 * 128 * depth * 8 * repeats * 2 * static_cast<double>(blocks) /
           chain_seconds(fmt::format("tapconv_{}", type),
                         fmt::format("tapconv::wgmma_chains<tapconv::TensorType::{}>(arguments);", type), blocks);
  }

 private:
  /// Median of what `start_call` takes on the device.
  template <class StartCall>
  double seconds(const StartCall& start_call) {
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) {
      start_.record(stream_);
      start_call();
      stop_.record(stream_);
      stop_.synchronize();
      if (i >= 2) times.push_back(1e-3 * stop_.milliseconds_since(start_));  // the first ones warm up
    }
    return median(std::move(times));
  }

  double chain_seconds(const std::string& entry, const std::string& call, std::int64_t blocks) {
    const cuda::Kernel& kernel = *cuda::load(
        context_, kernel_source(entry, "tapconv/ceilings.cuh", "", fmt::format("{}", threads), "ChainArguments", call));
    const cuda::LaunchShape shape{.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .dynamic_shared_bytes = 0};
    const shared::ChainArguments arguments{.repeats = repeats, .sink = sink_.as<float>()};
    return seconds([&] { kernel.launch(shape, stream_.handle(), arguments); });
  }

  const cuda::Context& context_;
  cuda::Stream stream_;
  cuda::Event start_, stop_;
  cuda::Buffer sink_;
};

}  // namespace

std::map<std::string, double> measure_cuda(const cuda::Context& context, const Progress& progress) {
  const auto tell = [&](double fraction, std::string_view doing) {
    if (progress) progress(fraction, doing);
  };
  CudaCeilings ceilings(context);
  std::map<std::string, double> measured;
  tell(0, "measuring copies");
  measured["copy_TB_per_s"] = 1e-12 * ceilings.copy_byte_per_s();
  tell(0.4, "measuring arithmetic");
  measured["ffma_TFLOP_per_s"] = 1e-12 * ceilings.ffma_flop_per_s();
  if (context.facts().compute_major != 9) return measured;
  tell(0.6, "measuring tensor cores");
  measured["tf32_TFLOP_per_s"] = 1e-12 * ceilings.wgmma_flop_per_s("tf32", 8);
  measured["bf16_TFLOP_per_s"] = 1e-12 * ceilings.wgmma_flop_per_s("bf16", 16);
  return measured;
}

}  // namespace tapconv
