#include "cuda/cubin_folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

[[noreturn]] void fail_with_errno(const char* action, const std::filesystem::path& path) {
  const int error = errno;
  fail(ErrorCode::environment, "cannot {} {}: {}", action, path.string(), std::generic_category().message(error));
}

int open_lock(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor < 0) fail_with_errno("open", path);
  return descriptor;
}

}  // namespace

CubinFolderLock::CubinFolderLock(const std::filesystem::path& folder)
    : path_(folder / "lock"), descriptor_(open_lock(path_)) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + 5s;
  // Tried again and again, since a holder that was stopped would stop whoever waits for it without an end.
  while (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() > end)
      fail_with_errno("lock", path_);
    std::this_thread::sleep_for(1ms);
  }
}

std::optional<std::uint64_t> CubinFolderLock::total_bytes() const {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(descriptor_.get(), text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + size, value);
  // The newline says that the number is whole.
  if (error != std::errc{} || end != text.data() + size - 1 || *end != '\n') return std::nullopt;
  return value;
}

void CubinFolderLock::set_total_bytes(std::uint64_t bytes) const {
  const std::string text = fmt::format("{}\n", bytes);
  if (::ftruncate(descriptor_.get(), 0) != 0 || ::pwrite(descriptor_.get(), text.data(), text.size(), 0) < 0)
    fail_with_errno("write", path_);
}

}  // namespace tapconv::cuda
