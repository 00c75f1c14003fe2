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

struct Rates {
  double byte_per_s, ffma_flop_per_s, tf32_flop_per_s, f16_flop_per_s;
};

/// The time that the arithmetic takes which the contract asks for.
Bound arithmetic_bound(const Problem& problem, double flop, const Rates& rates) {
  const Bound ffma{1e3 * flop / rates.ffma_flop_per_s, "FFMA"};
  const Bound tf32{1e3 * flop / rates.tf32_flop_per_s, "TF32"};
  const Bound three_tf32{3 * tf32.ms, "3xTF32"};
  const Bound f16{1e3 * flop / rates.f16_flop_per_s, "16-bit"};
  if (problem.contract == Contract::fp64) return {0, "memory"};
  if (problem.contract == Contract::ieee) return ffma;
  if (problem.dtype != DType::float32) return f16;
  if (problem.contract == Contract::tf32) return tf32;
  return problem.groups == 1 && three_tf32.ms < ffma.ms ? three_tf32 : ffma;
}

Bound bound(const Problem& problem, const Rates& rates) {
  const Work amount = work(problem);
  const Bound memory{1e3 * amount.byte / rates.byte_per_s, "memory"};
  const Bound arithmetic = arithmetic_bound(problem, amount.flop, rates);
  return arithmetic.ms > memory.ms ? arithmetic : memory;
}

Rates limits(const Ceilings& ceilings) {
  return {ceilings.limit_byte_per_s, ceilings.limit_ffma_flop_per_s, ceilings.limit_tf32_flop_per_s,
          ceilings.limit_f16_flop_per_s};
}

Rates reaches(const Ceilings& ceilings) {
  return {ceilings.reach_byte_per_s, ceilings.reach_ffma_flop_per_s, ceilings.reach_tf32_flop_per_s,
          ceilings.reach_f16_flop_per_s};
}

std::vector<Ceilings> read_ceilings() {
  std::vector<Ceilings> devices;
  const nlohmann::json data = read_data("devices.json");
  for (const nlohmann::json& entry : data.at("devices")) {
    const nlohmann::json& limit = entry.at("limit");
    Ceilings ceilings{.name = entry.at("name"),
                      .model = entry.at("model"),
                      .limit_byte_per_s = limit.at("byte_per_s"),
                      .limit_ffma_flop_per_s = limit.at("ffma_flop_per_s"),
                      .limit_tf32_flop_per_s = limit.at("tf32_flop_per_s"),
                      .limit_f16_flop_per_s = limit.at("f16_flop_per_s"),
                      .l2_byte = entry.at("facts").at("l2_byte")};
    if (const auto reach = entry.find("reach"); reach != entry.end()) {
      ceilings.reach_byte_per_s = reach->at("byte_per_s");
      ceilings.reach_ffma_flop_per_s = reach->at("ffma_flop_per_s");
      ceilings.reach_tf32_flop_per_s = reach->at("tf32_flop_per_s");
      ceilings.reach_f16_flop_per_s = reach->at("f16_flop_per_s");
    } else {
      derive_reach(ceilings);
    }
    devices.push_back(std::move(ceilings));
  }
  return devices;
}

}  // namespace

const std::vector<Ceilings>& known_ceilings() {
  static const std::vector<Ceilings> devices = read_ceilings();
  return devices;
}

void derive_reach(Ceilings& ceilings) {
  static const nlohmann::json share = read_data("devices.json").at("reach_share");
  const auto share_of = [&](const char* rate) { return share.at(rate).get<double>(); };
  ceilings.reach_byte_per_s = share_of("byte_per_s") * ceilings.limit_byte_per_s;
  ceilings.reach_ffma_flop_per_s = share_of("ffma_flop_per_s") * ceilings.limit_ffma_flop_per_s;
  ceilings.reach_tf32_flop_per_s = share_of("tf32_flop_per_s") * ceilings.limit_tf32_flop_per_s;
  ceilings.reach_f16_flop_per_s = share_of("f16_flop_per_s") * ceilings.limit_f16_flop_per_s;
  ceilings.reach_derived = true;
}

TimeFloor floor_time(const Problem& problem, const Ceilings& ceilings) {
  const Bound limit = bound(problem, limits(ceilings)), reach = bound(problem, reaches(ceilings));
  const double output_byte =
      static_cast<double>(element_bytes(problem.out_dtype)) * static_cast<double>(element_count(output_shape(problem)));
  const double hidden_ms = 1e3 * std::min(output_byte, ceilings.l2_byte) / ceilings.limit_byte_per_s;
  return {.device_name = ceilings.name,
          .limit_ms = limit.ms,
          .reach_ms = reach.ms,
          .plausible_ms = limit.by == "memory" ? std::max(0.0, limit.ms - hidden_ms) : limit.ms,
          .bound_by = std::string(reach.by),
          .reach_derived = ceilings.reach_derived};
}

std::optional<double> ridge_flop_per_byte(const Problem& problem, const Ceilings& ceilings) {
  const double ms_per_flop = arithmetic_bound(problem, 1, reaches(ceilings)).ms;
  if (ms_per_flop == 0) return std::nullopt;
  return 1e3 / ms_per_flop / ceilings.reach_byte_per_s;
}

std::optional<TimeFloor> find_floor(const Problem& problem, std::string_view device_name) {
  for (const Ceilings& device : known_ceilings()) {
    if (device.name == device_name) return floor_time(problem, device);
  }
  return std::nullopt;
}

}  // namespace tapconv
