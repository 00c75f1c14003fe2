#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/engine.hpp"

namespace tapconv {

/// How fast one model of device can be. `limit` is physical: nothing runs faster. `reach` is what good libraries
/// sustain: shares are quoted against it, and a short burst can beat it a little.
struct Ceilings {
  std::string name;        ///< as the driver reports it
  std::string model = {};  ///< the short name, "h200"; empty if the device is not in data/devices.json
  double limit_byte_per_s = 0;
  double reach_byte_per_s = 0;
  double limit_ffma_flop_per_s = 0;  ///< binary32 fused multiply-add
  double reach_ffma_flop_per_s = 0;
  double limit_tf32_flop_per_s = 0;  ///< dense TF32 on the tensor cores
  double reach_tf32_flop_per_s = 0;
  double limit_f16_flop_per_s = 0;  ///< dense float16 and bfloat16 on the tensor cores
  double reach_f16_flop_per_s = 0;
  double l2_byte = 0;          ///< of written data that a call can leave behind in the cache
  bool reach_derived = false;  ///< `reach` is the share of `limit` that another device sustains, not measured
};

/// The devices of data/devices.json.
[[nodiscard]] const std::vector<Ceilings>& known_ceilings();

/// Sets every `reach` to the share of its `limit` that was measured on the H200.
void derive_reach(Ceilings& ceilings);

/// The least time of a problem: the longer of its traffic and its arithmetic. The arithmetic is FFMA for `ieee`, TF32
/// for `tf32`, and for `fp32` the faster of FFMA and 3xTF32 (three TF32 products for each of ours), FFMA alone if there
/// are groups. 16-bit operands go through the tensor cores as they are, except for `ieee`. Nothing is known of
/// float64's arithmetic: its traffic alone counts.
[[nodiscard]] TimeFloor floor_time(const Problem& problem, const Ceilings& ceilings);

/// FLOP a byte from which the arithmetic that a contract asks for, not memory, decides reach_ms; nothing where nothing
/// is known of the arithmetic.
[[nodiscard]] std::optional<double> ridge_flop_per_byte(const Problem& problem, const Ceilings& ceilings);

/// The floor on the device with exactly this name, if its ceilings are known.
[[nodiscard]] std::optional<TimeFloor> find_floor(const Problem& problem, std::string_view device_name);

}  // namespace tapconv
