#include <algorithm>
#include <numeric>
#include <random>

#include "oracle/oracle.hpp"

namespace tapconv {
namespace {

/// The distinct positions of an axis that lie within two of an end.
std::vector<std::int64_t> ends(std::int64_t size) {
  std::vector<std::int64_t> positions;
  for (const std::int64_t position : {std::int64_t{0}, std::int64_t{1}, size - 2, size - 1}) {
    if (position >= 0 && position < size) positions.push_back(position);
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace

std::vector<std::int64_t> sample_outputs(const Problem& problem, std::int64_t count, std::uint64_t seed) {
  const std::vector<std::int64_t> shape = output_shape(problem);
  const std::int64_t total = element_count(shape);
  std::vector<std::int64_t> outputs;
  if (total <= count) {
    outputs.resize(static_cast<std::size_t>(total));
    std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
    return outputs;
  }
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };

  // Corners: every combination of axis ends, images and channels included.
  outputs.push_back(0);
  for (const std::int64_t size : shape) {
    std::vector<std::int64_t> extended;
    for (const std::int64_t prefix : outputs) {
      for (const std::int64_t position : ends(size)) extended.push_back(prefix * size + position);
    }
    outputs = std::move(extended);
  }
  // Borders: one axis at an end, the others anywhere.
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    for (const std::int64_t end : ends(shape[axis])) {
      for (int repeat = 0; repeat < 64; ++repeat) {
        std::int64_t index = 0;
        for (std::size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + (i == axis ? end : below(shape[i]));
        outputs.push_back(index);
      }
    }
  }
  // One from each of `count` equal parts; the part's bounds are computed so as not to overflow.
  for (std::int64_t part = 0; part < count; ++part) {
    const std::int64_t width = total / count;
    const std::int64_t begin = part * width + std::min(part, total % count);
    outputs.push_back(begin + below(width + (part < total % count ? 1 : 0)));
  }
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  return outputs;
}

}  // namespace tapconv
