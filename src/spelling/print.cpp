#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "spelling/layers.hpp"
#include "spelling/values.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

/// "5" if all axes agree, else "(5, 7)".
std::string spell_extent(const Extent& extent, int rank) {
  const auto end = extent.begin() + rank;
  if (std::all_of(extent.begin(), end, [&](std::int64_t value) { return value == extent[0]; })) {
    return fmt::format("{}", extent[0]);
  }
  return fmt::format("({})", fmt::join(extent.begin(), end, ", "));
}

std::string spell_padding(const Problem& problem) {
  if (problem.padding_lo == problem.padding_hi) return spell_extent(problem.padding_lo, problem.rank);
  Problem same = problem;
  pad_to_same(same);
  if (same == problem && problem.stride == Extent{1, 1, 1} && problem.kind != Kind::transposed) return "'same'";
  std::string pairs;
  for (int axis = 0; axis < problem.rank; ++axis) {
    pairs += fmt::format("{}({}, {})", axis == 0 ? "" : ", ", problem.padding_lo[axis], problem.padding_hi[axis]);
  }
  return fmt::format("({}{})", pairs, problem.rank == 1 ? "," : "");
}

std::string spell_truth(bool value) { return value ? "True" : "False"; }

std::string spell_shape(const Problem& problem) {
  const auto mark = [](bool dynamic) { return dynamic ? "?" : ""; };
  std::string text = fmt::format("{}{}x{}", problem.batch, mark(problem.dynamic_batch), problem.in_channels);
  for (int axis = 0; axis < problem.rank; ++axis) {
    text += fmt::format("x{}{}", problem.input[axis], mark(problem.dynamic_input[axis]));
  }
  return text;
}

/// What parse_problem() takes for arguments that are not written.
Problem defaults_of(const Problem& problem) {
  Problem defaults;
  defaults.rank = problem.rank;
  defaults.out_dtype = problem.dtype;
  defaults.contract = default_contract(problem.dtype);
  return defaults;
}

}  // namespace

std::string spell_value(const Problem& problem, Field field) {
  switch (field) {
    case Field::in_channels:
      return fmt::format("{}", problem.in_channels);
    case Field::out_channels:
      return fmt::format("{}", problem.out_channels);
    case Field::kernel_size:
      return spell_extent(problem.kernel, problem.rank);
    case Field::stride:
      return spell_extent(problem.stride, problem.rank);
    case Field::padding:
      return spell_padding(problem);
    case Field::output_padding:
      return spell_extent(problem.output_padding, problem.rank);
    case Field::dilation:
      return spell_extent(problem.dilation, problem.rank);
    case Field::groups:
      return fmt::format("{}", problem.groups);
    case Field::depth_multiplier:
      return fmt::format("{}", problem.depth_multiplier);
    case Field::bias:
      return spell_truth(problem.bias);
    case Field::padding_mode:
      return fmt::format("'{}'", name(problem.padding_mode));
    case Field::dtype:
      return std::string(name(problem.dtype));
    case Field::out_dtype:
      return std::string(name(problem.out_dtype));
    case Field::layout:
      return std::string(name(problem.layout));
    case Field::math:
      return std::string(name(problem.contract));
    case Field::rounding:
      return std::string(name(problem.tie_rule));
    case Field::residual:
      return spell_truth(problem.residual);
    case Field::activation:
      return std::string(name(problem.activation));
    case Field::negative_slope:
      return fmt::format("{}", problem.negative_slope);  // the shortest that reads back as the same number
    case Field::kind:
    case Field::rank:
    case Field::batch:
    case Field::input:
    case Field::dynamic:
      break;  // not arguments
  }
  return {};
}

std::string spell(const Problem& problem) {
  const Problem defaults = defaults_of(problem);
  const Signature signature = layer_signature(problem.kind);
  std::string arguments;
  for (std::size_t i = 0; i < signature.fields.size(); ++i) {
    const Field field = signature.fields[i];
    const std::string value = spell_value(problem, field);
    if (i < signature.required) {
      arguments += fmt::format("{}{}", i == 0 ? "" : ", ", value);
    } else if (value != spell_value(defaults, field)) {
      arguments += fmt::format(", {}={}", name(field), value);
    }
  }
  return fmt::format("{}({}) @ {}", layer_of(problem.kind, problem.rank).name, arguments, spell_shape(problem));
}

}  // namespace tapconv
