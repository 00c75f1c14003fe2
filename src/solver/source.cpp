#include "problem/text.hpp"
#include "solver/solver.hpp"

namespace tapconv {
namespace {

std::string_view type_text(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float";
    case DType::float16:
      return "Half";
    case DType::bfloat16:
      return "Bfloat16";
    case DType::float64:
      return "double";
  }
  return "?";
}

std::string_view rounding_text(OperandRounding rounding) {
  switch (rounding) {
    case OperandRounding::tf32_rna:
      return "tf32_rna";
    case OperandRounding::tf32_rn:
      return "tf32_rn";
    default:
      return "exact";  // 16-bit operands are what they are
  }
}

std::string text(const shared::Strides& s) {
  return fmt::format("{{{}, {}, {{{}, {}, {}}}}}", s.outer, s.inner, s.axis[0], s.axis[1], s.axis[2]);
}

std::string text(const shared::Shape& shape) {
  std::string axes;
  for (const shared::Axis& axis : shape.axis) {
    axes += fmt::format(
        "\n          {{.input = {}, .output = {}, .kernel = {}, .stride = {}, .dilation = {}, .padding = {}, "
        ".tap_step = {}, .tap_inverse = {}, .inside = {}}},",
        axis.input, axis.output, axis.kernel, axis.stride, axis.dilation, axis.padding, axis.tap_step, axis.tap_inverse,
        axis.inside);
  }
  const shared::WeightStrides& w = shape.weight;
  return fmt::format(R"({{
      .transposed = {},
      .boundary = shared::Boundary::{},
      .batch = {},
      .groups = {},
      .in_channels = {},
      .out_channels = {},
      .axis = {{{}
      }},
      .bias = {},
      .residual = {},
      .input = {},
      .output = {},
      .residual_strides = {},
      .weight = {{{}, {}, {}, {{{}, {}, {}}}}},
  }})",
                     shape.transposed, name(static_cast<PaddingMode>(shape.boundary)), shape.batch, shape.groups,
                     shape.in_channels, shape.out_channels, axes, shape.bias, shape.residual, text(shape.input),
                     text(shape.output), text(shape.residual_strides), w.group, w.out_channel, w.in_channel, w.axis[0],
                     w.axis[1], w.axis[2]);
}

}  // namespace

std::string common_configuration(const Task& task) {
  const Problem& problem = task.problem;
  const OperandRounding rounding = operand_rounding(problem.contract, problem.tie_rule);
  return fmt::format(R"(  using Index = {};  // of coordinates and positions
  using Unsigned = {};
  using Number = {};  // of sums
  using Input = {};
  using Weight = {};
  using Bias = {};
  using Output = {};
  static constexpr shared::Shape shape = {};
  static constexpr shared::Rounding rounding = shared::Rounding::{};
  static constexpr Activation activation = Activation::{};
  static constexpr double negative_slope = {};
)",
                     task.wide ? "long long" : "int", task.wide ? "unsigned long long" : "unsigned",
                     type_text(number_type(task)), type_text(task.input_dtype), type_text(problem.dtype),
                     type_text(problem.dtype), type_text(problem.out_dtype), text(shape_of(task)),
                     rounding_text(rounding), name(problem.activation), problem.negative_slope);
}

cuda::KernelSource kernel_source(std::string_view entry, std::string_view header, std::string_view configuration,
                                 std::string_view launch_bounds, std::string_view arguments_type, std::string_view call,
                                 int cluster) {
  return {.text = fmt::format(R"(#include "{}"

namespace tapconv {{

struct Config {{
{}}};

}}  // namespace tapconv

extern "C" __global__ void __launch_bounds__({}) {}{}(const __grid_constant__ tapconv::shared::{} arguments) {{
  {}
}}
)",
                              header, configuration, launch_bounds,
                              cluster == 1 ? "" : fmt::format("__cluster_dims__({}, 1, 1) ", cluster), entry,
                              arguments_type, call),
          .entry = std::string(entry)};
}

std::array<std::int64_t, 3> block_grid(std::int64_t blocks, const cuda::DeviceFacts& device) {
  const std::int64_t rows = (blocks + device.max_grid[0] - 1) / device.max_grid[0];
  return {(blocks + rows - 1) / rows, rows, 1};
}

}  // namespace tapconv
