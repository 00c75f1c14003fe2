#pragma once

#include "engine/session.hpp"

namespace tapconv {

/// A session on CUDA device `device`.
[[nodiscard]] std::unique_ptr<Session> open_cuda_session(const Problem& problem, int device);

}  // namespace tapconv
