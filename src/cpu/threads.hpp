#pragma once

#include <algorithm>
#include <cstdint>

#include "problem/text.hpp"
#include "tapconv/problem.hpp"

// OpenMP's own interface, and the entry point that compilers use for a parallel region, declared here because compilers
// keep omp.h and OpenMP's pragmas behind a flag that would also link their runtime.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int count);
int omp_get_thread_num();
int omp_get_num_threads();
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
}

namespace tapconv::cpu {

/// The number of threads that `requested` stands for, whatever the problem. Throws Error{usage}.
inline int thread_count(int requested) {
  // More than any machine has; OpenMP dies of numbers that it cannot serve.
  constexpr int most = 4096;
  if (requested < 0 || requested > most)
    fail(ErrorCode::usage, "threads = {}; valid: 1 to {}, or 0 for all cores", requested, most);
  return requested == 0 ? omp_get_max_threads() : requested;
}

/// The same where 0 leaves the choice: one for a problem so small that waking the others would take longer.
inline int thread_count(int requested, const Work& work) {
  constexpr double small_flop = 1e6, small_bytes = 1e6;
  return requested == 0 && work.flop < small_flop && work.byte < small_bytes ? 1 : thread_count(requested);
}

/// While it lives, oneDNN called from this thread uses so many threads.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  ~ThreadScope() { omp_set_num_threads(before_); }

 private:
  int before_;
};

/// Calls body(begin, end) on disjoint parts of [0, count), each of about `grain` or more, from at most `threads`
/// threads: those of oneDNN, which may still be spinning and would take the processors from others. `body` throws
/// nothing.
template <class Body>
void parallel_ranges(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  const std::int64_t parts = std::clamp<std::int64_t>(count / grain, 1, threads);
  if (parts == 1) {
    body(0, count);
    return;
  }
  struct Region {
    const Body& body;
    std::int64_t count;
  } region{body, count};
  GOMP_parallel(
      [](void* data) {
        const auto& [run, total] = *static_cast<Region*>(data);
        const std::int64_t index = omp_get_thread_num(), members = omp_get_num_threads();
        run(total / members * index + std::min(total % members, index),
            total / members * (index + 1) + std::min(total % members, index + 1));
      },
      &region, static_cast<unsigned>(parts), 0);
}

}  // namespace tapconv::cpu
