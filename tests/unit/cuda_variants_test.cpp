#include "plan/cuda_variants.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "h200.hpp"
#include "plan/cuda_schedule.hpp"
#include "random_problem.hpp"
#include "strided.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

DeviceModel device(std::size_t memory_bytes = std::size_t{139} << 30) {
  cuda::DeviceFacts facts = testing::h200();
  facts.memory_bytes = memory_bytes;
  return device_model(facts);
}

std::vector<std::string> sources(const CudaVariant& variant) {
  std::vector<std::string> texts;
  for (const CudaStage& stage : variant.stages) {
    for (const CudaStep& step : stage.steps) texts.push_back(step.plan.source.text);
  }
  return texts;
}

/// The stages of a variant at fixed sizes with the configurations that `variant` chose.
CudaVariant with_choices_of(const CudaVariant& variant, Problem problem) {
  problem.dynamic_batch = false;
  problem.dynamic_input = {false, false, false};
  CudaVariant fixed;
  for (const Task& task : tasks_of(problem)) {
    const Choice& choice = variant.stages[fixed.stages.size()].choice;
    CudaStage stage{.task = task, .choice = choice};
    stage.steps.push_back({.plan = choice.solver->plan(task, choice.candidate.configuration, device())});
    if (auto rest = unreached_plan(task, device())) stage.steps.push_back({.plan = *std::move(rest)});
    fixed.stages.push_back(std::move(stage));
  }
  return fixed;
}

void expect_equal(const shared::Strides& a, const shared::Strides& b) {
  EXPECT_EQ(a.outer, b.outer);
  EXPECT_EQ(a.inner, b.inner);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.axis[i], b.axis[i]) << i;
}

void expect_equal(const CudaSchedule& a, const CudaSchedule& b) {
  ASSERT_EQ(a.stages().size(), b.stages().size());
  for (std::size_t i = 0; i < a.stages().size(); ++i) {
    const CudaStageLaunches &x = a.stages()[i], &y = b.stages()[i];
    EXPECT_EQ(x.sizes.batch, y.sizes.batch);
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(x.sizes.input[axis], y.sizes.input[axis]);
      EXPECT_EQ(x.sizes.output[axis], y.sizes.output[axis]);
    }
    expect_equal(x.sizes.input_strides, y.sizes.input_strides);
    expect_equal(x.sizes.output_strides, y.sizes.output_strides);
    ASSERT_EQ(x.launches.size(), y.launches.size());
    for (std::size_t j = 0; j < x.launches.size(); ++j) {
      EXPECT_EQ(x.launches[j].shape.grid, y.launches[j].shape.grid);
      EXPECT_EQ(x.launches[j].shape.block, y.launches[j].shape.block);
    }
  }
}

/// A random problem all of whose dimensions are dynamic, and the same at a size of its own.
struct Sized {
  Problem example, sized;
};
std::optional<Sized> dynamic_problem(std::uint64_t seed) {
  Sized result{.example = testing::any_random_problem(seed, 1e8), .sized = {}};
  result.example.dynamic_batch = true;
  for (int axis = 0; axis < result.example.rank; ++axis) result.example.dynamic_input[axis] = true;
  result.sized = result.example;
  result.sized.batch += static_cast<std::int64_t>(seed % 5);
  for (int axis = 0; axis < result.example.rank; ++axis)
    result.sized.input[axis] += static_cast<std::int64_t>(seed % (7 + axis));
  try {
    validate(result.example);
    validate(result.sized);
  } catch (const Error&) {
    return std::nullopt;
  }
  return result;
}

TEST(CudaVariants, DynamicLaunchesAreThoseOfAFixedProblem) {
  int tried = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const auto problems = dynamic_problem(seed);
    if (!problems) continue;
    ++tried;
    const auto& [example, sized] = *problems;
    SCOPED_TRACE(spell(sized));
    const CudaVariants variants = plan_variants(example, {}, device());
    const CudaVariant& narrow = *variants.find(false, false);
    const CudaVariant fixed = with_choices_of(narrow, sized);
    expect_equal(CudaSchedule(narrow, sized, sized.batch, nullptr), CudaSchedule(fixed, sized, sized.batch, nullptr));
  }
  EXPECT_GT(tried, 150);
}

TEST(CudaVariants, SourcesDoNotDependOnTheExampleButForTheConfiguration) {
  int same_choice = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const auto problems = dynamic_problem(seed);
    if (!problems) continue;
    const auto& [example, sized] = *problems;
    SCOPED_TRACE(spell(sized));
    const CudaVariants one = plan_variants(example, {.strided = true}, device()),
                       other = plan_variants(sized, {.strided = true}, device());
    ASSERT_EQ(one.variants.size(), other.variants.size());
    for (std::size_t i = 0; i < one.variants.size(); ++i) {
      const CudaVariant &a = one.variants[i], &b = other.variants[i];
      EXPECT_EQ(sources(a).size(), sources(b).size());
      bool same = true;
      for (std::size_t s = 0; s < a.stages.size(); ++s)
        same &= a.stages[s].choice.candidate.configuration == b.stages[s].choice.candidate.configuration;
      if (!same) continue;
      ++same_choice;
      EXPECT_EQ(sources(a), sources(b));
    }
  }
  EXPECT_GT(same_choice, 100);
}

TEST(CudaVariants, FixedSizesHaveOneVariantAndTheOptionsAddMore) {
  const Problem fixed = parse_problem("Conv2d(3, 8, 3) @ 2x3x20x20");
  EXPECT_EQ(1u, plan_variants(fixed, {}, device()).variants.size());
  EXPECT_EQ(2u, plan_variants(fixed, {.strided = true}, device()).variants.size());
  const CudaVariants both = plan_variants(fixed, {.strided = true}, device());
  EXPECT_FALSE(both.find(false, false)->strided);
  EXPECT_TRUE(both.find(true, false)->strided);
  EXPECT_EQ(nullptr, both.find(false, true));
  EXPECT_EQ(nullptr, plan_variants(fixed, {}, device()).find(true, false));
}

TEST(CudaVariants, WideKernelsAreThereWhereTheyCanBeNeeded) {
  Problem problem = parse_problem("Conv1d(1, 1, 3) @ 1x1x1000");
  EXPECT_EQ(nullptr, plan_variants(problem, {}, device()).find(false, true));
  problem.dynamic_batch = true;
  const CudaVariants both = plan_variants(problem, {}, device());
  ASSERT_NE(nullptr, both.find(false, true));
  EXPECT_FALSE(both.find(false, false)->wide);
  EXPECT_TRUE(both.find(false, true)->wide);
  EXPECT_NE(sources(*both.find(false, false)), sources(*both.find(false, true)));
  // 2^30 positions of 64 float32 channels are 256 GiB.
  Problem many = parse_problem("Conv1d(64, 64, 3) @ 1x64x1000");
  many.dynamic_batch = true;
  EXPECT_EQ(nullptr, plan_variants(many, {}, device()).find(false, true));
  EXPECT_NE(nullptr, plan_variants(many, {}, device(std::size_t{256} << 30)).find(false, true));
  // An example that needs them.
  many.batch = 2000000;
  EXPECT_FALSE(counts_in_32_bits(many, many.batch));
  EXPECT_NE(nullptr, plan_variants(many, {}, device()).find(false, true));
  EXPECT_NE(nullptr, plan_variants(many, {}, device()).find(false, false));
  many.dynamic_batch = false;
  EXPECT_EQ(1u, plan_variants(many, {}, device()).variants.size());
  EXPECT_TRUE(plan_variants(many, {}, device()).variants.front().wide);
}

TEST(CudaVariants, VariantsKeepTheFirstOnesConfiguration) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto problems = dynamic_problem(seed);
    if (!problems) continue;
    const CudaVariants all = plan_variants(problems->example, {.strided = true, .packed = true}, device());
    for (const CudaVariant& variant : all.variants) {
      for (std::size_t i = 0; i < variant.stages.size(); ++i) {
        EXPECT_EQ(all.variants.front().stages[i].choice.candidate.configuration,
                  variant.stages[i].choice.candidate.configuration);
        EXPECT_EQ(all.variants.front().stages[i].packed_offset, variant.stages[i].packed_offset);
      }
    }
    // So one packing a stage serves all, and it takes weights of any strides.
    ASSERT_EQ(all.variants.front().stages.size(), all.packings.size());
    std::size_t end = 0;
    for (const CudaPacking& packing : all.packings) {
      EXPECT_TRUE(packing.strided);
      EXPECT_EQ(0u, packing.offset % 256);
      EXPECT_EQ(end, packing.offset);
      end = (packing.offset + packing.plan.bytes + 255) / 256 * 256;
    }
    EXPECT_EQ(end, all.packed_bytes);
  }
}

TEST(CudaVariants, EveryKernelCompilesWithoutSpills) {
  try {
    (void)cuda::compiler_version();
  } catch (const Error&) {
    GTEST_SKIP() << "NVRTC is not installed";
  }
  for (const char* text : {"Conv2d(3, 1, 3, padding=1, residual=True) @ 2x3x20x20",
                           "ConvTranspose2d(4, 6, 2, stride=(3,2), groups=2, bias=False) @ 2x4x5x6",
                           "DepthwiseSeparable2d(8, 8, 3, padding=1, layout=channels_last) @ 2x8x20x20"}) {
    Problem problem = parse_problem(text);
    problem.dynamic_batch = problem.dynamic_input[0] = problem.dynamic_input[1] = true;
    const CudaVariants all = plan_variants(problem, {.strided = true, .packed = true}, device());
    std::set<std::string> compiled;
    const auto check = [&](const cuda::KernelSource& source) {
      if (!compiled.insert(source.text).second) return;
      const std::string log = cuda::compile(source, "90a").log;
      EXPECT_NE(log.find("0 bytes stack frame, 0 bytes spill stores"), std::string::npos) << text << log << source.text;
      EXPECT_EQ(log.find("warning"), std::string::npos) << log;
    };
    for (const CudaVariant& variant : all.variants) {
      for (const CudaStage& stage : variant.stages) {
        for (const CudaStep& step : stage.steps) check(step.plan.source);
      }
    }
    for (const CudaPacking& packing : all.packings) check(packing.plan.source);
    EXPECT_GE(compiled.size(), 3u);
  }
}

TEST(CudaVariants, NothingIsPackedWithoutTheOptionWhereKernelsReadPlainWeights) {
  const CudaVariants all = plan_variants(parse_problem("Conv1d(4, 4, 3) @ 1x4x9"), {}, device());
  EXPECT_EQ(0u, all.packed_bytes);
  EXPECT_TRUE(all.packings.empty());
}

TEST(CudaVariants, WeightsArePackedInTheRunIfTheWorkspaceMayHoldThem) {
  for (const char* text : {"Conv2d(16, 24, 3, padding=1) @ 2x16x9x10", "DepthwiseSeparable2d(16, 24, 3) @ 6x16x9x10"}) {
    const Problem problem = parse_problem(text);
    SCOPED_TRACE(text);
    const CudaVariants all = plan_variants(problem, {}, device());
    ASSERT_GT(all.packed_bytes, 0u);
    EXPECT_EQ(0u, all.packed_bytes % 256);
    ASSERT_EQ(1u, all.packings.size());
    const CudaStage& packed = all.variants.front().stages[all.packings.front().stage];
    const shared::Sizes sizes = sizes_of(stages(problem)[all.packings.front().stage], false);
    EXPECT_EQ(0, std::memcmp(&sizes, &all.packings.front().sizes, sizeof sizes));
    EXPECT_EQ(all.packed_bytes + static_cast<std::size_t>(problem.batch) * image_workspace_bytes(problem),
              plan(problem, parse_device("h200")).workspace_bytes);
    EXPECT_EQ("warpgroup", packed.choice.solver->name());
    EXPECT_EQ(0u, packed.packed_offset);
    EXPECT_FALSE(packed.task.packed);

    const std::size_t least = all.packed_bytes + image_workspace_bytes(problem);
    const CudaVariants enough = plan_variants(problem, {.workspace_limit = least}, device());
    EXPECT_EQ(all.packed_bytes, enough.packed_bytes);
    EXPECT_EQ(packed.choice.candidate.configuration,
              enough.variants.front().stages[all.packings.front().stage].choice.candidate.configuration);

    const CudaVariants without = plan_variants(problem, {.workspace_limit = least - 1}, device());
    EXPECT_EQ(0u, without.packed_bytes);
    for (const CudaStage& stage : without.variants.front().stages) {
      EXPECT_EQ("direct", stage.choice.solver->name());
      EXPECT_FALSE(stage.packed_offset);
    }
  }
}

/// 12 images of 4 depthwise channels of 10 positions: 160 bytes an image between the halves.
Problem separable() {
  Problem problem = parse_problem("DepthwiseSeparable1d(2, 3, 3, depth_multiplier=2, padding=1) @ 12x2x10");
  EXPECT_EQ(12, problem.batch);
  return problem;
}

TEST(Workspace, IsOfWholeImagesInEvenPasses) {
  const Problem problem = separable();
  EXPECT_EQ(80u * 2, image_workspace_bytes(problem));
  EXPECT_EQ(12, images_per_pass(problem, std::nullopt));
  EXPECT_EQ(12, images_per_pass(problem, 12 * 160));
  EXPECT_EQ(6, images_per_pass(problem, 12 * 160 - 1));  // two passes of 6, not 11 and 1
  EXPECT_EQ(3, images_per_pass(problem, 3 * 160 + 159));
  EXPECT_EQ(4, images_per_pass(problem, 5 * 160));
  EXPECT_EQ(1, images_per_pass(problem, 160));
  expect_error([&] { (void)images_per_pass(problem, 159); }, "workspace_limit = 159; valid: at least 160");
  expect_error([&] { (void)plan_variants(problem, {.workspace_limit = 0}, device()); }, "workspace_limit = 0; valid");
  // A problem without a value between has nothing to limit.
  EXPECT_EQ(0u, image_workspace_bytes(parse_problem("Conv1d(4, 4, 3) @ 7x4x9")));
  EXPECT_EQ(7, images_per_pass(parse_problem("Conv1d(4, 4, 3) @ 7x4x9"), 0));
}

TEST(Workspace, OfFloat64IsOfItsNumbers) {
  Problem problem = separable();
  problem.dtype = problem.out_dtype = DType::float64;
  problem.contract = Contract::fp64;
  EXPECT_EQ(320u, image_workspace_bytes(problem));
}

TEST(Workspace, PassesCoverTheBatch) {
  const Problem problem = separable();
  for (const std::int64_t limit : {1, 2, 3, 4, 5, 7, 11, 12}) {
    const std::size_t bytes = static_cast<std::size_t>(limit) * 160;
    const std::int64_t images = images_per_pass(problem, bytes);
    const CudaVariants all = plan_variants(problem, {.workspace_limit = bytes}, device());
    const CudaSchedule schedule(all.variants.front(), problem, images, nullptr);
    EXPECT_LE(images, limit);
    EXPECT_EQ((12 + limit - 1) / limit, schedule.passes());
    for (const CudaStageLaunches& stage : schedule.stages()) EXPECT_EQ(images, stage.sizes.batch);
    EXPECT_EQ(images < 12, all.variants.front().stages.front().task.problem.dynamic_batch);
  }
}

TEST(CudaSchedule, StridesGoToTheStagesThatHaveTheTensors) {
  const Problem problem = separable();
  const CudaVariants all = plan_variants(problem, {.strided = true}, device());
  DeviceStrides strides;
  strides.input = activation_strides(std::vector<std::int64_t>{-100, 7, 0});
  strides.output = activation_strides(std::vector<std::int64_t>{1000, -3, 50});
  strides.weight = weight_strides(stages(problem).front(), std::vector<std::int64_t>{5, 11, -2});
  strides.pointwise_weight = weight_strides(stages(problem).back(), std::vector<std::int64_t>{13, 17, 19});
  const CudaSchedule schedule(*all.find(true, false), problem, problem.batch, &strides);
  const shared::Sizes &first = schedule.stages()[0].sizes, &last = schedule.stages()[1].sizes;
  expect_equal(strides.input, first.input_strides);
  expect_equal(sizes_of(stages(problem).front(), true).output_strides, first.output_strides);
  expect_equal(first.output_strides, last.input_strides);
  expect_equal(strides.output, last.output_strides);
  EXPECT_EQ(10, first.weight_strides.group);  // two outputs a group
  EXPECT_EQ(5, first.weight_strides.out_channel);
  EXPECT_EQ(-2, first.weight_strides.axis[2]);
  EXPECT_EQ(13, last.weight_strides.out_channel);
  EXPECT_EQ(17, last.weight_strides.in_channel);
}

TEST(DeviceStrides, OfDenseViewsAreThoseOfTheProblem) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e8);
    SCOPED_TRACE(spell(problem));
    const std::vector<Problem> plain = stages(problem);
    const shared::Sizes first = sizes_of(plain.front(), true), last = sizes_of(plain.back(), true);
    const auto of = [&](const std::vector<std::int64_t>& shape) { return strides_of(shape, problem.layout); };
    const shared::Strides input = activation_strides(of(input_shape(problem)));
    EXPECT_EQ(first.input_strides.outer, input.outer);
    EXPECT_EQ(first.input_strides.inner, input.inner);
    const auto check = [&](const shared::WeightStrides& expected, const shared::WeightStrides& actual) {
      if (plain.front().groups > 1) {
        EXPECT_EQ(expected.group, actual.group);
      }
      EXPECT_EQ(expected.out_channel, actual.out_channel);
      EXPECT_EQ(expected.in_channel, actual.in_channel);
      for (int i = max_rank - problem.rank; i < max_rank; ++i) EXPECT_EQ(expected.axis[i], actual.axis[i]);
    };
    check(first.weight_strides, weight_strides(plain.front(), of(weight_shape(problem))));
    if (plain.size() == 2) {
      EXPECT_EQ(last.weight_strides.out_channel,
                weight_strides(plain.back(), of(pointwise_weight_shape(problem))).out_channel);
    }
  }
}

TEST(CudaSchedule, NamesThePointerThatIsNotAligned) {
  const Problem problem = parse_problem("Conv3d(8, 8, 3, layout=channels_last, bias=False, math=ieee) @ 2x8x5x5x5");
  const CudaVariants all = plan_variants(problem, {.strided = true}, device());
  const CudaSchedule dense(*all.find(false, false), problem, 2, nullptr);
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  EXPECT_TRUE(dense.is_aligned({.input = at(0x1000), .output = at(0x2010)}));
  EXPECT_FALSE(dense.is_aligned({.input = at(0x1004), .output = at(0x2010)}));
  expect_error([&] { dense.expect_aligned({.input = at(0x1004), .output = at(0x2010)}); },
               "input is at 0x1004; valid: a multiple of 16 bytes, or any with the option `strided`");
  const CudaSchedule strided(*all.find(true, false), problem, 2, nullptr);
  EXPECT_TRUE(strided.is_aligned({.input = at(0x1004), .output = at(0x2004)}));
}

}  // namespace
}  // namespace tapconv
