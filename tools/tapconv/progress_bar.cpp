#include "progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace tapconv::cli {

using namespace std::chrono_literals;

ProgressBar::ProgressBar() {
  if (isatty(STDERR_FILENO) == 1) drawer_ = std::jthread([this] { draw_until_done(); });
}

ProgressBar::~ProgressBar() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
}

Progress ProgressBar::callback() {
  return [this](double fraction, std::string_view doing) {
    const std::lock_guard lock(mutex_);
    fraction_ = std::clamp(fraction, 0.0, 1.0);
    doing_ = doing;
  };
}

void ProgressBar::draw_until_done() {
  constexpr int width = 30;
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, 1s, [this] { return done_; })) return;
  do {
    const auto full = static_cast<std::size_t>(fraction_ * width);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print(stderr, "\r\x1b[K[{}{}] {:.0f} s, {}", std::string(full, '#'), std::string(width - full, '.'),
               seconds.count(), doing_);
    std::fflush(stderr);
  } while (!wake_.wait_for(lock, 100ms, [this] { return done_; }));
  fmt::print(stderr, "\r\x1b[K");
}

}  // namespace tapconv::cli
