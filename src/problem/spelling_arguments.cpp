#include "problem/spelling_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "problem/spelling_text.hpp"
#include "tapconv/numerics.hpp"

namespace tapconv {
namespace {

constexpr Field layer_fields[] = {Field::in_channels, Field::out_channels, Field::kernel_size, Field::stride,
                                  Field::padding,     Field::dilation,     Field::groups,      Field::bias,
                                  Field::math,        Field::rounding,     Field::padding_mode};
constexpr std::size_t positional_count = 8;
constexpr std::size_t required_count = 3;
constexpr Field variation_fields[] = {Field::math, Field::rounding, Field::bias};

std::vector<std::string_view> names(std::span<const Field> fields) {
  std::vector<std::string_view> result;
  for (const Field field : fields) result.push_back(name(field));
  return result;
}

class ArgumentReader {
 public:
  ArgumentReader(Cursor& cursor, Draft& draft, std::span<const Field> keywords, std::span<const Field> positional,
                 std::span<const Field> required)
      : cursor_(cursor), draft_(draft), keywords_(keywords), positional_(positional), required_(required) {}

  void read() {
    cursor_.expect('(', "'('");
    std::size_t close = cursor_.position();
    while (!cursor_.accept(')')) {
      read_argument();
      close = cursor_.position();
      if (cursor_.accept(',')) {
        close = cursor_.position();
      } else {
        cursor_.expect(')', "',' or ')'");
        break;
      }
    }
    for (const Field field : required_) {
      if (draft_.places.contains(field)) continue;
      cursor_.fail_at(close, fmt::format("{} is missing; valid: {}({}, ...)", name(field), draft_.layer,
                                         fmt::join(names(required_), ", ")));
    }
  }

 private:
  void read_argument() {
    const std::size_t start = cursor_.position();
    Cursor ahead = cursor_;
    const std::string_view keyword = ahead.identifier();
    const bool by_keyword = !keyword.empty() && ahead.accept('=');
    if (by_keyword) cursor_ = ahead;
    const Field field = by_keyword ? find_keyword(keyword, start) : next_positional();
    if (draft_.places.contains(field))
      cursor_.fail_at(start, fmt::format("{} is given twice; valid: once", name(field)));
    draft_.places[field].fill(cursor_.position());
    read_value(field);
  }

  Field find_keyword(std::string_view keyword, std::size_t start) {
    keyword_seen_ = true;
    const auto found = std::ranges::find(keywords_, keyword, [](Field field) { return name(field); });
    if (found != keywords_.end()) return *found;
    const std::vector<std::string_view> valid = names(keywords_);
    const std::string why = keyword == "device" || keyword == "dtype"
                                ? "not supported in this version"
                                : fmt::format("not an argument of {}{}", draft_.layer, suggestion(keyword, valid));
    cursor_.fail_at(start, fmt::format("{} is {}; valid: {}", excerpt(keyword), why, fmt::join(valid, ", ")));
  }

  Field next_positional() {
    if (keyword_seen_ || positional_read_ == positional_.size()) {
      const std::string_view why = keyword_seen_         ? "a value without a keyword follows one with a keyword"
                                   : positional_.empty() ? "a value without a keyword follows a published name"
                                                         : "too many values without a keyword";
      cursor_.fail_at(cursor_.position(),
                      fmt::format("{}; valid: keyword=value for {}", why, fmt::join(names(keywords_), ", ")));
    }
    return positional_[positional_read_++];
  }

  void read_value(Field field) {
    Problem& problem = draft_.problem;
    switch (field) {
      case Field::in_channels:
        problem.in_channels = read_integer(field, "a whole number");
        break;
      case Field::out_channels:
        problem.out_channels = read_integer(field, "a whole number");
        break;
      case Field::groups:
        problem.groups = read_integer(field, "a whole number");
        break;
      case Field::kernel_size:
        read_extent(field, problem.kernel);
        break;
      case Field::stride:
        read_extent(field, problem.stride);
        break;
      case Field::dilation:
        read_extent(field, problem.dilation);
        break;
      case Field::padding:
        read_padding();
        break;
      case Field::bias:
        problem.bias = read_choice<bool>(field, {{"True", true}, {"False", false}, {"true", true}, {"false", false}});
        break;
      case Field::math:
        problem.contract = read_choice<Contract>(field, {{name(Contract::ieee), Contract::ieee},
                                                         {name(Contract::fp32), Contract::fp32},
                                                         {name(Contract::tf32), Contract::tf32}});
        break;
      case Field::rounding:
        problem.tie_rule =
            read_choice<TieRule>(field, {{name(TieRule::away), TieRule::away}, {name(TieRule::even), TieRule::even}});
        break;
      case Field::padding_mode:
        read_choice<bool>(field, {{"zeros", true}});
        break;
      default:
        break;  // not arguments
    }
  }

  std::int64_t read_integer(Field field, std::string_view valid) {
    const std::size_t start = cursor_.position();
    const std::int64_t value = cursor_.integer(name(field), valid);
    Cursor ahead = cursor_;
    if (ahead.accept('.') || !ahead.identifier().empty()) {
      cursor_.fail_at(
          start, fmt::format("{} = {} is not a whole number; valid: {}", name(field), cursor_.value_at(start), valid));
    }
    return value;
  }

  template <class Value>
  Value read_choice(Field field, std::initializer_list<std::pair<std::string_view, Value>> choices) {
    const std::size_t start = cursor_.position();
    const std::string_view word = cursor_.word();
    std::vector<std::string_view> valid;
    for (const auto& [spelling, value] : choices) {
      if (spelling == word) return value;
      valid.push_back(spelling);
    }
    cursor_.fail_at(start, fmt::format("{} = {} is not {}{}; valid: {}", name(field),
                                       word.empty() ? cursor_.value_at(start) : excerpt(word),
                                       field == Field::bias ? "a truth value" : "supported in this version",
                                       suggestion(word, valid), fmt::join(valid, ", ")));
  }

  void read_padding() {
    const std::size_t start = cursor_.position();
    const std::string_view word = cursor_.word();
    if (word == "same") {
      draft_.same_padding = true;
    } else if (word.empty() && cursor_.position() == start) {
      read_extent(Field::padding, draft_.problem.padding_lo);
      draft_.problem.padding_hi = draft_.problem.padding_lo;
    } else if (word != "valid") {
      cursor_.fail_at(start,
                      fmt::format("padding = {} is not supported; valid: a number, {} of them, 'same' or 'valid'",
                                  excerpt(word), draft_.problem.rank));
    }
  }

  /// One number for every axis, or a tuple or list of one per axis.
  void read_extent(Field field, Extent& extent) {
    const int rank = draft_.problem.rank;
    const std::string valid = rank == 1 ? "a number" : fmt::format("a number, or {} of them in parentheses", rank);
    auto& places = draft_.places[field];
    const std::size_t start = cursor_.position();
    const bool tuple = cursor_.accept('(');
    const bool list = !tuple && cursor_.accept('[');
    if (!tuple && !list) {
      std::fill_n(extent.begin(), rank, read_integer(field, valid));
      return;
    }
    const char close = tuple ? ')' : ']';
    int count = 0;
    bool comma = false;
    do {
      const std::size_t place = cursor_.position();
      const std::int64_t value = read_integer(field, valid);
      if (count == 0) std::fill_n(extent.begin(), rank, value);
      if (count < rank) {
        extent[count] = value;
        places[count] = place;
      }
      count = std::min(count + 1, max_rank + 1);
      comma = cursor_.accept(',');
    } while (comma && !cursor_.accept(close));
    if (!comma) cursor_.expect(close, fmt::format("',' or '{}'", close));
    // As in Python, "(3)" is a number and "(3,)" a tuple.
    const bool number = tuple && count == 1 && !comma;
    if (count != rank && !number) {
      cursor_.fail_at(
          start, fmt::format("{} is a tuple of {}{}; valid for {}: {}", name(field),
                             count > max_rank ? "more than " : "", std::min(count, max_rank), draft_.layer, valid));
    }
  }

  Cursor& cursor_;
  Draft& draft_;
  std::span<const Field> keywords_;
  std::span<const Field> positional_;
  std::span<const Field> required_;
  std::size_t positional_read_ = 0;
  bool keyword_seen_ = false;
};

}  // namespace

void read_arguments(Cursor& cursor, Draft& draft) {
  const std::span<const Field> fields = layer_fields;
  ArgumentReader(cursor, draft, fields, fields.first(positional_count), fields.first(required_count)).read();
}

void read_variation(Cursor& cursor, Draft& draft) { ArgumentReader(cursor, draft, variation_fields, {}, {}).read(); }

void read_shape(Cursor& cursor, Draft& draft) {
  Problem& problem = draft.problem;
  const std::size_t needed = problem.rank + 2;
  const std::string valid = std::string("NxCxDxHxW").erase(4, 2 * (max_rank - problem.rank));
  const std::size_t start = cursor.position();
  const bool parentheses = cursor.accept('(');
  const bool brackets = !parentheses && cursor.accept('[');
  const char separator = parentheses || brackets ? ',' : 'x';
  const char close = parentheses ? ')' : ']';

  std::array<std::int64_t, max_rank + 2> sizes{};
  std::array<std::size_t, max_rank + 2> places{};
  std::size_t count = 0;
  bool closed = separator == 'x';
  do {
    if (count == needed) {
      cursor.fail_at(start,
                     fmt::format("the shape has more than {} sizes; valid for {}: {}", needed, draft.layer, valid));
    }
    places[count] = cursor.position();
    sizes[count] = cursor.integer("shape", valid);
    ++count;
  } while (cursor.accept(separator) && (closed || !(closed = cursor.accept(close))));
  if (!closed) cursor.expect(close, fmt::format("',' or '{}'", close));
  if (count < needed) {
    if (separator == 'x' && !cursor.at_end()) cursor.unexpected(fmt::format("'x' in {}", valid));
    cursor.fail_at(
        start, fmt::format("the shape has only {} of {} sizes; valid for {}: {}", count, needed, draft.layer, valid));
  }
  if (sizes[1] != problem.in_channels) {
    cursor.fail_at(places[1],
                   fmt::format("the shape has C = {}; valid: in_channels = {}", sizes[1], problem.in_channels));
  }
  problem.batch = sizes[0];
  draft.places[Field::batch].fill(places[0]);
  draft.places[Field::input].fill(start);
  for (int axis = 0; axis < problem.rank; ++axis) {
    problem.input[axis] = sizes[axis + 2];
    draft.places[Field::input][axis] = places[axis + 2];
  }
}

}  // namespace tapconv
