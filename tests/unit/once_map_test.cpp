#include "cuda/once_map.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

using Map = OnceMap<int, std::unique_ptr<int>, std::hash<int>, std::equal_to<>>;

constexpr int threads = 8;

/// Calls body(i) on eight threads that start together.
template <class Body>
void together(const Body& body) {
  std::latch start(threads);
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i)
    workers.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
}

TEST(OnceMap, AValueIsMadeOnceAndStaysWhereItIs) {
  Map map(Map::Keeps::always);
  std::atomic<int> made = 0;
  std::vector<const int*> values(threads);
  together([&](int i) {
    values[static_cast<std::size_t>(i)] = map.get(7,
                                                  [&] {
                                                    ++made;
                                                    return std::make_unique<int>(7);
                                                  })
                                              .get()
                                              .get();
  });
  EXPECT_EQ(1, made);
  for (const int* value : values) EXPECT_EQ(values[0], value);
  EXPECT_EQ(values[0], map.get(7, []() -> std::unique_ptr<int> { throw 0; }).get().get());
}

TEST(OnceMap, DifferentValuesAreMadeAtTheSameTime) {
  Map map(Map::Keeps::always);
  // Each waits within make() for all the others.
  std::latch all_inside(threads);
  together([&](int i) {
    const int value = *map.get(i,
                               [&] {
                                 all_inside.arrive_and_wait();
                                 return std::make_unique<int>(i);
                               })
                           .get();
    EXPECT_EQ(i, value);
  });
}

TEST(OnceMap, AFailureReachesEveryWaiterAndIsForgotten) {
  Map map(Map::Keeps::always);
  std::atomic<int> attempts = 0, failures = 0;
  std::atomic<int> asked = 0;
  together([&](int) {
    ++asked;
    const auto future = map.get(1, [&]() -> std::unique_ptr<int> {
      // All have asked, or are about to: most of them wait for this attempt.
      while (asked < threads) std::this_thread::yield();
      ++attempts;
      fail(ErrorCode::compile, "no");
    });
    try {
      (void)future.get();
    } catch (const Error& error) {
      EXPECT_STREQ("no", error.what());
      ++failures;
    }
  });
  EXPECT_EQ(threads, failures);
  EXPECT_GE(attempts, 1);
  EXPECT_EQ(5, *map.get(1, [] { return std::make_unique<int>(5); }).get());
}

TEST(OnceMap, AWaiterSharesTheAttemptThatFails) {
  Map map(Map::Keeps::always);
  std::latch inside(1), release(1);
  std::jthread maker([&] {
    EXPECT_THROW((void)map
                     .get(1,
                          [&]() -> std::unique_ptr<int> {
                            inside.count_down();
                            release.wait();
                            fail(ErrorCode::compile, "first");
                          })
                     .get(),
                 Error);
  });
  inside.wait();
  const auto future = map.get(1, []() -> std::unique_ptr<int> { fail(ErrorCode::internal, "second"); });
  release.count_down();
  try {
    (void)future.get();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ("first", error.what());
  }
}

TEST(OnceMap, KeptWhileMadeIsMadeAnew) {
  Map map(Map::Keeps::while_made);
  int made = 0;
  const auto make = [&] { return std::make_unique<int>(++made); };
  EXPECT_EQ(1, *map.get(1, make).get());
  EXPECT_EQ(2, *map.get(1, make).get());
}

}  // namespace
}  // namespace tapconv::cuda
