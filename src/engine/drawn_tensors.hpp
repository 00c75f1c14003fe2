#pragma once

#include <cstdint>
#include <vector>

#include "tapconv/problem.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

/// Fills a dense tensor of `shape` at `data`: the element with logical index i is a function of the recipe and i alone,
/// rounded to `dtype`.
void draw(void* data, const std::vector<std::int64_t>& shape, DType dtype, Layout layout, const shared::Recipe& recipe);

}  // namespace tapconv
