#include "plan/cuda_variants.hpp"

#include <algorithm>

#include "problem/text.hpp"

namespace tapconv {
namespace {

constexpr std::size_t packed_alignment = 256;

/// Whether the device's memory holds a tensor of 2^30 positions, where is_narrow() ends.
bool may_become_wide(const Problem& problem, const DeviceModel& device) {
  const auto bytes = [](std::int64_t channels, DType dtype) {
    return static_cast<std::size_t>(channels) * element_bytes(dtype);
  };
  return std::min(bytes(problem.in_channels, problem.dtype), bytes(problem.out_channels, problem.out_dtype)) <=
         device.facts.memory_bytes >> 30;
}

/// `first` again if it is legal for the task, else the best that reads the weights as `first` has them packed, else
/// what `chooser` says.
Choice choose_like(const CudaStage& first, const Task& task, const DeviceModel& device, const Chooser& chooser) {
  const auto& [solver, best, verdicts, tuned] = first.choice;
  if (!solver->supports(task, device).ok) return chooser(task, device);
  const std::vector<Candidate> candidates = solver->candidates(task, device);
  const auto same = std::ranges::find(candidates, best.configuration, &Candidate::configuration);
  if (same != candidates.end()) return {.solver = solver, .candidate = *same, .verdicts = verdicts, .tuned = tuned};
  if (const std::optional<KernelPlan::Packing>& packing = first.steps.front().plan.packing) {
    for (const Candidate& candidate : candidates) {
      const auto other = solver->plan(task, candidate.configuration, device).packing;
      if (other && other->layout == packing->layout)
        return {.solver = solver, .candidate = candidate, .verdicts = verdicts, .tuned = false};
    }
  }
  return chooser(task, device);
}

CudaStage plan_stage(const Task& task, Choice choice, const DeviceModel& device) {
  CudaStage stage{.task = task, .choice = std::move(choice)};
  for (KernelPlan& plan : kernels_of(task, stage.choice, device)) stage.steps.push_back({.plan = std::move(plan)});
  return stage;
}

/// Gives each stage of each variant that reads packed weights its place in them. Variants that have them in one layout
/// share it; what packs there takes any strides if one of their kernels does.
void place_packed_weights(CudaVariants& all) {
  for (CudaVariant& variant : all.variants) {
    for (std::size_t i = 0; i < variant.stages.size(); ++i) {
      CudaStage& stage = variant.stages[i];
      const std::optional<KernelPlan::Packing>& plan = stage.steps.front().plan.packing;
      if (!plan) {
        if (stage.task.packed) fail(ErrorCode::internal, "{} packs no weights", stage.choice.solver->name());
        continue;
      }
      const auto same = std::ranges::find_if(all.packings, [&](const CudaPacking& packing) {
        return packing.stage == i && packing.solver == stage.choice.solver && packing.plan.layout == plan->layout;
      });
      if (same == all.packings.end()) {
        stage.packed_offset = all.packed_bytes;
        all.packings.push_back({.stage = i,
                                .solver = stage.choice.solver,
                                .strided = variant.strided,
                                .offset = all.packed_bytes,
                                .kernel = nullptr,
                                .plan = *plan,
                                .sizes = sizes_of(stage.task.problem, stage.task.strided)});
        all.packed_bytes += (plan->bytes + packed_alignment - 1) / packed_alignment * packed_alignment;
        continue;
      }
      stage.packed_offset = same->offset;
      if (!variant.strided || same->strided) continue;
      same->strided = true;
      same->plan = *plan;
    }
  }
}

/// What `chooser` says, but the last solver, which takes everything as it is, in place of one that packs weights.
Chooser without_packing(const Chooser& chooser) {
  return [&chooser](const Task& task, const DeviceModel& device) {
    Choice choice = chooser(task, device);
    if (!choice.solver->plan(task, choice.candidate.configuration, device).packing) return choice;
    choice.solver = solvers().back();
    choice.candidate = choice.solver->candidates(task, device).front();
    choice.tuned = false;
    return choice;
  };
}

/// The whole batch is planned for, however many images a pass takes: no bit of the result depends on that.
CudaVariants variants_of(const Problem& problem, const CudaPlanOptions& options, const Chooser& chooser,
                         const DeviceModel& device) {
  const std::int64_t images = images_per_pass(problem, options.workspace_limit);
  Problem planned = problem;
  if (images < problem.batch) planned.dynamic_batch = true;
  const bool wide_example = !counts_in_32_bits(problem, images);
  std::vector<bool> widths{wide_example};
  if (has_dynamic_sizes(problem)) {
    widths = {false};
    if (wide_example || may_become_wide(problem, device)) widths.push_back(true);
  }

  CudaVariants all;
  for (const bool strided : options.strided ? std::vector{false, true} : std::vector{false}) {
    for (const bool wide : widths) {
      CudaVariant variant{.strided = strided, .wide = wide};
      for (Task& task : tasks_of(planned)) {
        task.strided = strided;
        task.packed = options.packed;
        task.wide = wide;
        const std::size_t i = variant.stages.size();
        Choice choice = all.variants.empty() ? chooser(task, device)
                                             : choose_like(all.variants.front().stages[i], task, device, chooser);
        variant.stages.push_back(plan_stage(task, std::move(choice), device));
      }
      all.variants.push_back(std::move(variant));
    }
  }
  place_packed_weights(all);
  return all;
}

}  // namespace

const CudaVariant* CudaVariants::find(bool strided, bool wide) const {
  const auto found = std::ranges::find_if(
      variants, [&](const CudaVariant& variant) { return (variant.strided || !strided) && (variant.wide || !wide); });
  return found == variants.end() ? nullptr : &*found;
}

CudaVariants plan_variants(const Problem& problem, const CudaPlanOptions& options, const DeviceModel& device) {
  CudaVariants all = variants_of(problem, options, options.chooser, device);
  if (options.packed || !options.workspace_limit || all.packed_bytes == 0) return all;
  if (all.packed_bytes + image_workspace_bytes(problem) > *options.workspace_limit)
    return variants_of(problem, options, without_packing(options.chooser), device);
  CudaPlanOptions smaller = options;
  *smaller.workspace_limit -= all.packed_bytes;
  return variants_of(problem, smaller, options.chooser, device);
}

std::size_t image_workspace_bytes(const Problem& problem) {
  if (problem.kind != Kind::depthwise_separable) return 0;
  Problem one = problem;
  one.batch = 1;
  const Problem first = tasks_of(one).front().problem;
  return static_cast<std::size_t>(element_count(output_shape(first))) * element_bytes(first.out_dtype);
}

std::int64_t images_per_pass(const Problem& problem, const std::optional<std::size_t>& workspace_limit) {
  const std::size_t image = image_workspace_bytes(problem);
  if (!workspace_limit || image == 0) return problem.batch;
  if (*workspace_limit < image)
    fail(ErrorCode::usage,
         "workspace_limit = {}; valid: at least {}, what one image of {} needs between its two halves",
         *workspace_limit, image, spell(problem));
  const auto fitting = static_cast<std::int64_t>(*workspace_limit / image);
  if (fitting >= problem.batch) return problem.batch;
  const std::int64_t passes = (problem.batch - 1) / fitting + 1;
  return (problem.batch - 1) / passes + 1;
}

bool counts_in_32_bits(const Problem& problem, std::int64_t images) {
  Problem pass = problem;
  pass.batch = images;
  // A call asks this each time: a plain problem is its only stage and needs no copy.
  return problem.kind == Kind::depthwise_separable ? std::ranges::all_of(stages(pass), is_narrow) : is_narrow(pass);
}

}  // namespace tapconv
