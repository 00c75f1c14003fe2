#include <fmt/format.h>

#include <array>

#include "problem/excerpt.hpp"
#include "problem/text.hpp"
#include "spelling/index_expression.hpp"
#include "tapconv/calculators.hpp"

namespace tapconv {
namespace {

constexpr std::int64_t warp_threads = 32, most_threads = 1024;

struct ElementType {
  std::string_view name;
  int bytes;
};
constexpr std::array element_types{ElementType{"byte", 1}, ElementType{"half", 2}, ElementType{"float", 4},
                                   ElementType{"double", 8}};

/// What a lane accesses.
struct Vector {
  int element_bytes = 0, elements = 0;
};

Vector take_type(Cursor& cursor) {
  const std::size_t position = cursor.position();
  const std::string_view word = cursor.identifier();
  for (const auto& [name, bytes] : element_types) {
    if (!word.starts_with(name)) continue;
    const std::string_view count = word.substr(name.size());
    if (count.empty()) return {bytes, 1};
    for (int elements = 2; elements * bytes <= 16; elements *= 2) {
      if (count == fmt::format("{}", elements)) return {bytes, elements};
    }
  }
  cursor.fail_at(position,
                 fmt::format("access of type '{}'; valid: byte, half, float, double, or one with a 2, 4, 8 or "
                             "16 of at most 16 bytes together, like float4",
                             excerpt(word)));
}

std::vector<IndexExpression> take_indices(Cursor& cursor) {
  std::vector<IndexExpression> indices;
  do {
    if (indices.size() == warp_threads)
      cursor.fail_at(cursor.position(),
                     fmt::format("a warp has {} lanes; valid: at most so many indices", warp_threads));
    indices.emplace_back(cursor);
  } while (cursor.accept(','));
  if (!cursor.at_end()) cursor.unexpected("an operator, ',' or the end");
  return indices;
}

std::int64_t address(const Cursor& cursor, const Vector& type, const IndexExpression& index, std::int64_t thread) {
  const std::int64_t value = index.value(cursor, thread);
  std::int64_t address = 0;
  if (value < 0 || value % type.elements != 0 || __builtin_mul_overflow(value, type.element_bytes, &address))
    cursor.fail_at(index.position(),
                   fmt::format("the index of thread {} is {}; valid: {} from 0 on, in 64 bits of bytes", thread, value,
                               type.elements == 1 ? "whole numbers" : fmt::format("multiples of {}", type.elements)));
  return address;
}

}  // namespace

std::vector<WarpAccess> parse_access(std::string_view text, std::int64_t threads) {
  if (threads < 1 || threads > most_threads)
    fail(ErrorCode::usage, "threads = {} of a block; valid: 1 to {}", threads, most_threads);
  Cursor cursor(text);
  const Vector type = take_type(cursor);
  const std::size_t position = cursor.position();
  if (cursor.identifier() != "at")
    cursor.fail_at(position, "an access has no index; valid: at, then an index, like float4 at 4*lane");
  const std::vector<IndexExpression> indices = take_indices(cursor);
  std::vector<WarpAccess> accesses;
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    const auto lane = static_cast<std::size_t>(thread % warp_threads);
    if (lane == 0) accesses.push_back({.bytes = type.element_bytes * type.elements, .addresses = {}});
    if (indices.size() > 1 && lane >= indices.size()) continue;
    accesses.back().addresses.push_back(address(cursor, type, indices[indices.size() > 1 ? lane : 0], thread));
  }
  return accesses;
}

}  // namespace tapconv
