#include "plan/cuda_plan.hpp"

#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

std::string joined(const std::vector<CudaStage>& stages, auto&& text) {
  std::string all;
  for (const CudaStage& stage : stages) all += (all.empty() ? "" : ", ") + std::string(text(stage));
  return all;
}

/// All at a time, since each may have to be compiled.
void load_kernels(CudaVariants& all, const cuda::Context& context) {
  std::vector<cuda::KernelSource> sources;
  std::vector<const cuda::Kernel**> targets;
  const auto want = [&](const cuda::KernelSource& source, const cuda::Kernel*& target) {
    sources.push_back(source);
    targets.push_back(&target);
  };
  for (CudaVariant& variant : all.variants) {
    for (CudaStage& stage : variant.stages) {
      for (CudaStep& step : stage.steps) want(step.plan.source, step.kernel);
    }
  }
  for (CudaPacking& packing : all.packings) want(packing.plan.source, packing.kernel);
  const std::vector<const cuda::Kernel*> kernels = cuda::load_all(context, sources);
  for (std::size_t i = 0; i < kernels.size(); ++i) *targets[i] = kernels[i];
}

/// Calls body() and adds the problem to the words of a launch that fails.
template <class Body>
void launching(const Problem& problem, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::launch) throw;
    fail(ErrorCode::launch, "{}; for {}", error.what(), spell(problem));
  }
}

}  // namespace

CudaPlan::CudaPlan(const Problem& problem, const cuda::Context& context, const CudaPlanOptions& options)
    : problem_(problem), options_(options), all_(plan_variants(problem, options, device_model(context.facts()))) {
  load_kernels(all_, context);
  if (options_.workspace_limit) *options_.workspace_limit -= packed_in_run();
  const std::int64_t images = images_per_pass(problem, options_.workspace_limit);
  example_workspace_bytes_ = packed_in_run() + static_cast<std::size_t>(images) * image_workspace_bytes(problem);
  example_is_wide_ = !counts_in_32_bits(problem, images);
  example_variant_ = static_cast<std::size_t>(all_.find(false, example_is_wide_) - all_.variants.data());
  example_ = schedule(problem, nullptr, false);
  launching(problem, [&] { example_->expect_legal(context.facts()); });
}

std::size_t CudaPlan::workspace_bytes(const Problem& sized) const {
  if (sized == problem_) return example_workspace_bytes_;
  return packed_in_run() +
         static_cast<std::size_t>(images_per_pass(sized, options_.workspace_limit)) * image_workspace_bytes(sized);
}

CudaSchedule CudaPlan::schedule(const Problem& sized, const DeviceStrides* strides, bool strided) const {
  const std::int64_t images = images_per_pass(sized, options_.workspace_limit);
  const bool wide = sized == problem_ ? example_is_wide_ : !counts_in_32_bits(sized, images);
  const CudaVariant* variant = all_.find(strided, wide);
  if (!variant)
    fail(ErrorCode::usage,
         "input has shape {}, which needs 64-bit coordinates; valid: fewer positions, or a plan whose example needs "
         "them too",
         tuple_text(input_shape(sized)));
  return {*variant, sized, images, strides};
}

void CudaPlan::prepare(const DeviceTensors& tensors, const DeviceStrides* strides, void* packed, void* stream) const {
  launching(problem_, [&] { pack(tensors, strides, packed, stream); });
}

void CudaPlan::pack(const DeviceTensors& tensors, const DeviceStrides* strides, void* packed, void* stream) const {
  for (const CudaPacking& packing : all_.packings) {
    const bool first = packing.stage == 0;
    if (strides && !packing.strided)
      fail(ErrorCode::usage, "{} is not dense; valid: dense, or any strides with the option `strided`",
           first ? "weight" : "pointwise_weight");
    shared::Arguments arguments{.tensors = {.input = nullptr,
                                            .weight = first ? tensors.weight : tensors.pointwise_weight,
                                            .bias = nullptr,
                                            .residual = nullptr,
                                            .output = static_cast<std::byte*>(packed) + packing.offset},
                                .sizes = packing.sizes};
    if (strides) arguments.sizes.weight_strides = first ? strides->weight : strides->pointwise_weight;
    packing.kernel->launch(packing.plan.launch, stream, arguments);
  }
}

void CudaPlan::run(const Problem& sized, const DeviceTensors& tensors, const DeviceStrides* strides, void* workspace,
                   void* stream) const {
  const auto start = [&](const CudaSchedule& schedule) {
    launching(sized, [&] {
      if (packed_in_run() == 0) return schedule.run(tensors, workspace, stream);
      DeviceTensors packed = tensors;
      packed.packed = workspace;
      pack(tensors, strides, workspace, stream);
      schedule.run(packed, static_cast<std::byte*>(workspace) + packed_in_run(), stream);
    });
  };
  if (!strides) {
    if (sized == problem_ && example_->is_aligned(tensors)) return start(*example_);
    const CudaSchedule dense = schedule(sized, nullptr, false);
    if (dense.is_aligned(tensors)) return start(dense);
    if (!options_.strided) dense.expect_aligned(tensors);
  } else if (!options_.strided) {
    fail(ErrorCode::usage, "a tensor is not dense; valid: dense, or any strides with the option `strided`");
  }
  start(schedule(sized, strides, true));
}

std::string CudaPlan::solver() const {
  return joined(stages(), [](const CudaStage& stage) { return stage.choice.solver->name(); });
}

std::string CudaPlan::configuration() const {
  return joined(stages(), [](const CudaStage& stage) { return stage.choice.candidate.configuration; });
}

}  // namespace tapconv
