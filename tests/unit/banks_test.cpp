#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "tapconv/calculators.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

std::int64_t wavefronts(const char* access, std::int64_t threads = 32) {
  return shared_access(parse_access(access, threads)).wavefronts;
}

GlobalAccess global(const char* access, std::int64_t threads = 32) {
  return global_access(parse_access(access, threads));
}

TEST(Banks, ByHand) {
  EXPECT_EQ(1, wavefronts("float at lane"));
  EXPECT_EQ(1, wavefronts("float at 7"));       // broadcast
  EXPECT_EQ(1, wavefronts("float at lane/4"));  // eight words, each for four lanes
  EXPECT_EQ(2, wavefronts("float at 2*lane"));
  EXPECT_EQ(32, wavefronts("float at 32*lane"));  // a column of a matrix 32 wide
  EXPECT_EQ(1, wavefronts("float at 33*lane"));   // padded by one
  EXPECT_EQ(1, wavefronts("float at lane ^ 5"));
  EXPECT_EQ(4, wavefronts("float at 12*lane"));  // gcd(12, 32)
  EXPECT_EQ(1, wavefronts("half at lane"));      // two lanes a word
  EXPECT_EQ(1, wavefronts("half2 at 2*lane"));
  EXPECT_EQ(2, wavefronts("double at lane"));  // a wavefront each half
  EXPECT_EQ(4, wavefronts("double at 2*lane"));
  EXPECT_EQ(4, wavefronts("float4 at 4*lane"));  // one each quarter
  EXPECT_EQ(4, wavefronts("float4 at (lane%8)*132 + lane/8*4"));
  EXPECT_EQ(32, wavefronts("float4 at (lane%8)*128 + lane/8*4"));
  EXPECT_EQ(4, wavefronts("float4 at 0"));        // broadcast, but four quarters
  EXPECT_EQ(2, wavefronts("float at 0, 32"));     // two lanes, one bank
  EXPECT_EQ(1, wavefronts("float4 at 0, 4, 8"));  // one quarter alone
  EXPECT_EQ(8, wavefronts("float4 at 4*thread", 64));
  EXPECT_EQ(3, wavefronts("float4 at 4*thread", 17));
}

TEST(Banks, NamesTheBank) {
  const SharedAccess access = shared_access(parse_access("float at 3, 35, 4, 36, 68, 5"));
  EXPECT_EQ(3, access.wavefronts);
  EXPECT_EQ(1, access.ideal_wavefronts);
  EXPECT_EQ(3, access.most_words);
  EXPECT_EQ(4, access.worst_bank);
}

/// Wavefront by wavefront: a bank opens the word of the first lane that still waits for one of its words; a lane is
/// served with all its open words.
std::int64_t simulated(const WarpAccess& access) {
  const std::size_t together = access.bytes <= 4 ? 32 : access.bytes == 8 ? 16 : 8;
  std::int64_t count = 0;
  for (std::size_t begin = 0; begin < access.addresses.size(); begin += together) {
    std::vector<std::int64_t> waiting;  // words
    for (std::size_t lane = begin; lane < std::min(begin + together, access.addresses.size()); ++lane) {
      for (std::int64_t byte = 0; byte < access.bytes; ++byte) waiting.push_back((access.addresses[lane] + byte) / 4);
    }
    while (!waiting.empty()) {
      std::array<std::int64_t, 32> open;
      open.fill(-1);
      for (const std::int64_t word : waiting) {
        std::int64_t& opened = open[static_cast<std::size_t>(word % 32)];
        if (opened < 0) opened = word;
      }
      std::erase_if(waiting, [&](std::int64_t word) { return open[static_cast<std::size_t>(word % 32)] == word; });
      ++count;
    }
  }
  return count;
}

TEST(Banks, RandomAccessesAreAsSimulated) {
  std::mt19937_64 generator(2);
  for (int i = 0; i < 5000; ++i) {
    WarpAccess access{.bytes = 1 << generator() % 5, .addresses = {}};
    // From few words, which are shared, to many.
    const std::uint64_t places = 1 + generator() % (std::uint64_t{1} << generator() % 12);
    const std::size_t lanes = 1 + generator() % 32;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      access.addresses.push_back(static_cast<std::int64_t>(generator() % places) * access.bytes);
    const SharedAccess shared = shared_access({&access, 1});
    EXPECT_EQ(simulated(access), shared.wavefronts);
    EXPECT_GE(shared.wavefronts, shared.ideal_wavefronts);

    std::set<std::int64_t> bytes, sectors, lines;
    for (const std::int64_t address : access.addresses) {
      for (std::int64_t byte = address; byte < address + access.bytes; ++byte) {
        bytes.insert(byte);
        sectors.insert(byte / 32);
        lines.insert(byte / 128);
      }
    }
    const GlobalAccess found = global_access({&access, 1});
    EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), found.useful_bytes);
    EXPECT_EQ(static_cast<std::int64_t>(sectors.size()), found.sectors);
    EXPECT_EQ(static_cast<std::int64_t>(lines.size()), found.lines);
    EXPECT_EQ(static_cast<std::int64_t>(bytes.size() + 31) / 32, found.least_sectors);
    EXPECT_EQ(static_cast<std::int64_t>(bytes.size() + 127) / 128, found.least_lines);
    EXPECT_DOUBLE_EQ(static_cast<double>(bytes.size()) / static_cast<double>(32 * sectors.size()), found.efficiency);
  }
}

TEST(Coalescing, ByHand) {
  struct Expected {
    const char* access;
    std::int64_t sectors, least_sectors, lines;
    double efficiency;
  };
  for (const auto& [access, sectors, least_sectors, lines, efficiency] : {Expected{"float at lane", 4, 4, 1, 1},
                                                                          {"float at lane + 1", 5, 4, 2, 0.8},
                                                                          {"float at 2*lane", 8, 4, 2, 0.5},
                                                                          {"float at 8*lane", 32, 4, 8, 0.125},
                                                                          {"float at 32*lane", 32, 4, 32, 0.125},
                                                                          {"float at 0", 1, 1, 1, 0.125},
                                                                          {"float4 at 4*lane", 16, 16, 4, 1},
                                                                          {"half at lane", 2, 2, 1, 1},
                                                                          {"byte16 at 16*(31-lane)", 16, 16, 4, 1}}) {
    SCOPED_TRACE(access);
    const GlobalAccess found = global(access);
    EXPECT_EQ(sectors, found.sectors);
    EXPECT_EQ(least_sectors, found.least_sectors);
    EXPECT_EQ(lines, found.lines);
    EXPECT_DOUBLE_EQ(efficiency, found.efficiency);
  }
  // Each warp asks for itself.
  EXPECT_EQ(8, global("float at lane", 64).sectors);
  EXPECT_EQ(8, global("float at thread", 64).sectors);
}

TEST(Coalescing, RefusesWhatIsNoAccess) {
  const auto refused = [](const WarpAccess& access, const char* message) {
    expect_error(ErrorCode::usage, message, [&] { (void)shared_access({&access, 1}); });
    expect_error(ErrorCode::usage, message, [&] { (void)global_access({&access, 1}); });
  };
  refused({.bytes = 12, .addresses = {0}}, "access of 12 bytes; valid: 1, 2, 4, 8 or 16");
  refused({.bytes = 4, .addresses = {}}, "access of 0 lanes; valid: 1 to 32");
  refused({.bytes = 4, .addresses = std::vector<std::int64_t>(33, 0)}, "access of 33 lanes");
  refused({.bytes = 8, .addresses = {8, 12}}, "address = 12 of an access of 8 bytes; valid: multiples of 8");
  refused({.bytes = 4, .addresses = {-4}}, "address = -4");
}

}  // namespace
}  // namespace tapconv
