#include "spelling/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "problem/excerpt.hpp"
#include "tapconv/numerics.hpp"

namespace tapconv {
namespace {

template <class Value>
struct Choice {
  std::string_view word;
  Value value;
};

template <class Value, std::size_t count>
std::vector<Choice<Value>> by_name(const Value (&values)[count]) {
  std::vector<Choice<Value>> choices;
  for (const Value value : values) choices.push_back({name(value), value});
  return choices;
}

class ValueReader {
 public:
  ValueReader(Cursor& cursor, Draft& draft, Field field)
      : cursor_(cursor), draft_(draft), field_(field), rank_(draft.problem.rank) {}

  std::int64_t read_integer(std::string_view valid = "a whole number") {
    const std::size_t start = cursor_.position();
    const std::int64_t value = cursor_.integer(name(field_), valid);
    Cursor ahead = cursor_;
    if (ahead.accept('.') || !ahead.identifier().empty()) {
      cursor_.fail_at(
          start, fmt::format("{} = {} is not a whole number; valid: {}", name(field_), cursor_.value_at(start), valid));
    }
    return value;
  }

  void read_extent(Extent& extent) {
    const std::string valid = rank_ == 1 ? "a number" : fmt::format("a number, or {} of them in parentheses", rank_);
    read_tuple(valid, [&](int axis) {
      std::fill(extent.begin() + axis, extent.begin() + rank_, read_integer(valid));
      return true;
    });
  }

  void read_padding() {
    const bool words = draft_.problem.kind != Kind::transposed;
    const std::string valid =
        (rank_ == 1 ? "a number or ((before, after),)"
                    : fmt::format("a number, or {} of them or of pairs (before, after) in parentheses", rank_)) +
        (words ? "; 'same', 'valid'" : "");
    const std::size_t start = cursor_.position();
    const std::string_view word = cursor_.word();
    if (words && word == "same") {
      draft_.same_padding = true;
    } else if (word.empty() && cursor_.position() == start) {
      read_tuple(valid, [&](int axis) { return read_sides(axis, valid); });
    } else if (!words || word != "valid") {
      cursor_.fail_at(
          start, fmt::format("padding = {} is not possible for {}; valid: {}", excerpt(word), draft_.layer, valid));
    }
  }

  bool read_truth() {
    return read_choice<bool>({{"True", true}, {"False", false}}, {{"true", true}, {"false", false}});
  }

  PaddingMode read_padding_mode() {
    return read_choice(
        by_name({PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular}));
  }

  DType read_dtype() {
    return read_choice(by_name(all_dtypes), {{"float", DType::float32},
                                             {"half", DType::float16},
                                             {"double", DType::float64},
                                             {"f32", DType::float32},
                                             {"f16", DType::float16},
                                             {"bf16", DType::bfloat16},
                                             {"f64", DType::float64}});
  }

  Layout read_layout() {
    std::vector<Choice<Layout>> synonyms{{"contiguous_format", Layout::contiguous}};
    if (rank_ == 3) synonyms.push_back({"channels_last_3d", Layout::channels_last});
    return read_choice(by_name({Layout::contiguous, Layout::channels_last}), synonyms);
  }

  Contract read_contract() { return read_choice(by_name(all_contracts)); }
  TieRule read_tie_rule() { return read_choice(by_name({TieRule::away, TieRule::even})); }
  Activation read_activation() { return read_choice(by_name(all_activations)); }
  double read_number() { return cursor_.number(name(field_), "a finite number"); }

 private:
  /// One of `choices`, which an error lists, or of their synonyms; PyTorch's own constants may have "torch." before
  /// them.
  template <class Value>
  Value read_choice(std::vector<Choice<Value>> choices, const std::vector<Choice<Value>>& synonyms = {}) {
    const std::size_t start = cursor_.position();
    const std::string_view word = read_constant();
    const std::size_t listed = choices.size();
    choices.insert(choices.end(), synonyms.begin(), synonyms.end());
    std::vector<std::string_view> words;
    for (const auto& [spelling, value] : choices) {
      if (spelling == word) return value;
      words.push_back(spelling);
    }
    const std::string nearest = suggestion(word, words);
    words.resize(listed);
    cursor_.fail_at(
        start, fmt::format("{} = {} is unknown{}; valid: {}", name(field_),
                           word.empty() ? cursor_.value_at(start) : excerpt(word), nearest, fmt::join(words, ", ")));
  }

  std::string_view read_constant() {
    constexpr std::string_view module = "torch.";
    std::string_view word = cursor_.word();
    if (field_ != Field::dtype && field_ != Field::out_dtype && field_ != Field::layout) return word;
    if (word == "torch" && cursor_.accept('.')) word = cursor_.identifier();
    if (word.starts_with(module)) word.remove_prefix(module.size());
    return word;
  }

  /// One entry for every axis, or a tuple or list of one per axis. `read_entry(axis)` reads one for `axis` and those
  /// after it and says whether it was a number.
  template <class ReadEntry>
  void read_tuple(std::string_view valid, ReadEntry read_entry) {
    auto& places = draft_.places[field_];
    const std::size_t start = cursor_.position();
    const bool tuple = cursor_.accept('(');
    const bool list = !tuple && cursor_.accept('[');
    if (!tuple && !list) {
      read_entry(0);
      return;
    }
    const char close = tuple ? ')' : ']';
    int count = 0;
    bool comma = false, numeric = true;
    do {
      const int axis = std::min(count, rank_);
      const std::size_t place = cursor_.position();
      numeric = read_entry(axis);
      std::fill(places.begin() + axis, places.begin() + rank_, place);
      count = std::min(count + 1, max_rank + 1);
      comma = cursor_.accept(',');
    } while (comma && !cursor_.accept(close));
    if (!comma) cursor_.expect(close, fmt::format("',' or '{}'", close));
    // As in Python, "(3)" is a number, "((2, 0))" a pair, and "(3,)" a tuple.
    const bool parenthesized = tuple && count == 1 && !comma;
    if (parenthesized ? !numeric : count != rank_) {
      cursor_.fail_at(
          start, fmt::format("{} is a tuple of {}{}; valid for {}: {}", name(field_),
                             count > max_rank ? "more than " : "", std::min(count, max_rank), draft_.layer, valid));
    }
  }

  /// A number for both sides, or a pair (before, after).
  bool read_sides(int axis, std::string_view valid) {
    const bool tuple = cursor_.accept('(');
    const bool list = !tuple && cursor_.accept('[');
    const std::int64_t lo = read_integer(valid);
    std::int64_t hi = lo;
    if (tuple || list) {
      const char close = tuple ? ')' : ']';
      cursor_.expect(',', "',' and what is added after the input");
      hi = read_integer(valid);
      cursor_.accept(',');
      cursor_.expect(close, fmt::format("'{}' after the pair", close));
    }
    Problem& problem = draft_.problem;
    std::fill(problem.padding_lo.begin() + axis, problem.padding_lo.begin() + rank_, lo);
    std::fill(problem.padding_hi.begin() + axis, problem.padding_hi.begin() + rank_, hi);
    return !tuple && !list;
  }

  Cursor& cursor_;
  Draft& draft_;
  Field field_;
  int rank_;
};

}  // namespace

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

void read_value(Cursor& cursor, Draft& draft, Field field) {
  Problem& problem = draft.problem;
  ValueReader reader(cursor, draft, field);
  switch (field) {
    case Field::in_channels:
      problem.in_channels = reader.read_integer();
      break;
    case Field::out_channels:
      problem.out_channels = reader.read_integer();
      break;
    case Field::kernel_size:
      reader.read_extent(problem.kernel);
      break;
    case Field::stride:
      reader.read_extent(problem.stride);
      break;
    case Field::padding:
      reader.read_padding();
      break;
    case Field::output_padding:
      reader.read_extent(problem.output_padding);
      break;
    case Field::dilation:
      reader.read_extent(problem.dilation);
      break;
    case Field::groups:
      problem.groups = reader.read_integer();
      break;
    case Field::depth_multiplier:
      problem.depth_multiplier = reader.read_integer();
      break;
    case Field::bias:
      problem.bias = reader.read_truth();
      break;
    case Field::padding_mode:
      problem.padding_mode = reader.read_padding_mode();
      break;
    case Field::dtype:
      problem.dtype = reader.read_dtype();
      break;
    case Field::out_dtype:
      problem.out_dtype = reader.read_dtype();
      break;
    case Field::layout:
      problem.layout = reader.read_layout();
      break;
    case Field::math:
      problem.contract = reader.read_contract();
      break;
    case Field::rounding:
      problem.tie_rule = reader.read_tie_rule();
      break;
    case Field::residual:
      problem.residual = reader.read_truth();
      break;
    case Field::activation:
      problem.activation = reader.read_activation();
      break;
    case Field::negative_slope:
      problem.negative_slope = reader.read_number();
      break;
    case Field::kind:
    case Field::rank:
    case Field::batch:
    case Field::input:
    case Field::dynamic:
      break;  // not arguments
  }
}

}  // namespace tapconv
