#include "cuda/cubin_entry.hpp"

#include <algorithm>
#include <cstdint>

#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

constexpr std::string_view magic = "tapcubin";
constexpr std::size_t digest_bytes = sizeof(Digest);
constexpr std::size_t header_bytes = magic.size() + digest_bytes + 3 * sizeof(std::uint64_t);
/// No cubin comes near it; a file that does is not read into memory.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

/// Sizes of an entry's three parts.
struct Sizes {
  std::uint64_t name = 0, log = 0, image = 0;
};

[[noreturn]] void refuse(std::string_view why) { fail(ErrorCode::environment, "{}", why); }

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append_number(std::vector<std::byte>& bytes, std::uint64_t value) {
  for (unsigned i = 0; i < sizeof value; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

template <class Container>
Container taken(std::span<const std::byte>& bytes, std::uint64_t size) {
  const auto* const first = reinterpret_cast<const char*>(bytes.data());
  bytes = bytes.subspan(static_cast<std::size_t>(size));
  return Container(first, first + size);
}

/// Checks an entry's beginning against its key and the size of the whole.
Sizes checked_sizes(std::span<const std::byte> bytes, std::uint64_t file_bytes, const Digest& key) {
  if (bytes.size() < header_bytes || file_bytes < header_bytes + digest_bytes) refuse("it is cut off");
  if (!std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)))) refuse("it is no cubin entry");
  if (!std::ranges::equal(bytes.subspan(magic.size(), digest_bytes), std::as_bytes(std::span(key))))
    refuse("it belongs to another key");
  const auto number = [&](std::size_t index) {
    return io::little_endian(
        bytes.subspan(magic.size() + digest_bytes + index * sizeof(std::uint64_t), sizeof(std::uint64_t)));
  };
  const Sizes sizes{.name = number(0), .log = number(1), .image = number(2)};
  const std::uint64_t room = file_bytes - header_bytes - digest_bytes;
  if (sizes.name > room || sizes.log > room - sizes.name || sizes.image != room - sizes.name - sizes.log)
    refuse("its sizes do not fit");
  return sizes;
}

/// Calls `read` and puts the file's name before what it finds wrong.
template <class Read>
auto of_file(const io::InputFile& file, const Read& read) {
  if (file.bytes() > most_bytes) fail(ErrorCode::environment, "{}: it is too large", file.path().string());
  try {
    return read();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", file.path().string(), error.what());
  }
}

}  // namespace

std::vector<std::byte> encode(const Digest& key, const CubinEntry& entry) {
  std::vector<std::byte> bytes;
  bytes.reserve(header_bytes + entry.entry.size() + entry.log.size() + entry.image.size() + digest_bytes);
  append(bytes, std::as_bytes(std::span(magic)));
  append(bytes, std::as_bytes(std::span(key)));
  append_number(bytes, entry.entry.size());
  append_number(bytes, entry.log.size());
  append_number(bytes, entry.image.size());
  append(bytes, std::as_bytes(std::span(entry.entry)));
  append(bytes, std::as_bytes(std::span(entry.log)));
  append(bytes, std::as_bytes(std::span(entry.image)));
  const Digest checksum = sha256(bytes);
  append(bytes, std::as_bytes(std::span(checksum)));
  return bytes;
}

CubinEntry decode(std::span<const std::byte> bytes, const Digest& key) {
  const Sizes sizes = checked_sizes(bytes, bytes.size(), key);
  const Digest checksum = sha256(bytes.first(bytes.size() - digest_bytes));
  if (!std::ranges::equal(bytes.last(digest_bytes), std::as_bytes(std::span(checksum))))
    refuse("its checksum is wrong");
  std::span<const std::byte> rest = bytes.subspan(header_bytes);
  CubinEntry entry;
  entry.entry = taken<std::string>(rest, sizes.name);
  entry.log = taken<std::string>(rest, sizes.log);
  entry.image = taken<std::vector<char>>(rest, sizes.image);
  return entry;
}

CubinEntry read_entry(const io::InputFile& file, const Digest& key) {
  return of_file(file, [&] {
    std::vector<std::byte> bytes(static_cast<std::size_t>(file.bytes()));
    file.read(0, bytes);
    return decode(bytes, key);
  });
}

std::string read_entry_name(const io::InputFile& file, const Digest& key) {
  return of_file(file, [&] {
    std::vector<std::byte> header(static_cast<std::size_t>(std::min<std::uint64_t>(file.bytes(), header_bytes)));
    file.read(0, header);
    std::string name(static_cast<std::size_t>(checked_sizes(header, file.bytes(), key).name), '\0');
    file.read(header_bytes, std::as_writable_bytes(std::span(name)));
    return name;
  });
}

}  // namespace tapconv::cuda
