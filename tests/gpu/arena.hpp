#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cuda_tensors.hpp"
#include "problem/text.hpp"

namespace tapconv::testing {

/// Bytes of each tensor of a problem, 0 for one that it does not have.
struct TensorBytes {
  std::size_t input, weight, bias, pointwise_weight, pointwise_bias, residual, output;

  explicit TensorBytes(const Problem& p)
      : input(bytes(element_count(input_shape(p)), p.dtype)),
        weight(bytes(element_count(weight_shape(p)), p.dtype)),
        bias(bytes(bias_count(p), p.dtype)),
        pointwise_weight(
            bytes(p.kind == Kind::depthwise_separable ? element_count(pointwise_weight_shape(p)) : 0, p.dtype)),
        pointwise_bias(bytes(pointwise_bias_count(p), p.dtype)),
        residual(bytes(p.residual ? element_count(output_shape(p)) : 0, p.out_dtype)),
        output(bytes(element_count(output_shape(p)), p.out_dtype)) {}

 private:
  static std::size_t bytes(std::int64_t count, DType dtype) {
    return static_cast<std::size_t>(count) * element_bytes(dtype);
  }
};

/// All tensors of a problem and its workspace in one allocation of device memory, each between guard zones, so that a
/// stray access meets one. Each begins at a multiple of 256 bytes; the zone behind it begins with the next byte.
class Arena {
 public:
  Arena(const cuda::Context& context, const Problem& problem, std::size_t workspace_bytes) {
    const TensorBytes sizes(problem);
    std::size_t offset = guard_bytes;
    const auto place = [&](std::string_view name, std::size_t bytes, bool written) {
      regions_.push_back({.name = name, .offset = offset, .bytes = bytes, .written = written});
      offset = (offset + bytes + guard_bytes + 255) / 256 * 256;
    };
    place("input", sizes.input, false);
    place("weight", sizes.weight, false);
    place("bias", sizes.bias, false);
    place("pointwise_weight", sizes.pointwise_weight, false);
    place("pointwise_bias", sizes.pointwise_bias, false);
    place("residual", sizes.residual, false);
    place("output", sizes.output, true);
    place("workspace", workspace_bytes, true);
    memory_ = cuda::Buffer(context, offset);
  }

  /// Sets every byte, then copies the operands.
  void reset(unsigned char byte, const CudaTensors& operands) {
    const DeviceTensors from = operands.pointers();
    const std::array<const void*, 6> sources{from.input,          from.weight,  from.bias, from.pointwise_weight,
                                             from.pointwise_bias, from.residual};
    operands.stream().fill_bytes(memory_.as(), byte, memory_.bytes());
    for (std::size_t i = 0; i < sources.size(); ++i)
      operands.stream().copy(memory_.as<std::byte>() + regions_[i].offset, sources[i], regions_[i].bytes);
    operands.stream().synchronize();
  }

  [[nodiscard]] DeviceTensors tensors() const {
    return {.input = at(0),
            .weight = at(1),
            .bias = at(2),
            .pointwise_weight = at(3),
            .pointwise_bias = at(4),
            .residual = at(5),
            .output = at(6)};
  }
  [[nodiscard]] void* workspace() const { return at(7); }

  /// All of it.
  [[nodiscard]] std::vector<std::byte> download() const {
    std::vector<std::byte> bytes(memory_.bytes());
    memory_.download(bytes);
    return bytes;
  }

  /// The output's part of a download.
  [[nodiscard]] std::span<const std::byte> output(std::span<const std::byte> all) const {
    return all.subspan(regions_[6].offset, regions_[6].bytes);
  }

  /// Where two downloads differ outside of output and workspace, as a sentence; empty if they do not.
  [[nodiscard]] std::string stray_write(std::span<const std::byte> before, std::span<const std::byte> after) const {
    std::size_t checked = 0;
    for (const Region& region : regions_) {
      if (!region.written) continue;
      if (const std::string found = difference(before, after, checked, region.offset); !found.empty()) return found;
      checked = region.offset + region.bytes;
    }
    return difference(before, after, checked, memory_.bytes());
  }

 private:
  static constexpr std::size_t guard_bytes = 4096;

  struct Region {
    std::string_view name;
    std::size_t offset, bytes;
    bool written;
  };

  /// Null for a tensor that the problem does not have.
  [[nodiscard]] void* at(std::size_t region) const {
    return regions_[region].bytes == 0 ? nullptr : memory_.as<std::byte>() + regions_[region].offset;
  }

  [[nodiscard]] std::string difference(std::span<const std::byte> before, std::span<const std::byte> after,
                                       std::size_t begin, std::size_t end) const {
    const auto found = std::mismatch(before.data() + begin, before.data() + end, after.data() + begin);
    if (found.first == before.data() + end) return {};
    const auto place = static_cast<std::int64_t>(found.first - before.data());
    // Inside the last region that begins before it, or in the zone behind.
    const Region* near = &regions_.front();
    for (const Region& region : regions_) {
      if (region.bytes > 0 && static_cast<std::int64_t>(region.offset) <= place) near = &region;
    }
    return fmt::format("a byte outside of the output was written: {} bytes from the start of {}, which has {}",
                       place - static_cast<std::int64_t>(near->offset), near->name, near->bytes);
  }

  std::vector<Region> regions_;
  cuda::Buffer memory_;
};

}  // namespace tapconv::testing
