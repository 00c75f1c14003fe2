#pragma once

#include <cstdint>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// From the linear (logical) index of an element of a tensor of `shape` to its place in memory in `layout`, in
/// elements.
class ElementPlaces {
 public:
  ElementPlaces(std::vector<std::int64_t> shape, Layout layout)
      : shape_(std::move(shape)), strides_(strides_of(shape_, layout)) {}

  [[nodiscard]] std::int64_t operator()(std::int64_t index) const {
    std::int64_t place = 0;
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      place += index % shape_[axis] * strides_[axis];
      index /= shape_[axis];
    }
    return place;
  }

 private:
  std::vector<std::int64_t> shape_, strides_;
};

}  // namespace tapconv
