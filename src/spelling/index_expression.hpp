#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spelling/cursor.hpp"

namespace tapconv {

/// A whole number computed from a thread's place in its block: integers, `thread`, `warp` (thread/32), `lane`
/// (thread%32), parentheses, unary minus, and * / % + - << >> & ^ with C's precedence and meaning, in 64 bits.
class IndexExpression {
 public:
  /// Takes an expression from `cursor`, up to what cannot continue it. Throws SpellingError.
  explicit IndexExpression(Cursor& cursor);

  /// Where it starts in the cursor's text.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

  /// Its value for one thread. Throws SpellingError pointing into the cursor's text if it overflows, divides by zero or
  /// shifts by what is not from 0 to 62.
  [[nodiscard]] std::int64_t value(const Cursor& cursor, std::int64_t thread) const;

 private:
  enum class Operation { number, thread, warp, lane, negate, binary };
  /// In postfix order.
  struct Step {
    Operation operation;
    std::int64_t number = 0;   ///< of a number
    char symbol = 0;           ///< of a binary operation; '<' and '>' are shifts
    std::size_t position = 0;  ///< in the text
  };

  void take_binary(Cursor& cursor, std::size_t level, int depth);
  void take_unary(Cursor& cursor, int depth);
  void take_primary(Cursor& cursor, int depth);

  std::size_t position_;
  std::vector<Step> steps_;
};

}  // namespace tapconv
