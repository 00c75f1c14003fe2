#include "progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace tapconv::cli {

using namespace std::chrono_literals;

ProgressBar::ProgressBar()
    : terminal_(isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()), last_(start_) {}

ProgressBar::~ProgressBar() {
  if (visible_) fmt::print(stderr, "\r\x1b[K");
}

Progress ProgressBar::callback() {
  return [this](double fraction, std::string_view doing) { show(fraction, doing); };
}

void ProgressBar::show(double fraction, std::string_view doing) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - start_ < 1s || now - last_ < 100ms) return;
  constexpr int width = 30;
  const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * width);
  fmt::print(stderr, "\r\x1b[K[{}{}] {:3.0f} % {}", std::string(static_cast<std::size_t>(full), '#'),
             std::string(static_cast<std::size_t>(width - full), '.'), 100 * fraction, doing);
  std::fflush(stderr);
  visible_ = true;
  last_ = now;
}

}  // namespace tapconv::cli
