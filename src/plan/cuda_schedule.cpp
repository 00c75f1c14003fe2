#include "plan/cuda_schedule.hpp"

#include <algorithm>
#include <cstdint>

#include "problem/text.hpp"

namespace tapconv {
namespace {

/// The launches of a pass.
std::vector<CudaStageLaunches> pass_of(const CudaVariant& variant, Problem sized, std::int64_t images,
                                       const DeviceStrides* strides) {
  sized.batch = images;
  std::vector<CudaStageLaunches> pass;
  for (const Problem& plain : stages(sized)) {
    const CudaStage& stage = variant.stages[pass.size()];
    const bool first = pass.empty(), last = pass.size() + 1 == variant.stages.size();
    CudaStageLaunches all{
        .sizes = sizes_of(plain, variant.strided), .packed_offset = stage.packed_offset, .launches = {}};
    if (strides) {
      // The value between two stages is dense.
      if (first) all.sizes.input_strides = strides->input;
      if (last) all.sizes.output_strides = strides->output;
      if (last) all.sizes.residual_strides = strides->residual;
      all.sizes.weight_strides = first ? strides->weight : strides->pointwise_weight;
    }
    for (const CudaStep& step : stage.steps)
      all.launches.push_back({.kernel = step.kernel, .shape = step.plan.launch(all.sizes)});
    pass.push_back(std::move(all));
  }
  return pass;
}

template <class T>
T* moved(T* pointer, std::int64_t bytes) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return pointer ? static_cast<Byte*>(pointer) + bytes : nullptr;
}

bool is_aligned_to(const void* pointer, std::int64_t step, int alignment) {
  return (reinterpret_cast<std::uintptr_t>(pointer) | static_cast<std::uintptr_t>(step)) %
             static_cast<std::uintptr_t>(alignment) ==
         0;
}

}  // namespace

CudaSchedule::CudaSchedule(const CudaVariant& variant, const Problem& sized, std::int64_t images,
                           const DeviceStrides* strides)
    : batch_(sized.batch), images_(images), whole_(pass_of(variant, sized, images, strides)) {
  if (batch_ % images != 0) rest_ = pass_of(variant, sized, batch_ % images, strides);
  const shared::Sizes &first = whole_.front().sizes, &last = whole_.back().sizes;
  const auto input = static_cast<std::int64_t>(element_bytes(sized.dtype));
  const auto output = static_cast<std::int64_t>(element_bytes(sized.out_dtype));
  // The step from image to image may be anything where there is one alone.
  const std::int64_t steps = batch_ == images ? 0 : 1;
  input_image_bytes_ = steps * first.input_strides.outer * input;
  output_image_bytes_ = steps * last.output_strides.outer * output;
  residual_image_bytes_ = steps * last.residual_strides.outer * output;
  for (const CudaStep& step : variant.stages.front().steps)
    input_alignment_ = std::max(input_alignment_, step.plan.input_alignment);
  for (const CudaStep& step : variant.stages.back().steps)
    output_alignment_ = std::max(output_alignment_, step.plan.output_alignment);
}

bool CudaSchedule::is_aligned(const DeviceTensors& tensors) const {
  return is_aligned_to(tensors.input, images_ * input_image_bytes_, input_alignment_) &&
         is_aligned_to(tensors.output, images_ * output_image_bytes_, output_alignment_);
}

void CudaSchedule::expect_aligned(const DeviceTensors& tensors) const {
  const auto expect = [](const void* pointer, std::int64_t step, int alignment, std::string_view field) {
    if (!is_aligned_to(pointer, step, alignment))
      fail(ErrorCode::usage, "{} is at {}; valid: a multiple of {} bytes, or any with the option `strided`", field,
           pointer, alignment);
  };
  expect(tensors.input, images_ * input_image_bytes_, input_alignment_, "input");
  expect(tensors.output, images_ * output_image_bytes_, output_alignment_, "output");
}

void CudaSchedule::expect_legal(const cuda::DeviceFacts& device) const {
  for (const auto* pass : {&whole_, &rest_}) {
    for (const CudaStageLaunches& stage : *pass) {
      for (const CudaLaunch& launch : stage.launches) {
        if (const std::string broken = cuda::launch_problem(launch.shape, launch.kernel->facts(), device);
            !broken.empty())
          throw Error(ErrorCode::launch, broken);
      }
    }
  }
}

void CudaSchedule::run(const DeviceTensors& tensors, void* workspace, void* stream) const {
  for (std::int64_t first = 0; first < batch_; first += images_)
    run_pass(batch_ - first < images_ ? rest_ : whole_, first, tensors, workspace, stream);
}

void CudaSchedule::run_pass(const std::vector<CudaStageLaunches>& stages, std::int64_t first,
                            const DeviceTensors& tensors, void* workspace, void* stream) const {
  for (const CudaStageLaunches& stage : stages) {
    const bool is_first = &stage == &stages.front(), is_last = &stage == &stages.back();
    const void* const weight = stage.packed_offset
                                   ? moved(tensors.packed, static_cast<std::int64_t>(*stage.packed_offset))
                               : is_first ? tensors.weight
                                          : tensors.pointwise_weight;
    const shared::Arguments arguments{
        .tensors = {.input = is_first ? moved(tensors.input, first * input_image_bytes_) : workspace,
                    .weight = weight,
                    .bias = is_first ? tensors.bias : tensors.pointwise_bias,
                    .residual = is_last ? moved(tensors.residual, first * residual_image_bytes_) : nullptr,
                    .output = is_last ? moved(tensors.output, first * output_image_bytes_) : workspace},
        .sizes = stage.sizes};
    for (const CudaLaunch& launch : stage.launches) launch.kernel->launch(launch.shape, stream, arguments);
  }
}

}  // namespace tapconv
