#pragma once

#include "cuda/driver.hpp"
#include "problem/ceilings.hpp"

namespace tapconv {

/// A CUDA device as planning sees it, whether it is there or not: its limits, and how fast it can be.
struct DeviceModel {
  cuda::DeviceFacts facts;
  Ceilings ceilings;
};

/// The model of a device with these facts: its measured ceilings if they are known, else physical ones from the facts,
/// with a `reach` of the share that good libraries sustain on the H200.
[[nodiscard]] DeviceModel device_model(const cuda::DeviceFacts& facts);

}  // namespace tapconv
