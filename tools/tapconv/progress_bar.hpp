#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "tapconv/engine.hpp"

namespace tapconv::cli {

/// A bar on the terminal's error stream, shown from the first second on, with the seconds that have passed, and wiped
/// at the end. Drawn by a thread of its own, so that it moves while one long step is running. Silent where that stream
/// is no terminal.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Hand this to a long operation; it refers to the bar.
  [[nodiscard]] Progress callback();

 private:
  void draw_until_done();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  double fraction_ = 0;
  std::string doing_;
  std::jthread drawer_;  // last: it uses the others
};

}  // namespace tapconv::cli
