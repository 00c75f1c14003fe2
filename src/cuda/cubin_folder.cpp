#include "cuda/cubin_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>

#include "cuda/cubin_folder_lock.hpp"
#include "cuda/cubin_key.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view architecture_prefix = "sm_";
constexpr std::string_view suffix = ".cubin";

std::optional<std::uint8_t> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
  return std::nullopt;
}

/// The key in an entry's file name.
std::optional<Digest> key_of(const std::string& name) {
  Digest key;
  if (name.size() != 2 * key.size() + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto high = hex_digit(name[2 * i]), low = hex_digit(name[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    key[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return key;
}

/// Calls visit(file, architecture) on what lies in the folders of all architectures. What vanishes meanwhile is passed
/// over.
template <class Visit>
void walk(const fs::path& version_folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator outer(version_folder, error), end; !error && outer != end; outer.increment(error)) {
    const std::string name = outer->path().filename().string();
    if (!name.starts_with(architecture_prefix)) continue;
    std::error_code inner_error;
    for (fs::directory_iterator inner(outer->path(), inner_error); !inner_error && inner != end;
         inner.increment(inner_error))
      visit(*inner, name.substr(architecture_prefix.size()));
  }
}

std::vector<StoredCubin> entries_in(const fs::path& version_folder) {
  std::vector<StoredCubin> found;
  walk(version_folder, [&](const fs::directory_entry& file, const std::string& architecture) {
    const std::optional<Digest> key = key_of(file.path().filename().string());
    std::error_code gone;
    if (!key || !file.is_regular_file(gone)) return;
    StoredCubin stored{.path = file.path(), .architecture = architecture, .key = *key, .bytes = 0, .last_used = {}};
    stored.bytes = file.file_size(gone);
    if (!gone) stored.last_used = file.last_write_time(gone);
    if (!gone) found.push_back(std::move(stored));
  });
  std::ranges::sort(found, [](const StoredCubin& a, const StoredCubin& b) {
    return a.last_used != b.last_used ? a.last_used < b.last_used : a.key < b.key;
  });
  return found;
}

void remove_file(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail(ErrorCode::environment, "cannot remove {}: {}", path.string(), error.message());
}

/// Temporary files whose writer must be dead: no write takes an hour.
void remove_leftovers(const fs::path& version_folder) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  walk(version_folder, [&](const fs::directory_entry& file, const std::string&) {
    std::error_code gone;
    const bool temporary = file.path().filename().string().starts_with(io::temporary_prefix);
    // What is no file is somebody else's; what cannot be removed can stay.
    if (temporary && file.is_regular_file(gone) && file.last_write_time(gone) < old && !gone)
      fs::remove(file.path(), gone);
  });
}

bool is_bad(const StoredCubin& stored) {
  try {
    (void)read_entry(io::InputFile(stored.path), stored.key);
    return false;
  } catch (const Error&) {
    return true;
  }
}

std::uint64_t total_bytes(const std::vector<StoredCubin>& entries) {
  std::uint64_t total = 0;
  for (const StoredCubin& stored : entries) total += stored.bytes;
  return total;
}

void remove(const StoredCubin& stored, CubinRemoval& account) {
  remove_file(stored.path);
  ++account.removed;
  --account.kept;
  account.removed_bytes += stored.bytes;
  account.kept_bytes -= stored.bytes;
}

/// Removes the first of `entries` until at most `max_bytes` are kept.
void remove_first(const std::vector<StoredCubin>& entries, std::uint64_t max_bytes, CubinRemoval& account) {
  for (const StoredCubin& stored : entries) {
    if (account.kept_bytes <= max_bytes) return;
    remove(stored, account);
  }
}

CubinRemoval nothing_removed(const std::vector<StoredCubin>& entries) {
  return {.removed = 0, .removed_bytes = 0, .kept = entries.size(), .kept_bytes = total_bytes(entries)};
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

}  // namespace

fs::path CubinFolder::version_folder() const { return root_ / fmt::format("v{}", cache_format); }

fs::path CubinFolder::path(std::string_view architecture, const Digest& key) const {
  return version_folder() / fmt::format("{}{}", architecture_prefix, architecture) /
         fmt::format("{}{}", hex(key), suffix);
}

std::vector<StoredCubin> CubinFolder::entries() const { return entries_in(version_folder()); }

void CubinFolder::touch(const io::InputFile& file) noexcept {
  // An entry of somebody else's cannot be touched; it only goes earlier.
  if (::futimens(file.descriptor().get(), nullptr) != 0) return;
}

void CubinFolder::publish(std::string_view architecture, const Digest& key, const CubinEntry& entry,
                          std::uint64_t max_bytes) const {
  const std::vector<std::byte> bytes = encode(key, entry);
  if (bytes.size() > max_bytes) return;
  const fs::path target = path(architecture, key);
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) fail(ErrorCode::environment, "cannot make {}: {}", target.parent_path().string(), error.message());
  io::AtomicFile file(target);
  file.write(bytes);

  const CubinFolderLock lock(version_folder());
  const std::uint64_t room = max_bytes - bytes.size();
  const auto others = [&](std::uint64_t total) { return total - std::min(total, size_of(target)); };
  std::optional<std::uint64_t> total = lock.total_bytes();
  // A number that is missing or too large may be out of date: then the files count.
  if (!total || others(*total) > room) {
    const std::vector<StoredCubin> stored = entries();
    CubinRemoval account = nothing_removed(stored);
    if (others(account.kept_bytes) > room) {
      remove_leftovers(version_folder());
      remove_first(stored, room - std::min(room, max_bytes / 4), account);
    }
    total = account.kept_bytes;
  }
  lock.set_total_bytes(others(*total) + bytes.size());
  file.commit();
}

CubinRemoval CubinFolder::prune(std::uint64_t max_bytes) const {
  std::error_code error;
  if (!fs::exists(version_folder(), error)) return {};
  const CubinFolderLock lock(version_folder());
  remove_leftovers(version_folder());
  const std::vector<StoredCubin> stored = entries();
  CubinRemoval account = nothing_removed(stored);
  std::vector<StoredCubin> good;
  for (const StoredCubin& entry : stored) {
    if (is_bad(entry))
      remove(entry, account);
    else
      good.push_back(entry);
  }
  remove_first(good, max_bytes, account);
  lock.set_total_bytes(account.kept_bytes);
  return account;
}

}  // namespace tapconv::cuda
