#include "problem/ceilings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "problem/data.hpp"

namespace tapconv {
namespace {

struct Bound {
  double ms;
  std::string_view by;
};

/// The bound of a device of the given speeds.
Bound bound(const Problem& problem, double byte_per_s, double ffma_flop_per_s, double tf32_flop_per_s) {
  const Work amount = work(problem);
  const Bound memory{1e3 * amount.byte / byte_per_s, "memory"};
  const Bound ffma{1e3 * amount.flop / ffma_flop_per_s, "FFMA"};
  const Bound tf32{1e3 * amount.flop / tf32_flop_per_s, "TF32"};
  const Bound three_tf32{3 * tf32.ms, "3xTF32"};
  Bound arithmetic = ffma;
  if (problem.contract == Contract::tf32) arithmetic = tf32;
  if (problem.contract == Contract::fp32 && problem.groups == 1 && three_tf32.ms < ffma.ms) arithmetic = three_tf32;
  return arithmetic.ms > memory.ms ? arithmetic : memory;
}

std::vector<Ceilings> read_ceilings() {
  std::vector<Ceilings> devices;
  const nlohmann::json data = read_data("ceilings.json");
  for (const nlohmann::json& entry : data.at("devices")) {
    const nlohmann::json limit = entry.at("limit");
    const nlohmann::json reach = entry.at("reach");
    devices.push_back({.name = entry.at("name"),
                       .limit_byte_per_s = limit.at("byte_per_s"),
                       .reach_byte_per_s = reach.at("byte_per_s"),
                       .limit_ffma_flop_per_s = limit.at("ffma_flop_per_s"),
                       .reach_ffma_flop_per_s = reach.at("ffma_flop_per_s"),
                       .limit_tf32_flop_per_s = limit.at("tf32_flop_per_s"),
                       .reach_tf32_flop_per_s = reach.at("tf32_flop_per_s"),
                       .l2_byte = entry.at("l2_byte")});
  }
  return devices;
}

}  // namespace

const std::vector<Ceilings>& known_ceilings() {
  static const std::vector<Ceilings> devices = read_ceilings();
  return devices;
}

TimeFloor floor_time(const Problem& problem, const Ceilings& ceilings) {
  const Bound limit =
      bound(problem, ceilings.limit_byte_per_s, ceilings.limit_ffma_flop_per_s, ceilings.limit_tf32_flop_per_s);
  const Bound reach =
      bound(problem, ceilings.reach_byte_per_s, ceilings.reach_ffma_flop_per_s, ceilings.reach_tf32_flop_per_s);
  const double output_byte = 4 * static_cast<double>(element_count(output_shape(problem)));
  const double hidden_ms = 1e3 * std::min(output_byte, ceilings.l2_byte) / ceilings.limit_byte_per_s;
  return {.device_name = ceilings.name,
          .limit_ms = limit.ms,
          .reach_ms = reach.ms,
          .plausible_ms = limit.by == "memory" ? std::max(0.0, limit.ms - hidden_ms) : limit.ms,
          .bound_by = std::string(reach.by)};
}

std::optional<TimeFloor> find_floor(const Problem& problem, std::string_view device_name) {
  for (const Ceilings& device : known_ceilings()) {
    if (device.name == device_name) return floor_time(problem, device);
  }
  return std::nullopt;
}

}  // namespace tapconv
