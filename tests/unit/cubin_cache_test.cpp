#include "cuda/cubin_cache.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <latch>
#include <thread>

#include "cubin_cases.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

namespace fs = std::filesystem;
using testing::file_bytes;
using testing::is_entry;
using testing::numbered_entry;
using testing::numbered_key;

class CubinCacheTest : public testing::TemporaryFolder {
 protected:
  using Warnings = std::vector<std::string>;

  /// A cache as another process would open it.
  [[nodiscard]] std::unique_ptr<CubinCache> open(std::optional<std::string> written,
                                                 std::vector<std::string> read_only = {}) {
    CacheSettings settings;
    if (written) settings.written = path(*written);
    for (const std::string& folder : read_only) settings.read_only.emplace_back(path(folder));
    return open(settings);
  }

  [[nodiscard]] std::unique_ptr<CubinCache> open(const CacheSettings& settings) {
    return std::make_unique<CubinCache>(settings, [this](const std::string& message) { warnings_.push_back(message); });
  }

  /// Whether entry `number` came from the disk; it is right either way.
  static bool hits(CubinCache& cache, int number) {
    const CubinCache::Obtained obtained =
        cache.obtain("90a", numbered_key(number), [&] { return numbered_entry(number); });
    EXPECT_TRUE(is_entry(obtained.entry, number));
    return obtained.from_disk;
  }

  [[nodiscard]] std::string file_of(const std::string& folder, int number) const {
    return folder + "/v1/sm_90a/" + hex(numbered_key(number)) + ".cubin";
  }

  Warnings warnings_;
};

TEST_F(CubinCacheTest, WhatOneProcessMadeTheNextFinds) {
  EXPECT_FALSE(hits(*open("cache"), 1));
  const auto cache = open("cache");
  EXPECT_TRUE(hits(*cache, 1));
  EXPECT_FALSE(hits(*cache, 2));
  EXPECT_FALSE(cache->find("80", numbered_key(1)).has_value());
  EXPECT_EQ(Warnings{}, warnings_);
}

TEST_F(CubinCacheTest, WithoutAFolderEverythingIsMade) {
  const auto cache = open(std::nullopt);
  EXPECT_FALSE(hits(*cache, 1));
  EXPECT_FALSE(hits(*cache, 1));
  EXPECT_EQ(Warnings{}, warnings_);
  EXPECT_EQ(0, entries());
}

TEST_F(CubinCacheTest, ABadEntryIsMadeOnceMoreWithOneWarning) {
  EXPECT_FALSE(hits(*open("cache"), 1));
  EXPECT_FALSE(hits(*open("cache"), 2));
  const std::string good = get(file_of("cache", 1)), foreign = get(file_of("cache", 2));
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  for (const std::string& bad : {std::string(), good.substr(0, good.size() - 1), flipped, foreign, good + "x"}) {
    warnings_.clear();
    put(file_of("cache", 1), bad);
    EXPECT_FALSE(hits(*open("cache"), 1));
    ASSERT_EQ(1U, warnings_.size()) << bad.size();
    EXPECT_NE(std::string::npos, warnings_[0].find(file_of("cache", 1))) << warnings_[0];
    EXPECT_TRUE(hits(*open("cache"), 1));
    EXPECT_EQ(1U, warnings_.size());
    EXPECT_EQ(good, get(file_of("cache", 1)));
  }
}

TEST_F(CubinCacheTest, AnEntryThatGoesBadTwiceIsToldOfTwice) {
  const auto cache = open("cache");
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(time > 0, hits(*cache, 1));
    put(file_of("cache", 1), "bad");
    EXPECT_FALSE(hits(*cache, 1));
  }
  EXPECT_EQ(2U, warnings_.size());
}

TEST_F(CubinCacheTest, LayersAreLookedThroughInOrderAndNeverWritten) {
  EXPECT_FALSE(hits(*open("low"), 1));
  EXPECT_FALSE(hits(*open("high"), 2));
  const auto cache = open("top", {"high", "low", "missing"});
  EXPECT_TRUE(hits(*cache, 1));
  EXPECT_TRUE(hits(*cache, 2));
  EXPECT_FALSE(hits(*cache, 3));
  EXPECT_TRUE(hits(*open("top"), 3));
  EXPECT_FALSE(fs::exists(path(file_of("top", 1))));
  EXPECT_FALSE(fs::exists(path(file_of("high", 3))));
  EXPECT_FALSE(fs::exists(path("missing")));
  EXPECT_EQ(Warnings{}, warnings_);
}

TEST_F(CubinCacheTest, ABadEntryOfALayerIsHiddenByAGoodOne) {
  EXPECT_FALSE(hits(*open("low"), 1));
  put(file_of("low", 1), "bad");
  const auto cache = open("top", {"low"});
  EXPECT_FALSE(hits(*cache, 1));
  EXPECT_TRUE(hits(*cache, 1));
  EXPECT_TRUE(hits(*open("top", {"low"}), 1));
  EXPECT_EQ(1U, warnings_.size());
  EXPECT_EQ("bad", get(file_of("low", 1)));
}

TEST_F(CubinCacheTest, ABadEntryThatCannotBeReplacedIsToldOfOnce) {
  EXPECT_FALSE(hits(*open("low"), 1));
  put(file_of("low", 1), "bad");
  const auto cache = open(std::nullopt, {"low"});
  for (int time = 0; time < 3; ++time) EXPECT_FALSE(hits(*cache, 1));
  EXPECT_EQ(1U, warnings_.size());
}

TEST_F(CubinCacheTest, AFolderThatCannotBeWrittenCostsOneWarning) {
  put("file", "no folder");
  CacheSettings unwritable;
  unwritable.written = "/proc/tapconv";
  CacheSettings file;
  file.written = path("file");
  CacheSettings below_file;
  below_file.written = path("file/cache");
  for (const CacheSettings& settings : {unwritable, file, below_file}) {
    warnings_.clear();
    const auto cache = open(settings);
    for (int number = 0; number < 3; ++number) EXPECT_FALSE(hits(*cache, number));
    ASSERT_EQ(1U, warnings_.size()) << *settings.written;
    EXPECT_NE(std::string::npos, warnings_[0].find(settings.written->string())) << warnings_[0];
  }
}

TEST_F(CubinCacheTest, AFolderWithoutPermissionsCostsOneWarning) {
  if (::geteuid() == 0) GTEST_SKIP() << "root needs no permission";
  EXPECT_FALSE(hits(*open("cache"), 1));
  fs::permissions(path("cache/v1/sm_90a"), fs::perms::none);
  const auto cache = open("cache");
  for (int number = 1; number < 4; ++number) EXPECT_FALSE(hits(*cache, number));
  fs::permissions(path("cache/v1/sm_90a"), fs::perms::owner_all);
  EXPECT_EQ(1U, warnings_.size());
}

// A limit on the size of files stands for a disk that is full: the write fails in the middle.
TEST_F(CubinCacheTest, AFullDiskCostsOneWarningAndLeavesNothing) {
  const int failing = testing::failing_processes(1, [&](int) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const auto cache = open("cache");
    return !hits(*cache, 1) && !hits(*cache, 2) && warnings_.size() == 1;
  });
  EXPECT_EQ(0, failing);
  EXPECT_TRUE(fs::is_empty(path("cache/v1/sm_90a")));
}

TEST_F(CubinCacheTest, AHitCountsAsUse) {
  EXPECT_FALSE(hits(*open("cache"), 1));
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(5);
  fs::last_write_time(path(file_of("cache", 1)), old);
  EXPECT_TRUE(hits(*open("other", {"cache"}), 1));
  EXPECT_EQ(old, fs::last_write_time(path(file_of("cache", 1))));
  EXPECT_TRUE(hits(*open("cache"), 1));
  EXPECT_GT(fs::last_write_time(path(file_of("cache", 1))), old + std::chrono::hours(4));
}

TEST_F(CubinCacheTest, AFailureIsNotKept) {
  const auto cache = open("cache");
  EXPECT_THROW(
      (void)cache->obtain("90a", numbered_key(1), []() -> CubinEntry { fail(ErrorCode::compile, "does not compile"); }),
      Error);
  EXPECT_FALSE(hits(*cache, 1));
  EXPECT_TRUE(hits(*cache, 1));
  EXPECT_EQ(Warnings{}, warnings_);
}

TEST_F(CubinCacheTest, ThreadsMakeEachEntryOnce) {
  constexpr int threads = 8, numbers = 5;
  const auto cache = open("cache");
  std::atomic<int> made = 0, wrong = 0;
  {
    std::latch start(threads);
    std::vector<std::jthread> workers;
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&, thread] {
        start.arrive_and_wait();
        for (int i = 0; i < numbers; ++i) {
          const int number = (i + thread) % numbers;
          const auto obtained = cache->obtain("90a", numbered_key(number), [&] {
            ++made;
            return numbered_entry(number);
          });
          if (!is_entry(obtained.entry, number)) ++wrong;
        }
      });
  }
  EXPECT_EQ(numbers, made);
  EXPECT_EQ(0, wrong);
  EXPECT_EQ(Warnings{}, warnings_);
}

// Readers, writers of the same and of different keys, and one process that removes everything again and again: nobody
// ever sees half an entry or a reason to warn.
TEST_F(CubinCacheTest, ProcessesReadWriteAndPruneAtTheSameTime) {
  constexpr int processes = 6, numbers = 12, rounds = 3;
  const int failing = testing::failing_processes(processes + 1, [&](int process) {
    if (process == processes) {
      for (int i = 0; i < 50; ++i) (void)CubinFolder(path("cache")).prune(static_cast<std::uint64_t>(i % 3) * 2000);
      return true;
    }
    const auto cache = open("cache");
    bool right = true;
    for (int i = 0; i < rounds * numbers; ++i) {
      const int number = (i * (process % 2 ? 1 : 5) + process) % numbers;
      right &= is_entry(cache->obtain("90a", numbered_key(number), [&] { return numbered_entry(number, 20000); }).entry,
                        number);
    }
    return right && warnings_.empty();
  });
  EXPECT_EQ(0, failing);
}

TEST_F(CubinCacheTest, TheBoundHoldsWithThreads) {
  CacheSettings settings;
  settings.written = path("cache");
  settings.max_bytes = 5 * file_bytes(100);
  const auto cache = open(settings);
  {
    std::vector<std::jthread> workers;
    for (int thread = 0; thread < 4; ++thread)
      workers.emplace_back([&, thread] {
        for (int i = 0; i < 10; ++i) EXPECT_FALSE(hits(*cache, 100 + thread * 10 + i));
      });
  }
  std::uint64_t bytes = 0;
  for (const StoredCubin& stored : cache->written()->entries()) bytes += stored.bytes;
  EXPECT_LE(bytes, settings.max_bytes);
  EXPECT_GT(bytes, 0U);
  EXPECT_EQ(Warnings{}, warnings_);
}

}  // namespace
}  // namespace tapconv::cuda
