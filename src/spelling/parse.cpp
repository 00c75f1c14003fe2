#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "problem/excerpt.hpp"
#include "spelling/arguments.hpp"
#include "spelling/benchdnn.hpp"
#include "spelling/lists.hpp"
#include "spelling/miopen.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

constexpr std::string_view beginnings =
    "Conv1d/2d/3d, ConvTranspose1d/2d/3d, DepthwiseSeparable1d/2d/3d, or a named problem ('tapconv problems' lists "
    "them)";

/// Takes the name of a layer, after the modules that PyTorch keeps it in; takes nothing and gives null if there is
/// none.
const Layer* read_layer(Cursor& cursor) {
  Cursor ahead = cursor;
  std::string_view layer = ahead.identifier();
  bool qualified = false;
  std::size_t start = ahead.position();
  if (layer == "torch" && ahead.accept('.')) {
    start = ahead.position();
    layer = ahead.identifier();
    if (layer != "nn") ahead.fail_at(start, "unexpected module of torch; valid: 'nn.' after 'torch.'");
    ahead.expect('.', "'.' after 'nn'");
    qualified = true;
  } else if (layer == "nn" && ahead.accept('.')) {
    qualified = true;
  }
  if (qualified) {
    start = ahead.position();
    layer = ahead.identifier();
  }
  const Layer* found = find_layer(layer);
  if (found != nullptr) cursor = ahead;
  if (found == nullptr && qualified) {
    const std::vector<std::string_view> valid = layer_names();
    ahead.fail_at(start, fmt::format("nn.{} is not supported{}; valid: {}", excerpt(layer), suggestion(layer, valid),
                                     fmt::join(valid, ", ")));
  }
  return found;
}

/// Takes the name of a problem.
const NamedProblem& read_name(Cursor& cursor) {
  const std::size_t start = cursor.position();
  const std::string_view name = cursor.problem_name();
  if (name.empty()) cursor.unexpected(beginnings);
  const NamedProblem* const named = find_named(name);
  if (named == nullptr) {
    std::vector<std::string_view> valid = layer_names();
    std::ranges::copy(problem_names(), std::back_inserter(valid));
    cursor.fail_at(start, fmt::format("{} is not a layer or a named problem{}; valid: {}", excerpt(name),
                                      suggestion(name, valid), beginnings));
  }
  return *named;
}

/// Where `field` was written, or else the place that most nearly decides it.
std::size_t place_of(const Draft& draft, Field field, int axis) {
  for (const Field candidate : {field, Field::input}) {
    const auto found = draft.places.find(candidate);
    if (found != draft.places.end()) return found->second[axis];
  }
  return 0;
}

void resolve_same_padding(const Cursor& cursor, Draft& draft) {
  Problem& problem = draft.problem;
  if (std::ranges::any_of(problem.stride, [](std::int64_t stride) { return stride != 1; })) {
    cursor.fail_at(place_of(draft, Field::padding, 0),
                   fmt::format("padding = 'same' with stride = {}; valid: 'same' with stride = 1, or numbers",
                               spell_value(problem, Field::stride)));
  }
  pad_to_same(problem);
}

/// Gives the fields that were not written, and whose default depends on one that was, that default.
void follow(Draft& draft, DType dtype_before) {
  Problem& problem = draft.problem;
  const bool new_dtype = problem.dtype != dtype_before;
  if (new_dtype && !draft.has(Field::out_dtype)) problem.out_dtype = problem.dtype;
  if (new_dtype && !draft.has(Field::math)) problem.contract = default_contract(problem.dtype);
  const Problem defaults;
  if (problem.contract != Contract::tf32 && !draft.has(Field::rounding)) problem.tie_rule = defaults.tie_rule;
  if (problem.activation != Activation::leaky_relu && !draft.has(Field::negative_slope)) {
    problem.negative_slope = defaults.negative_slope;
  }
}

void read_layer_problem(Cursor& cursor, Draft& draft, const Layer& layer) {
  draft.layer = layer.name;
  draft.problem.kind = layer.kind;
  draft.problem.rank = layer.rank;
  read_arguments(cursor, draft, layer_signature(layer.kind));
  follow(draft, Problem{}.dtype);
  if (draft.same_padding) resolve_same_padding(cursor, draft);
  cursor.expect('@', "'@' and the shape of the input");
  read_shape(cursor, draft);
}

void read_named_problem(Cursor& cursor, Draft& draft) {
  const NamedProblem& named = read_name(cursor);
  draft.layer = named.name;
  draft.problem = named.problem;
  if (Cursor(cursor).accept('(')) read_arguments(cursor, draft, variation_signature());
  follow(draft, named.problem.dtype);
  if (cursor.accept('@')) read_shape(cursor, draft);
}

}  // namespace

Problem parse_problem(std::string_view text) {
  Cursor cursor(text);
  Draft draft;
  // Names come last: reading the shipped lists, which find_named() does, parses layers.
  if (const Layer* const layer = read_layer(cursor)) {
    read_layer_problem(cursor, draft, *layer);
  } else if (looks_like_benchdnn(text)) {
    return parse_benchdnn(text);
  } else if (looks_like_miopen(text)) {
    return parse_miopen(text);
  } else {
    read_named_problem(cursor, draft);
  }
  if (!cursor.at_end()) cursor.unexpected("the end of the text");
  if (const auto violation = find_violation(draft.problem)) {
    cursor.fail_at(place_of(draft, violation->field, violation->axis), violation->message);
  }
  return draft.problem;
}

}  // namespace tapconv
