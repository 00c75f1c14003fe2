#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tapconv {

/// Calls body(begin, end) on disjoint parts of [0, count) from all cores. The first exception is rethrown after
/// every part has ended.
template <class Body>
void parallel_for(std::int64_t count, const Body& body) {
  const std::int64_t threads =
      std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, std::max<std::int64_t>(count, 1));
  std::exception_ptr failure;
  std::mutex mutex;
  const auto part = [&](std::int64_t index) {
    try {
      body(count * index / threads, count * (index + 1) / threads);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> workers;
  for (std::int64_t i = 1; i < threads; ++i) workers.emplace_back(part, i);
  part(0);
  workers.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tapconv
