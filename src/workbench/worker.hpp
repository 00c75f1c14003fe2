#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tapconv {

/// A child process that answers lines: each line written to its standard input is answered by one on its standard
/// output. It leads a process group of its own, which ends with this object.
class Worker {
 public:
  /// `command` is a program, looked up in PATH, and its arguments. Throws Error{environment} if it cannot be started.
  explicit Worker(std::vector<std::string> command);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The answer to `line` (neither has a newline in it or at its end). Throws Error{environment} if the child ends,
  /// says too much, or has not answered after `timeout_s` seconds; with what it wrote last on standard error. It is of
  /// no use from then on.
  [[nodiscard]] std::string ask(const std::string& line, double timeout_s);

 private:
  /// What the child wrote last on standard error, as a part of a sentence; empty if nothing.
  [[nodiscard]] std::string last_words() const;
  void keep_errors();
  [[noreturn]] void fail_ended();

  std::string program_;
  pid_t pid_ = -1;
  int channel_ = -1, errors_ = -1;
  std::string received_, complaint_;
};

}  // namespace tapconv
