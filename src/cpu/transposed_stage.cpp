#include "cpu/transposed_stage.hpp"

#include <algorithm>

#include "cpu/convert.hpp"
#include "cpu/limits.hpp"
#include "cpu/threads.hpp"

namespace tapconv::cpu {
namespace {

/// A residue class as a convolution of binary32 tensors. Its tap t is the class's tap taps - 1 - t, so that offsets
/// ascend.
Problem part_problem(const Problem& whole, const TapConvolution& lowered) {
  Problem part = whole;
  part.kind = Kind::convolution;
  part.stride = part.dilation = {1, 1, 1};
  part.output_padding = {0, 0, 0};
  part.dtype = part.out_dtype = DType::float32;
  part.contract = Contract::fp32;  // the operands are rounded before
  part.tie_rule = TieRule::away;
  part.residual = false;
  part.activation = Activation::none;
  for (int axis = 0; axis < whole.rank; ++axis) {
    const TapAxis& taps = lowered.axis[max_rank - whole.rank + axis];
    part.kernel[axis] = taps.taps;
    part.dilation[axis] = taps.taps == 1 ? 1 : -taps.offset_step;
    part.padding_lo[axis] = -taps.offset(taps.taps - 1);
    const std::int64_t met = taps.grid + part.dilation[axis] * (taps.taps - 1);
    part.padding_hi[axis] = met - part.input[axis] - part.padding_lo[axis];
  }
  return part;
}

bool needs_copy(const Problem& p) {
  return p.dtype != DType::float32 || operand_rounding(p.contract, p.tie_rule) != OperandRounding::exact;
}

}  // namespace

TransposedStage::TransposedStage(const Problem& problem, int threads, bool padding_multiplied)
    : problem_(problem),
      threads_(threads),
      reaches_all_(reaches_all(problem)),
      epilogue_(epilogue_of(problem)),
      outputs_(element_count(output_shape(problem))) {
  check_limits(problem);
  if (needs_copy(problem)) copy_.emplace(problem, Extent{0, 0, 0}, Extent{0, 0, 0});
  for (const TapConvolution& lowered : lower(problem)) {
    const Problem part = part_problem(problem, lowered);
    parts_.push_back({lowered, part, PlainStage::plan(part, threads, padding_multiplied)});
  }
}

std::string TransposedStage::implementation() const {
  if (parts_.empty()) return "no tap reaches an output";
  return fmt::format("{} residue classes, the first by {}", parts_.size(), parts_.front().stage->implementation());
}

std::vector<float> TransposedStage::part_weight(const Part& part, const std::vector<float>& weight) const {
  const WeightStrides from = part.lowered.weight, to = lower_channels(part.problem).weight;
  const auto& axis = part.lowered.axis;
  std::vector<float> gathered(static_cast<std::size_t>(element_count(weight_shape(part.problem))));
  const std::int64_t outputs = part.lowered.out_channels, inputs = part.lowered.in_channels;
  for (std::int64_t k = 0; k < part.lowered.groups * outputs; ++k) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      const std::int64_t group = k / outputs;
      const std::int64_t source = group * from.group + k % outputs * from.out_channel + c * from.in_channel;
      const std::int64_t target = group * to.group + k % outputs * to.out_channel + c * to.in_channel;
      for (std::int64_t d = 0; d < axis[0].taps; ++d) {
        for (std::int64_t h = 0; h < axis[1].taps; ++h) {
          for (std::int64_t w = 0; w < axis[2].taps; ++w) {
            const std::array<std::int64_t, 3> tap{d, h, w};
            std::int64_t read = source, write = target;
            for (int i = 0; i < 3; ++i) {
              read += (axis[i].first_tap + axis[i].tap_step * tap[i]) * from.axis[i];
              write += (axis[i].taps - 1 - tap[i]) * to.axis[i];
            }
            gathered[static_cast<std::size_t>(write)] = weight[static_cast<std::size_t>(read)];
          }
        }
      }
    }
  }
  return gathered;
}

void TransposedStage::set_weights(const Weights& weights) {
  const OperandRounding rounding = problem_.dtype == DType::float32
                                       ? operand_rounding(problem_.contract, problem_.tie_rule)
                                       : OperandRounding::exact;
  const std::vector<float> weight = floats_of(weights.weight, problem_.dtype, rounding);
  bias_ = floats_of(weights.bias, problem_.dtype, OperandRounding::exact);
  for (Part& part : parts_)
    part.stage->set_weights(part_weight(part, weight).data(), bias_.empty() ? nullptr : bias_.data());
}

void TransposedStage::fill_with_bias(float* output) const {
  const TapStrides lie = lower_channels(problem_).output;
  parallel_ranges(threads_, outputs_, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      output[i] = bias_.empty() ? 0.0F : bias_[static_cast<std::size_t>(i / lie.inner % problem_.out_channels)];
  });
}

void TransposedStage::scatter(const Part& part, const float* values, float* output) const {
  const auto& axis = part.lowered.axis;
  const bool channels_last = problem_.layout == Layout::channels_last;
  // As in InputCopy: (outer, D, H, W, run).
  const std::int64_t run = channels_last ? problem_.out_channels : 1;
  const std::int64_t outer = channels_last ? problem_.batch : problem_.batch * problem_.out_channels;
  const std::int64_t rows = outer * axis[0].grid * axis[1].grid, length = axis[2].grid;
  const std::int64_t grain = std::max<std::int64_t>((1 << 14) / (length * run), 1);
  parallel_ranges(threads_, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t h = axis[1].origin + axis[1].step * (row % axis[1].grid);
      const std::int64_t d = axis[0].origin + axis[0].step * (row / axis[1].grid % axis[0].grid);
      const std::int64_t image = row / axis[1].grid / axis[0].grid;
      const float* source = values + row * length * run;
      float* target =
          output + (((image * axis[0].output + d) * axis[1].output + h) * axis[2].output + axis[2].origin) * run;
      for (std::int64_t w = 0; w < length; ++w, source += run, target += axis[2].step * run)
        std::copy_n(source, run, target);
    }
  });
}

void TransposedStage::run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) {
  using Piece = Workspace::Piece;
  if (copy_) {
    float* copy = workspace.floats(Piece::converted_input, copy_->count());
    copy_->fill(input, copy, threads_);
    input = reinterpret_cast<const std::byte*>(copy);
  }
  float* sum =
      problem_.out_dtype == DType::float32 ? reinterpret_cast<float*>(output) : workspace.floats(Piece::sum, outputs_);
  if (!reaches_all_) fill_with_bias(sum);
  for (Part& part : parts_) {
    float* values = workspace.floats(Piece::part, element_count(output_shape(part.problem)));
    part.stage->run(input, nullptr, reinterpret_cast<std::byte*>(values), workspace);
    scatter(part, values, sum);
  }
  if (!epilogue_.empty()) epilogue_.apply(sum, residual, output, outputs_, threads_);
}

}  // namespace tapconv::cpu
