#pragma once

#include "cuda/driver.hpp"

namespace tapconv {

/// Makes L2 lines that an access policy keeps ("persisting") ordinary ones, so that other accesses evict them. Devices
/// before sm_80 have none. Throws Error{launch}.
void reset_persisting_l2(const cuda::Context& context);

}  // namespace tapconv
