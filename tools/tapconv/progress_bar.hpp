#pragma once

#include <chrono>
#include <string_view>

#include "tapconv/workbench.hpp"

namespace tapconv::cli {

/// A bar on the terminal's error stream, shown from the first second on and wiped at the end. Silent where that stream
/// is no terminal.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Hand this to long operations; it refers to the bar.
  [[nodiscard]] Progress callback();

 private:
  void show(double fraction, std::string_view doing);

  bool terminal_, visible_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace tapconv::cli
