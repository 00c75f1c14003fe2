#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "problem/benchdnn.hpp"
#include "problem/miopen.hpp"
#include "problem/published.hpp"
#include "problem/spelling_arguments.hpp"
#include "problem/spelling_text.hpp"
#include "problem/text.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

constexpr std::string_view layers[] = {"Conv1d", "Conv2d", "Conv3d"};

/// "5" if all axes agree, else "(5, 7)".
std::string spell_extent(const Extent& extent, int rank) {
  const auto end = extent.begin() + rank;
  if (std::all_of(extent.begin(), end, [&](std::int64_t value) { return value == extent[0]; })) {
    return fmt::format("{}", extent[0]);
  }
  return fmt::format("({})", fmt::join(extent.begin(), end, ", "));
}

/// What padding='same' adds to each side; an axis where that is undefined or too large is left for validate().
void pad_to_same(Problem& problem) {
  for (int axis = 0; axis < problem.rank; ++axis) {
    std::int64_t total = 0;
    if (problem.kernel[axis] < 1 || problem.dilation[axis] < 1 ||
        __builtin_mul_overflow(problem.dilation[axis], problem.kernel[axis] - 1, &total)) {
      continue;
    }
    problem.padding_lo[axis] = total / 2;
    problem.padding_hi[axis] = total - total / 2;
  }
}

/// Takes the name of a layer, after the modules that PyTorch keeps it in.
std::string_view read_layer(Cursor& cursor) {
  std::string_view layer = cursor.identifier();
  if (layer == "torch") {
    cursor.expect('.', "'.nn.' after 'torch'");
    const std::size_t start = cursor.position();
    layer = cursor.identifier();
    if (layer != "nn") cursor.fail_at(start, "unexpected module of torch; valid: 'nn.' after 'torch.'");
  }
  if (layer == "nn") {
    cursor.expect('.', "'.' after 'nn'");
    const std::size_t start = cursor.position();
    layer = cursor.identifier();
    if (std::ranges::find(layers, layer) == std::end(layers)) {
      cursor.fail_at(start, fmt::format("nn.{} is not supported in this version{}; valid: {}", excerpt(layer),
                                        suggestion(layer, layers), fmt::join(layers, ", ")));
    }
  }
  if (layer.empty()) cursor.unexpected(fmt::format("{}, or a published problem", fmt::join(layers, ", ")));
  return layer;
}

[[noreturn]] void refuse_layer(const Cursor& cursor, std::size_t start, std::string_view layer) {
  std::vector<std::string_view> valid(std::begin(layers), std::end(layers));
  const std::size_t layer_count = valid.size();
  for (const PublishedProblem& published : published_problems()) valid.push_back(published.name);
  const std::string all = fmt::format("{}, or a published problem ({})", fmt::join(layers, ", "),
                                      fmt::join(valid.begin() + layer_count, valid.end(), ", "));
  if (layer.starts_with("ConvTranspose")) {
    cursor.fail_at(start, fmt::format("{} is not supported in this version; valid: {}", excerpt(layer), all));
  }
  cursor.fail_at(start, fmt::format("{} is not a layer or published problem{}; valid: {}", excerpt(layer),
                                    suggestion(layer, valid), all));
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
                               spell_extent(problem.stride, problem.rank)));
  }
  pad_to_same(problem);
}

std::string spell_padding(const Problem& problem) {
  if (problem.padding_lo == problem.padding_hi) return spell_extent(problem.padding_lo, problem.rank);
  Problem same = problem;
  pad_to_same(same);
  if (same == problem && problem.stride == Extent{1, 1, 1}) return "'same'";
  fail(ErrorCode::usage, "padding = ({}) before and ({}) after has no spelling; valid: equal padding on both sides",
       fmt::join(problem.padding_lo.begin(), problem.padding_lo.begin() + problem.rank, ", "),
       fmt::join(problem.padding_hi.begin(), problem.padding_hi.begin() + problem.rank, ", "));
}

}  // namespace

Problem parse_problem(std::string_view text) {
  if (looks_like_benchdnn(text)) return parse_benchdnn(text);
  if (looks_like_miopen(text)) return parse_miopen(text);
  Cursor cursor(text);
  Draft draft;
  Problem& problem = draft.problem;
  const std::size_t start = cursor.position();
  const std::string_view layer = read_layer(cursor);
  draft.layer = layer;
  const auto convolution = std::ranges::find(layers, layer);
  const PublishedProblem* published = find_published(layer);
  if (convolution != std::end(layers)) {
    problem.rank = static_cast<int>(convolution - layers) + 1;
    read_arguments(cursor, draft);
    if (draft.same_padding) resolve_same_padding(cursor, draft);
    cursor.expect('@', "'@' and the shape of the input");
    read_shape(cursor, draft);
  } else if (published != nullptr) {
    problem = published->problem;
    Cursor ahead = cursor;
    if (ahead.accept('(')) read_variation(cursor, draft);
    if (cursor.accept('@')) read_shape(cursor, draft);
  } else {
    refuse_layer(cursor, start, layer);
  }
  if (!cursor.at_end()) cursor.unexpected("the end of the text");
  if (const auto violation = find_violation(problem)) {
    cursor.fail_at(place_of(draft, violation->field, violation->axis), violation->message);
  }
  return problem;
}

std::string spell(const Problem& problem) {
  const Extent ones{1, 1, 1};
  std::string text = fmt::format("{}({}, {}, {}", layers[problem.rank - 1], problem.in_channels, problem.out_channels,
                                 spell_extent(problem.kernel, problem.rank));
  if (problem.stride != ones) text += fmt::format(", stride={}", spell_extent(problem.stride, problem.rank));
  if (const std::string padding = spell_padding(problem); padding != "0") text += fmt::format(", padding={}", padding);
  if (problem.dilation != ones) text += fmt::format(", dilation={}", spell_extent(problem.dilation, problem.rank));
  if (problem.groups != 1) text += fmt::format(", groups={}", problem.groups);
  if (!problem.bias) text += ", bias=False";
  if (problem.contract != Contract::fp32) text += fmt::format(", math={}", name(problem.contract));
  if (problem.tie_rule != TieRule::away) text += fmt::format(", rounding={}", name(problem.tie_rule));
  return text + fmt::format(") @ {}", fmt::join(input_shape(problem), "x"));
}

}  // namespace tapconv
