#include <algorithm>
#include <array>
#include <set>

#include "problem/text.hpp"
#include "tapconv/calculators.hpp"

namespace tapconv {
namespace {

constexpr std::size_t lanes = 32;
constexpr std::int64_t banks = 32, word_bytes = 4, sector_bytes = 32, line_bytes = 128;

void expect_valid(const WarpAccess& access) {
  if (access.bytes != 1 && access.bytes != 2 && access.bytes != 4 && access.bytes != 8 && access.bytes != 16)
    fail(ErrorCode::usage, "access of {} bytes; valid: 1, 2, 4, 8 or 16", access.bytes);
  if (access.addresses.empty() || access.addresses.size() > lanes)
    fail(ErrorCode::usage, "access of {} lanes; valid: 1 to {}", access.addresses.size(), lanes);
  for (const std::int64_t address : access.addresses) {
    if (address < 0 || address % access.bytes != 0)
      fail(ErrorCode::usage, "address = {} of an access of {} bytes; valid: multiples of {} from 0 on", address,
           access.bytes, access.bytes);
  }
}

/// The different words that each bank gives to some lanes.
std::array<std::set<std::int64_t>, banks> words_of_banks(std::span<const std::int64_t> addresses, int bytes) {
  std::array<std::set<std::int64_t>, banks> words;
  for (const std::int64_t address : addresses) {
    const std::int64_t first = address / word_bytes;
    for (std::int64_t word = first; word <= first + (bytes - 1) / word_bytes; ++word)
      words[static_cast<std::size_t>(word % banks)].insert(word);
  }
  return words;
}

void add_shared(SharedAccess& total, const WarpAccess& access) {
  const std::size_t together = access.bytes <= 4 ? lanes : access.bytes == 8 ? lanes / 2 : lanes / 4;
  for (std::size_t lane = 0; lane < access.addresses.size(); lane += together) {
    const auto group = std::span(access.addresses).subspan(lane, std::min(together, access.addresses.size() - lane));
    const auto words = words_of_banks(group, access.bytes);
    const auto worst = std::ranges::max_element(words, {}, &std::set<std::int64_t>::size);
    const auto most = static_cast<std::int64_t>(worst->size());
    total.wavefronts += most;
    total.ideal_wavefronts += 1;
    if (most <= total.most_words) continue;
    total.most_words = most;
    total.worst_bank = worst - words.begin();
  }
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

void add_global(GlobalAccess& total, const WarpAccess& access) {
  // An aligned access lies within one sector.
  std::set<std::int64_t> addresses, sectors, touched_lines;
  for (const std::int64_t address : access.addresses) {
    addresses.insert(address);
    sectors.insert(address / sector_bytes);
    touched_lines.insert(address / line_bytes);
  }
  const std::int64_t useful = static_cast<std::int64_t>(addresses.size()) * access.bytes;
  total.useful_bytes += useful;
  total.sectors += static_cast<std::int64_t>(sectors.size());
  total.least_sectors += divide_up(useful, sector_bytes);
  total.lines += static_cast<std::int64_t>(touched_lines.size());
  total.least_lines += divide_up(useful, line_bytes);
}

}  // namespace

SharedAccess shared_access(std::span<const WarpAccess> accesses) {
  SharedAccess total;
  for (const WarpAccess& access : accesses) {
    expect_valid(access);
    add_shared(total, access);
  }
  return total;
}

GlobalAccess global_access(std::span<const WarpAccess> accesses) {
  GlobalAccess total;
  for (const WarpAccess& access : accesses) {
    expect_valid(access);
    add_global(total, access);
  }
  if (total.sectors > 0)
    total.efficiency = static_cast<double>(total.useful_bytes) / static_cast<double>(total.sectors * sector_bytes);
  return total;
}

}  // namespace tapconv
