#pragma once

#include "problem/text.hpp"

// OpenMP's own interface, declared here because compilers keep omp.h behind a flag that would also link their runtime.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int count);
}

namespace tapconv::cpu {

/// The number of threads that `requested` stands for: see Convolution. Throws Error{usage}.
inline int thread_count(int requested) {
  if (requested < 0) fail(ErrorCode::usage, "threads = {}; valid: 1 or more, or 0 for all cores", requested);
  return requested == 0 ? omp_get_max_threads() : requested;
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

}  // namespace tapconv::cpu
