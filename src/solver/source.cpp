#include <fmt/format.h>

#include "solver/solver.hpp"

namespace tapconv {

std::string shape_text(const TapConvolution& conv) {
  std::string axes;
  for (const TapAxis& axis : conv.axis) {
    axes += fmt::format("\n          {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},", axis.input, axis.grid,
                        axis.in_step, axis.taps, axis.first_offset, axis.offset_step, axis.first_tap, axis.tap_step,
                        axis.origin, axis.step, axis.inside(), axis.kernel, axis.output);
  }
  return fmt::format("{{{}, {}, {}, {},\n      {{{}}},\n      {}}}", conv.batch, conv.groups, conv.in_channels,
                     conv.out_channels, axes, conv.bias);
}

cuda::KernelSource kernel_source(std::string_view entry, std::string_view header, std::string_view configuration,
                                 std::string_view launch_bounds, std::string_view arguments_type,
                                 std::string_view call) {
  return {.text = fmt::format(R"(#include "{}"

namespace tapconv {{

struct Config {{
{}}};

}}  // namespace tapconv

extern "C" __global__ void __launch_bounds__({}) {}(const __grid_constant__ tapconv::shared::{} arguments) {{
  {}
}}
)",
                              header, configuration, launch_bounds, entry, arguments_type, call),
          .entry = std::string(entry)};
}

}  // namespace tapconv
