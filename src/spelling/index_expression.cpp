#include "spelling/index_expression.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace tapconv {
namespace {

/// Operators by precedence, the loosest first.
constexpr std::array<std::string_view, 5> levels{"^", "&", "<>", "+-", "*/%"};

constexpr int most_nested = 100;
constexpr std::string_view operand = "a number, thread, warp, lane, '-' or '('";

/// Takes one of `symbols`, or returns 0. Shifts are written twice without a blank.
char accept_operator(Cursor& cursor, std::string_view symbols) {
  for (const char symbol : symbols) {
    const std::size_t start = cursor.position();
    if (!cursor.accept(symbol)) continue;
    if (symbol != '<' && symbol != '>') return symbol;
    if (cursor.position() != start + 1 || !cursor.accept(symbol))
      cursor.fail_at(start, fmt::format("'{}' is no operator here; valid: {}{}", symbol, symbol, symbol));
    return symbol;
  }
  return 0;
}

std::int64_t computed(const Cursor& cursor, std::size_t position, char symbol, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (symbol) {
    case '+':
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case '/':
    case '%':
      if (b == 0) cursor.fail_at(position, fmt::format("{} {} 0; valid: a divisor that is not 0", a, symbol));
      overflows = a == std::numeric_limits<std::int64_t>::min() && b == -1;
      if (!overflows) result = symbol == '/' ? a / b : a % b;
      break;
    case '<':
    case '>':
      if (b < 0 || b > 62)
        cursor.fail_at(position, fmt::format("{} {}{} {}; valid: shifts by 0 to 62", a, symbol, symbol, b));
      if (symbol == '>')
        result = a >> b;
      else
        overflows = __builtin_mul_overflow(a, std::int64_t{1} << b, &result);
      break;
    case '&':
      result = a & b;
      break;
    default:
      result = a ^ b;
  }
  if (overflows)
    cursor.fail_at(position, fmt::format("{} {}{} {} overflows; valid: values of 64 bits", a, symbol,
                                         symbol == '<' ? "<" : "", b));
  return result;
}

}  // namespace

IndexExpression::IndexExpression(Cursor& cursor) : position_(cursor.position()) { take_binary(cursor, 0, 0); }

void IndexExpression::take_binary(Cursor& cursor, std::size_t level, int depth) {
  if (level == levels.size()) return take_unary(cursor, depth);
  take_binary(cursor, level + 1, depth);
  while (true) {
    const std::size_t position = cursor.position();
    const char symbol = accept_operator(cursor, levels[level]);
    if (symbol == 0) return;
    take_binary(cursor, level + 1, depth);
    steps_.push_back({.operation = Operation::binary, .symbol = symbol, .position = position});
  }
}

void IndexExpression::take_unary(Cursor& cursor, int depth) {
  const std::size_t position = cursor.position();
  if (depth > most_nested)
    cursor.fail_at(position,
                   fmt::format("nested too deep; valid: at most {} '(' and '-' within each other", most_nested));
  if (!cursor.accept('-')) return take_primary(cursor, depth);
  take_unary(cursor, depth + 1);
  steps_.push_back({.operation = Operation::negate, .position = position});
}

void IndexExpression::take_primary(Cursor& cursor, int depth) {
  const std::size_t position = cursor.position();
  if (cursor.accept('(')) {
    take_binary(cursor, 0, depth + 1);
    return cursor.expect(')', "')' or an operator");
  }
  Step step{.operation = Operation::number, .position = position};
  if (const std::string_view variable = cursor.identifier(); variable.empty())
    step.number = cursor.integer("index", operand);
  else if (variable == "thread")
    step.operation = Operation::thread;
  else if (variable == "warp")
    step.operation = Operation::warp;
  else if (variable == "lane")
    step.operation = Operation::lane;
  else
    cursor.fail_at(position, fmt::format("'{}' is no variable; valid: thread, warp, lane", variable));
  steps_.push_back(step);
}

std::int64_t IndexExpression::value(const Cursor& cursor, std::int64_t thread) const {
  std::vector<std::int64_t> stack;
  for (const Step& step : steps_) {
    switch (step.operation) {
      case Operation::number:
        stack.push_back(step.number);
        break;
      case Operation::thread:
        stack.push_back(thread);
        break;
      case Operation::warp:
        stack.push_back(thread / 32);
        break;
      case Operation::lane:
        stack.push_back(thread % 32);
        break;
      case Operation::negate:
        stack.back() = computed(cursor, step.position, '-', 0, stack.back());
        break;
      case Operation::binary: {
        const std::int64_t right = stack.back();
        stack.pop_back();
        stack.back() = computed(cursor, step.position, step.symbol, stack.back(), right);
        break;
      }
    }
  }
  return stack.back();
}

}  // namespace tapconv
