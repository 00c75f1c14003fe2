#include "io/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "problem/text.hpp"

namespace tapconv::io {
namespace {

namespace fs = std::filesystem;

/// Linux moves at most 2 GiB - 4 KiB a call; this is a round number below.
constexpr std::size_t largest_transfer = std::size_t{1} << 30;

[[noreturn]] void fail_with_errno(std::string_view action, const fs::path& path) {
  const int error = errno;
  fail(ErrorCode::environment, "cannot {} {}: {}", action, path.string(), std::generic_category().message(error));
}

int open_for_reading(const fs::path& path) {
  // O_NONBLOCK keeps a named pipe from blocking before it is refused; regular files ignore it.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_with_errno("open", path);
  return descriptor;
}

/// The regular file that writing to `path` replaces: a link's target, or `path` itself.
fs::path replaced_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (fs::is_symlink(fs::symlink_status(path, error)))
      fail(ErrorCode::environment, "cannot write {}: it is a link that leads nowhere", path.string());
    return path;
  }
  if (!fs::is_regular_file(status)) {
    fail(ErrorCode::environment, "cannot write {}: it exists and is not a regular file", path.string());
  }
  const fs::path target = fs::canonical(path, error);
  if (error) fail(ErrorCode::environment, "cannot write {}: {}", path.string(), error.message());
  return target;
}

fs::path temporary_beside(const fs::path& target) {
  std::random_device random;
  return target.parent_path() / fmt::format("{}{:08x}{:08x}", temporary_prefix, random(), random());
}

int create_exclusively(const fs::path& path, const fs::path& target) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int error = errno;
    fail(ErrorCode::environment, "cannot write {}: no temporary file can be made in its folder: {}", target.string(),
         std::generic_category().message(error));
  }
  return descriptor;
}

}  // namespace

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

bool Descriptor::close() noexcept { return ::close(std::exchange(value_, -1)) == 0; }

InputFile::InputFile(const fs::path& path) : path_(path), descriptor_(open_for_reading(path)) {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) fail_with_errno("inspect", path);
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::environment, "cannot read {}: it is not a regular file", path.string());
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const std::size_t wanted = std::min(target.size(), largest_transfer);
    const ssize_t got = ::pread(descriptor_.get(), target.data(), wanted, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno("read", path_);
    if (got == 0) {
      fail(ErrorCode::environment, "cannot read {}: it shrank from {} to {} bytes while being read", path_.string(),
           bytes_, offset);
    }
    offset += static_cast<std::uint64_t>(got);
    target = target.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

MappedFile::MappedFile(const InputFile& file) {
  void* const start = ::mmap(nullptr, file.bytes(), PROT_READ, MAP_PRIVATE, file.descriptor().get(), 0);
  if (start == MAP_FAILED) fail_with_errno("map into memory", file.path());
  bytes_ = {static_cast<std::byte*>(start), file.bytes()};
}

MappedFile::~MappedFile() { ::munmap(bytes_.data(), bytes_.size()); }

AtomicFile::AtomicFile(const fs::path& path)
    : target_(replaced_file(path)),
      temporary_(temporary_beside(target_)),
      descriptor_(create_exclusively(temporary_, target_)) {}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = ::write(descriptor_.get(), data.data(), std::min(data.size(), largest_transfer));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_errno("write", target_);
    data = data.subspan(static_cast<std::size_t>(put));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_.get()) != 0) fail_with_errno("flush", target_);
  if (!descriptor_.close()) fail_with_errno("close", target_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with_errno("replace", target_);
  committed_ = true;
}

}  // namespace tapconv::io
