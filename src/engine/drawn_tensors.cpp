#include "engine/drawn_tensors.hpp"

#include "engine/session.hpp"
#include "problem/element_places.hpp"
#include "problem/parallel.hpp"

namespace tapconv {

void draw(void* data, const std::vector<std::int64_t>& shape, DType dtype, Layout layout,
          const shared::Recipe& recipe) {
  const ElementPlaces place(shape, layout);
  parallel_for(element_count(shape), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) store_element(data, dtype, place(i), shared::seeded_value(recipe, i));
  });
}

TensorSource with_drawn(const Problem& problem, TensorSource tensors) {
  validate(problem);
  const Recipes recipes = uniform_recipes(problem, tensors.seed);
  const auto draw_absent = [](std::optional<Tensor>& tensor, const std::vector<std::int64_t>& shape, DType dtype,
                              const shared::Recipe& recipe) {
    if (tensor) return;
    tensor.emplace(dtype, shape);
    draw(tensor->mutable_view().data, shape, dtype, Layout::contiguous, recipe);
  };
  draw_absent(tensors.input, input_shape(problem), problem.dtype, recipes.input);
  draw_absent(tensors.weight, weight_shape(problem), problem.dtype, recipes.weight);
  if (const std::int64_t count = bias_count(problem); count > 0)
    draw_absent(tensors.bias, {count}, problem.dtype, recipes.bias);
  if (problem.kind == Kind::depthwise_separable)
    draw_absent(tensors.pointwise_weight, pointwise_weight_shape(problem), problem.dtype, recipes.pointwise_weight);
  if (const std::int64_t count = pointwise_bias_count(problem); count > 0)
    draw_absent(tensors.pointwise_bias, {count}, problem.dtype, recipes.pointwise_bias);
  if (problem.residual) draw_absent(tensors.residual, output_shape(problem), problem.out_dtype, recipes.residual);
  return tensors;
}

}  // namespace tapconv
