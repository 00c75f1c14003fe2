#include "problem/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace tapconv {
namespace {

TEST(Log, LevelsAreReadByTheirExactNames) {
  EXPECT_EQ(LogLevel::off, parse_log_level("off"));
  EXPECT_EQ(LogLevel::error, parse_log_level("error"));
  EXPECT_EQ(LogLevel::warning, parse_log_level("warning"));
  EXPECT_EQ(LogLevel::info, parse_log_level("info"));
  EXPECT_EQ(LogLevel::debug, parse_log_level("debug"));
  for (const char* text : {"", "Debug", "debug ", "warn", "2"}) EXPECT_EQ(std::nullopt, parse_log_level(text)) << text;
}

TEST(Log, AMessageIsOneLine) {
  EXPECT_EQ("tapconv: warning: a b\n", log_line(LogLevel::warning, "a\nb"));
  EXPECT_EQ("tapconv: debug: \n", log_line(LogLevel::debug, ""));
}

/// In a process of its own, since the environment is read once: one message of each level.
[[noreturn]] void tell_everything(const char* level) {
  if (level)
    ::setenv("TAPCONV_LOG", level, 1);
  else
    ::unsetenv("TAPCONV_LOG");
  for (const LogLevel each : {LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug})
    log(each, "message {}", static_cast<int>(each));
  std::exit(0);
}

class LogProcess : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  static void expect(const char* level, const char* whole) {
    EXPECT_EXIT(tell_everything(level), ::testing::ExitedWithCode(0), whole);
  }
};

TEST_F(LogProcess, ErrorsAndWarningsAreTheDefault) {
  expect(nullptr, "^tapconv: error: message 1\ntapconv: warning: message 2\n$");
}

TEST_F(LogProcess, EachLevelIncludesThoseBeforeIt) {
  expect("off", "^$");
  expect("error", "^tapconv: error: message 1\n$");
  expect("debug",
         "^tapconv: error: message 1\ntapconv: warning: message 2\ntapconv: info: message 3\ntapconv: debug: message "
         "4\n$");
}

TEST_F(LogProcess, AnUnknownLevelIsToldOfOnce) {
  expect("loud",
         "^tapconv: warning: TAPCONV_LOG = loud; valid: off, error, warning, info, debug; taken as warning\n"
         "tapconv: error: message 1\ntapconv: warning: message 2\n$");
}

}  // namespace
}  // namespace tapconv
