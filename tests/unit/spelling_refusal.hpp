#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// Why parse_problem() refuses `text`, or "valid".
inline std::string refusal(std::string_view text) {
  try {
    (void)parse_problem(text);
  } catch (const SpellingError& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_LE(error.position(), text.size());
    return error.what();
  }
  return "valid";
}

}  // namespace tapconv::testing
