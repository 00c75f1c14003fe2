#include "spelling/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "problem/excerpt.hpp"

namespace tapconv {
namespace {

/// Why a keyword that a person may expect is not an argument.
std::string_view elsewhere(std::string_view keyword) {
  if (keyword == "device") return ": where to compute is said by --device, not by the problem";
  if (keyword == "dynamic") return ": dynamic sizes are marked in the shape, as in 8?x64x512x256";
  return {};
}

class ArgumentReader {
 public:
  ArgumentReader(Cursor& cursor, Draft& draft, const Signature& signature)
      : cursor_(cursor), draft_(draft), signature_(signature) {}

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
    const auto required = signature_.fields.first(signature_.required);
    for (const Field field : required) {
      if (draft_.has(field)) continue;
      cursor_.fail_at(close, fmt::format("{} is missing; valid: {}({}, ...)", name(field), draft_.layer,
                                         fmt::join(names(required), ", ")));
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
    if (draft_.has(field)) cursor_.fail_at(start, fmt::format("{} is given twice; valid: once", name(field)));
    draft_.places[field].fill(cursor_.position());
    read_value(cursor_, draft_, field);
  }

  Field find_keyword(std::string_view keyword, std::size_t start) {
    keyword_seen_ = true;
    const std::string_view wanted = keyword == "memory_format" ? name(Field::layout) : keyword;
    const auto found = std::ranges::find(signature_.fields, wanted, [](Field field) { return name(field); });
    if (found != signature_.fields.end()) return *found;
    const std::vector<std::string_view> valid = names(signature_.fields);
    const std::string_view reason = elsewhere(keyword);
    cursor_.fail_at(
        start, fmt::format("{} is not an argument of {}{}; valid: {}", excerpt(keyword), draft_.layer,
                           reason.empty() ? suggestion(keyword, valid) : std::string(reason), fmt::join(valid, ", ")));
  }

  Field next_positional() {
    if (keyword_seen_ || positional_read_ == signature_.positional) {
      const std::string_view why = keyword_seen_                ? "a value without a keyword follows one with a keyword"
                                   : signature_.positional == 0 ? "a value without a keyword follows a problem's name"
                                                                : "too many values without a keyword";
      cursor_.fail_at(cursor_.position(),
                      fmt::format("{}; valid: keyword=value for {}", why, fmt::join(names(signature_.fields), ", ")));
    }
    return signature_.fields[positional_read_++];
  }

  Cursor& cursor_;
  Draft& draft_;
  const Signature& signature_;
  std::size_t positional_read_ = 0;
  bool keyword_seen_ = false;
};

}  // namespace

void read_arguments(Cursor& cursor, Draft& draft, const Signature& signature) {
  ArgumentReader(cursor, draft, signature).read();
}

void read_shape(Cursor& cursor, Draft& draft) {
  Problem& problem = draft.problem;
  const std::size_t needed = problem.rank + 2;
  const std::string valid = std::string("NxCxDxHxW").erase(4, 2 * (max_rank - problem.rank));
  const std::size_t start = cursor.position();
  const bool parentheses = cursor.accept('(');
  const bool brackets = !parentheses && cursor.accept('[');
  const char separator = parentheses || brackets ? ',' : 'x';
  const char close = parentheses ? ')' : ']';

  struct Size {
    std::int64_t value = 0;
    bool dynamic = false;
    std::size_t place = 0;
  };
  std::array<Size, max_rank + 2> sizes{};
  std::size_t count = 0;
  bool closed = separator == 'x';
  do {
    if (count == needed) {
      cursor.fail_at(start,
                     fmt::format("the shape has more than {} sizes; valid for {}: {}", needed, draft.layer, valid));
    }
    Size& size = sizes[count++];
    size.place = cursor.position();
    if (Cursor ahead = cursor; ahead.accept('?'))
      cursor.fail_at(size.place, "the shape has a dynamic size without a number; valid: a likely one before it, 64?");
    size.value = cursor.integer("shape", valid);
    size.dynamic = cursor.accept('?');
  } while (cursor.accept(separator) && (closed || !(closed = cursor.accept(close))));
  if (!closed) cursor.expect(close, fmt::format("',' or '{}'", close));
  if (count < needed) {
    if (separator == 'x' && !cursor.at_end()) cursor.unexpected(fmt::format("'x' in {}", valid));
    cursor.fail_at(
        start, fmt::format("the shape has only {} of {} sizes; valid for {}: {}", count, needed, draft.layer, valid));
  }
  const Size& channels = sizes[1];
  if (channels.value != problem.in_channels || channels.dynamic) {
    cursor.fail_at(channels.place, fmt::format("the shape has C = {}{}; valid: in_channels = {}", channels.value,
                                               channels.dynamic ? "?" : "", problem.in_channels));
  }
  problem.batch = sizes[0].value;
  problem.dynamic_batch = sizes[0].dynamic;
  draft.places[Field::batch].fill(sizes[0].place);
  draft.places[Field::input].fill(start);
  for (int axis = 0; axis < problem.rank; ++axis) {
    problem.input[axis] = sizes[axis + 2].value;
    problem.dynamic_input[axis] = sizes[axis + 2].dynamic;
    draft.places[Field::input][axis] = sizes[axis + 2].place;
  }
}

}  // namespace tapconv
