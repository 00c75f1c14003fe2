// What the host and the device share: plain structs and arithmetic that must be the same on both sides. The only
// kernel header that host code includes. Uses no header of the toolkit or the standard library, so that a run-time
// compile stays short; functions carry no __device__, since kernels are compiled with the device as the default
// execution space.
#pragma once

#include "tapconv/shared/arguments.cuh"
#include "tapconv/shared/geometry.cuh"
#include "tapconv/shared/numerics.cuh"
#include "tapconv/shared/seeded.cuh"
#include "tapconv/shared/warpgroup.cuh"
