#include "cuda/compile_log.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

/// The first number right before `unit`, as in "Used 40 registers": other lines may speak of registers too.
std::optional<int> number_before(std::string_view text, std::string_view unit) {
  for (std::size_t end = text.find(unit); end != std::string_view::npos; end = text.find(unit, end + 1)) {
    std::size_t begin = end;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    int number = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, number);
    if (begin < end && error == std::errc{} && stop == text.data() + end) return number;
  }
  return std::nullopt;
}

}  // namespace

KernelFacts facts_of_log(std::string_view log, int max_threads_per_block, int registers_per_block) {
  const std::optional<int> registers = number_before(log, " registers"),
                           stack = number_before(log, " bytes stack frame");
  if (!registers || !stack)
    fail(ErrorCode::compile, "the compiler's output does not say how many registers and bytes of stack are used:\n{}",
         log);
  // Registers are given to warps of 32 threads, 8 a thread at a time.
  const int of_a_warp = 32 * std::max(8, (*registers + 7) / 8 * 8);
  return {.registers = *registers,
          .local_bytes = *stack,
          .static_shared_bytes = number_before(log, " bytes smem").value_or(0),
          .max_threads_per_block = std::min(max_threads_per_block, 32 * (registers_per_block / of_a_warp))};
}

}  // namespace tapconv::cuda
