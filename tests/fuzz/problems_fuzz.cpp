#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "spelling/benchdnn.hpp"
#include "spelling/files.hpp"
#include "spelling/miopen.hpp"
#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// A problem that was read is valid, and each translation back into its own language describes the same work.
void check(const tapconv::Problem& problem) {
  tapconv::validate(problem);
  require(tapconv::pytorch_call(problem).text.has_value());
  if (const auto text = tapconv::miopen_command(problem).text) require(tapconv::parse_miopen(*text) == problem);
  if (const auto text = tapconv::benchdnn_descriptor(problem).text) {
    tapconv::Problem read = tapconv::parse_benchdnn(*text);
    require(tapconv::output_extent(read) == tapconv::output_extent(problem));
    // The end padding may be written in another way.
    read.padding_hi = problem.padding_hi;
    read.output_padding = problem.output_padding;
    require(read == problem);
  }
}

/// Calls `read`, which either succeeds or throws one of the errors that a text may cause.
void attempt(auto&& read) {
  try {
    read();
  } catch (const tapconv::Error& error) {
    require(error.code() == tapconv::ErrorCode::usage || error.code() == tapconv::ErrorCode::environment);
  }
}

}  // namespace

/// Any text is refused with an Error, or is valid problems: as benchdnn's arguments, as MIOpenDriver's, as a file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] { check(tapconv::parse_benchdnn(text)); });
  attempt([&] { check(tapconv::parse_miopen(text)); });
  // Includes are looked for in a folder that is not there.
  attempt([&] {
    for (const tapconv::NamedProblem& named : tapconv::parse_problem_file(text, "/no/such/folder/file"))
      check(named.problem);
  });
  return 0;
}
