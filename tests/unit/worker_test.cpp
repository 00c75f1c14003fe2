#include "workbench/worker.hpp"

#include <gtest/gtest.h>

#include "tapconv/error.hpp"

namespace tapconv {
namespace {

std::string error_of(Worker& worker, const std::string& line, double timeout_s) {
  try {
    static_cast<void>(worker.ask(line, timeout_s));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(WorkerTest, AnswersEveryLine) {
  Worker worker({"cat"});
  EXPECT_EQ(worker.ask("one", 60), "one");
  EXPECT_EQ(worker.ask("", 60), "");
  // More than sockets hold: both sides must go on reading while they write.
  const std::string large(8 << 20, 'x');
  EXPECT_EQ(worker.ask(large, 60), large);
}

TEST(WorkerTest, ArgumentsAreNotSplit) {
  Worker worker({"sh", "-c", "read line; echo \"$line $1\"", "sh", "two words"});
  EXPECT_EQ(worker.ask("one", 60), "one two words");
}

TEST(WorkerTest, SaysHowItEnded) {
  Worker exits({"sh", "-c", "echo first >&2; echo 'no torch' >&2; exit 7"});
  EXPECT_EQ(error_of(exits, "one", 60), "sh ended with exit code 7; its last words: no torch");
  EXPECT_EQ(error_of(exits, "two", 60), "sh has ended");
  Worker killed({"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(error_of(killed, "one", 60), "sh ended with signal 9");
  // A request that nobody reads does not end this process.
  Worker deaf({"sh", "-c", "exec 0<&- 1<&-; sleep 60"});
  EXPECT_EQ(error_of(deaf, std::string(8 << 20, 'x'), 60), "sh ended with signal 9");
}

TEST(WorkerTest, SilenceHasALimit) {
  Worker silent({"sleep", "60"});
  EXPECT_EQ(error_of(silent, "one", 0.1), "sleep has not answered after 0.1 s");
  Worker half({"sh", "-c", "printf half; exec 2>&-; sleep 60"});
  EXPECT_EQ(error_of(half, "one", 0.3), "sh has not answered after 0.3 s");
}

TEST(WorkerTest, AMissingProgramIsRefused) {
  try {
    Worker missing({"/nonexistent/python"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::environment);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/python"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tapconv
