// Where the warpgroup solver's loaders read, of tensors too large to run on: beside the same in 128 bits, under
// sanitizers.
#include <fmt/format.h>

#include "emulation.hpp"
#include "h200.hpp"
#include "plan/planner.hpp"
#include "problem/text.hpp"
#include "solver/warpgroup.hpp"

namespace tapconv {
namespace {

/// Tiles all over the output, and all stored pixels of each.
constexpr const char* body = R"(
  using namespace tapconv;
  using L = WarpgroupLoad<Config>;
  const L::Geometry geometry{sizes};
  const shared::Strides strides = geometry.input_strides();
  const shared::Axis axes[] = {geometry.axis<0>(), geometry.axis<1>(), geometry.axis<2>()};
  for (int step = 0; step <= 64; ++step) {
    L::Tile at{};
    at.image = (geometry.batch() - 1) * step / 64 / L::tile.images * L::tile.images;
    for (int i = 0; i < 3; ++i)
      at.at[i] = (__int128(axes[i].output) - 1) * step / 64 / L::tile.extent[i] * L::tile.extent[i];
    for (int pixel = 0; pixel < L::layout.pixels; ++pixel) {
      const int image = pixel / L::layout.image_pitch;
      const int stored[] = {pixel % L::layout.image_pitch / L::layout.plane_pitch,
                            pixel % L::layout.plane_pitch / L::layout.row_pitch, pixel % L::layout.row_pitch};
      bool exists = at.image + image < geometry.batch();
      __int128 offset = __int128(image) * strides.outer;
      for (int i = 0; i < 3 && exists; ++i) {
        const shared::StoredAxis axis = L::layout.axis[i];
        const __int128 position = axis.first + __int128(at.at[i]) * axis.stride +
                                  (stored[i] % axis.length - axis.lead) * (axis.stride / axis.step) +
                                  stored[i] / axis.length * axis.dilation;
        exists = position <= (__int128(axes[i].output) - 1) * axis.stride + (axis.taps - 1) * axis.dilation + axis.first;
        if (!exists) break;
        const long long from =
            shared::source_position<long long>((long long)position, axes[i].input, Config::shape.boundary);
        exists = from >= 0;
        offset += __int128(from) * strides.axis[i];
      }
      const L::Source source = L::source(geometry, at, pixel);
      if (exists ? source == L::none || source != offset : source != L::none) {
        std::printf("step %d, pixel %d: %lld, right: %lld\n", step, pixel, (long long)source,
                    exists ? (long long)offset : (long long)L::none);
        return 1;
      }
    }
  }
)";

std::string text(const shared::Strides& s) {
  return fmt::format("{{{}, {}, {{{}, {}, {}}}}}", s.outer, s.inner, s.axis[0], s.axis[1], s.axis[2]);
}

std::string text(const shared::Sizes& s) {
  return fmt::format(
      "  const tapconv::shared::Sizes sizes{{.batch = {}, .input = {{{}, {}, {}}}, .output = {{{}, {}, {}}}, "
      ".input_strides = "
      "{}, .output_strides = {}}};\n",
      s.batch, s.input[0], s.input[1], s.input[2], s.output[0], s.output[1], s.output[2], text(s.input_strides),
      text(s.output_strides));
}

void expect_right(const testing::Emulation& emulation, const std::string& name, const Task& task,
                  const shared::Sizes& sizes) {
  SCOPED_TRACE(spell(task.problem));
  const DeviceModel device = device_model(testing::h200());
  const WarpgroupSolver solver;
  const std::vector<Candidate> candidates = solver.candidates(task, device);
  ASSERT_FALSE(candidates.empty());
  for (const std::size_t i : {std::size_t{0}, candidates.size() / 2}) {
    try {
      emulation.evaluate(fmt::format("{}-{}", name, i), solver.plan(task, candidates[i].configuration, device).source,
                         text(sizes) + body);
    } catch (const std::exception& error) {
      ADD_FAILURE() << candidates[i].configuration << ": " << error.what();
    }
  }
}

TEST(WarpgroupSources, OfImagesOfTwoToThe31ElementsAndMore) {
  if (!testing::Emulation::available()) GTEST_SKIP() << TAPCONV_TEST_COMPILER << " is not there";
  const testing::Emulation emulation;
  int number = 0;
  for (const char* problem :
       {"Conv2d(128, 64, 3, padding=1, math=tf32, layout=channels_last) @ 1x128x8192x4096",
        "Conv2d(128, 64, 3, padding=1, math=tf32) @ 2x128x8192x4096",
        "Conv1d(8, 16, 3, stride=67108863, padding=1, padding_mode='reflect', math=tf32) @ 1x8x536870904",
        "Conv3d(16, 16, 3, padding=1, padding_mode='circular') @ 1x16x600x600x600",
        "Conv2d(16, 32, 3, padding=1, math=tf32) @ 8x16x56x56"}) {
    const Task task = tasks_of(parse_problem(problem)).front();
    expect_right(emulation, fmt::format("large{}", number++), task, sizes_of(task.problem, task.strided));
  }
}

TEST(WarpgroupSources, OfViewsWithStridesOfMoreThan32Bits) {
  if (!testing::Emulation::available()) GTEST_SKIP() << TAPCONV_TEST_COMPILER << " is not there";
  const testing::Emulation emulation;
  Task task = tasks_of(parse_problem("Conv2d(512, 2048, 1) @ 32x512x7x7")).front();
  task.strided = true;
  shared::Sizes sizes = sizes_of(task.problem, task.strided);
  int number = 0;
  for (const long long outer : {(1ll << 31) + 25088, -(1ll << 31), 1ll << 40}) {
    sizes.input_strides.outer = outer;
    expect_right(emulation, fmt::format("strided{}", number++), task, sizes);
  }
}

}  // namespace
}  // namespace tapconv
