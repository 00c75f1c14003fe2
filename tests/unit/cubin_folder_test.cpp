#include "cuda/cubin_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "cubin_cases.hpp"
#include "cuda/cubin_folder_lock.hpp"

namespace tapconv::cuda {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::file_bytes;
using testing::numbered_entry;
using testing::numbered_key;

constexpr std::uint64_t no_bound = std::numeric_limits<std::uint64_t>::max();

class CubinFolderTest : public testing::TemporaryFolder {
 protected:
  [[nodiscard]] CubinFolder folder() const { return CubinFolder(path("cache")); }

  void publish(int number, std::uint64_t max_bytes = no_bound) const {
    folder().publish("90a", numbered_key(number), numbered_entry(number), max_bytes);
  }

  /// Says that the entry was used `hours` ago.
  void age(int number, int hours) const {
    fs::last_write_time(folder().path("90a", numbered_key(number)),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  [[nodiscard]] bool has(int number) const { return fs::exists(folder().path("90a", numbered_key(number))); }

  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t bytes = 0;
    for (const StoredCubin& stored : folder().entries()) bytes += stored.bytes;
    return bytes;
  }
};

TEST_F(CubinFolderTest, AnEntryLiesByVersionArchitectureAndKey) {
  const std::string key = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";  // of "1"
  EXPECT_EQ(path("cache/v1/sm_90a/" + key + ".cubin"), folder().path("90a", numbered_key(1)));
  publish(1);
  const std::vector<StoredCubin> entries = folder().entries();
  ASSERT_EQ(1U, entries.size());
  EXPECT_EQ(folder().path("90a", numbered_key(1)), entries[0].path);
  EXPECT_EQ("90a", entries[0].architecture);
  EXPECT_EQ(numbered_key(1), entries[0].key);
  EXPECT_EQ(file_bytes(1), entries[0].bytes);
}

TEST_F(CubinFolderTest, OtherFilesAreNoEntries) {
  EXPECT_TRUE(folder().entries().empty());
  publish(1);
  const std::string good = hex(numbered_key(1));
  for (const std::string& name : {std::string("README"), good, good + ".cubin~", good.substr(1) + ".cubin",
                                  "G" + good.substr(1) + ".cubin", std::string(".tapconv-0123456789abcdef")})
    put("cache/v1/sm_90a/" + name, "x");
  fs::create_directory(path("cache/v1/sm_90a/" + hex(numbered_key(2)) + ".cubin"));
  fs::create_directory(path("cache/v1/other"));
  put("cache/v1/other/" + good + ".cubin", "x");
  put("cache/v1/sm_80", "x");
  EXPECT_EQ(1U, folder().entries().size());
  EXPECT_EQ(1U, folder().prune(0).removed);
  EXPECT_EQ("x", get("cache/v1/other/" + good + ".cubin"));
  EXPECT_EQ("x", get("cache/v1/sm_90a/README"));
}

TEST_F(CubinFolderTest, BeyondTheBoundTheLongestUnusedGoFirst) {
  const std::uint64_t bound = 8 * file_bytes(1);
  for (int number = 1; number <= 8; ++number) publish(number, bound);
  EXPECT_EQ(bound, total());
  for (int number = 1; number <= 8; ++number) age(number, number == 3 ? 0 : 20 - number);
  publish(9, bound);
  // A quarter is free then: 6 of 8 stay, of which one is new.
  EXPECT_EQ(6 * file_bytes(1), total());
  for (const int gone : {1, 2, 4}) EXPECT_FALSE(has(gone)) << gone;
  for (const int kept : {3, 5, 6, 7, 8, 9}) EXPECT_TRUE(has(kept)) << kept;
}

TEST_F(CubinFolderTest, ReplacingAnEntryTakesNoMoreRoom) {
  const std::uint64_t bound = 2 * file_bytes(1);
  publish(1, bound);
  publish(2, bound);
  for (int again = 0; again < 5; ++again) publish(1, bound);
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(has(2));
}

TEST_F(CubinFolderTest, WhatIsLargerThanTheBoundIsNotKept) {
  publish(1, file_bytes(1));
  publish(2, file_bytes(2) - 1);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
  publish(2, file_bytes(2));
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  publish(3, 0);
  EXPECT_FALSE(has(3));
}

TEST_F(CubinFolderTest, AWrongSumIsPutRight) {
  const std::uint64_t bound = 4 * file_bytes(1);
  for (const char* text : {"18446744073709551615\n", "999999999\n", "12", "", "-1\n", "nonsense\n", "1\n2\n"}) {
    (void)folder().prune(0);
    publish(1, bound);
    put("cache/v1/lock", text);
    publish(2, bound);
    EXPECT_TRUE(has(1) && has(2)) << text;
    EXPECT_EQ(fmt::format("{}\n", 2 * file_bytes(1)), get("cache/v1/lock")) << text;
  }
}

TEST_F(CubinFolderTest, PruneRemovesBadEntriesLeftoversAndTheLongestUnused) {
  for (int number = 1; number <= 5; ++number) publish(number), age(number, 20 - number);
  put("cache/v1/sm_90a/" + hex(numbered_key(5)) + ".cubin", "bad");
  put("cache/v1/sm_90a/.tapconv-0000000000000000", "left by a process that died");
  put("cache/v1/sm_90a/.tapconv-1111111111111111", "being written");
  fs::last_write_time(path("cache/v1/sm_90a/.tapconv-0000000000000000"),
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  const CubinRemoval removal = folder().prune(2 * file_bytes(1));
  EXPECT_EQ(3U, removal.removed);
  EXPECT_EQ(2 * file_bytes(1) + 3, removal.removed_bytes);
  EXPECT_EQ(2U, removal.kept);
  EXPECT_EQ(2 * file_bytes(1), removal.kept_bytes);
  EXPECT_TRUE(has(3) && has(4));
  EXPECT_FALSE(fs::exists(path("cache/v1/sm_90a/.tapconv-0000000000000000")));
  EXPECT_TRUE(fs::exists(path("cache/v1/sm_90a/.tapconv-1111111111111111")));
  EXPECT_EQ(2U, folder().prune(0).removed);
  EXPECT_EQ(0U, CubinFolder(path("missing")).prune(0).removed);
  EXPECT_FALSE(fs::exists(path("missing")));
}

TEST_F(CubinFolderTest, AFolderThatCannotBeMadeIsNamed) {
  put("file", "");
  expect_error(ErrorCode::environment, path("file/v1/sm_90a"),
               [&] { CubinFolder(path("file")).publish("90a", numbered_key(1), numbered_entry(1), no_bound); });
}

TEST_F(CubinFolderTest, AHeldLockIsWaitedFor) {
  fs::create_directories(path("cache/v1"));
  std::atomic<bool> released = false;
  std::jthread holder;
  {
    auto lock = std::make_unique<CubinFolderLock>(path("cache/v1"));
    holder = std::jthread([&, held = std::move(lock)]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      released = true;
      held.reset();
    });
  }
  publish(1);
  EXPECT_TRUE(released);
}

TEST_F(CubinFolderTest, ProcessesKeepTheBoundTogether) {
  constexpr int writers = 6, entries_each = 20;
  const std::uint64_t bound = 10 * file_bytes(1000);
  // No thread beside them: what it held when a process is made would stay locked there.
  EXPECT_EQ(0, testing::failing_processes(writers, [&](int writer) {
              std::uint64_t most = 0;
              for (int i = 0; i < entries_each; ++i) {
                publish(1000 + writer * 100 + i, bound);
                most = std::max(most, total());
              }
              return most <= bound + file_bytes(1000);
            }));
  EXPECT_LE(total(), bound);
  EXPECT_GT(total(), bound / 2);
  EXPECT_EQ(fmt::format("{}\n", total()), get("cache/v1/lock"));
}

}  // namespace
}  // namespace tapconv::cuda
