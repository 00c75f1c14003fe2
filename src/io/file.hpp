#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace tapconv::io {

/// Owns a POSIX file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value) noexcept : value_(value) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const noexcept { return value_; }

  /// Closes early; false, with errno set, if the system reports that data was lost.
  [[nodiscard]] bool close() noexcept;

 private:
  int value_;
};

/// A regular file that is read by position.
class InputFile {
 public:
  /// Throws Error{environment} with the path and the reason; anything but a regular file is refused.
  explicit InputFile(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  [[nodiscard]] const Descriptor& descriptor() const noexcept { return descriptor_; }

  /// Size when the file was opened.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Fills `target` with the bytes from `offset` on. Throws Error{environment} if they cannot be read or if the file
  /// has become shorter.
  void read(std::uint64_t offset, std::span<std::byte> target) const;

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  std::uint64_t bytes_ = 0;
};

/// The number that these bytes, at most 8, hold, the least significant first.
[[nodiscard]] std::uint64_t little_endian(std::span<const std::byte> bytes);

/// A whole file in memory, read-only; its pages are loaded when they are touched. It outlives the InputFile.
class MappedFile {
 public:
  /// `file` is not empty. Throws Error{environment}.
  explicit MappedFile(const InputFile& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// What the names of AtomicFile's temporary files begin with.
inline constexpr std::string_view temporary_prefix = ".tapconv-";

/// A file that appears under its name only when it is whole: written under a temporary name in the same folder, flushed
/// to the disk, renamed. Without commit() the temporary is removed and the old file stays.
class AtomicFile {
 public:
  /// Throws Error{environment}. A symbolic link is followed; a target that exists must be a regular file.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends. Throws Error{environment}.
  void write(std::span<const std::byte> data);

  /// Publishes what was written; nothing may be written after it. Throws Error{environment}.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  Descriptor descriptor_;
  bool committed_ = false;
};

}  // namespace tapconv::io
