#pragma once

#include <cstddef>

#include "cuda/dynamic_library.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cuda {

/// The part of the CUDA driver's C interface that Tapconv uses, under the driver's own names less the prefix "cu".
struct DriverApi {
  using Result = int;
  using Pointer = unsigned long long;

  Result (*GetErrorName)(Result, const char**);
  Result (*GetErrorString)(Result, const char**);
  Result (*Init)(unsigned);
  Result (*DriverGetVersion)(int*);
  Result (*DeviceGetCount)(int*);
  Result (*DeviceGet)(int*, int);
  Result (*DeviceGetName)(char*, int, int);
  Result (*DeviceGetPCIBusId)(char*, int, int);
  Result (*DeviceTotalMem)(std::size_t*, int);
  Result (*DeviceGetAttribute)(int*, int, int);
  Result (*DevicePrimaryCtxRetain)(void**, int);
  Result (*CtxGetCurrent)(void**);
  Result (*CtxPushCurrent)(void*);
  Result (*CtxPopCurrent)(void**);
  Result (*PointerGetAttribute)(void*, int, Pointer);
  Result (*MemGetInfo)(std::size_t*, std::size_t*);
  Result (*MemAlloc)(Pointer*, std::size_t);
  Result (*MemFree)(Pointer);
  Result (*MemcpyHtoD)(Pointer, const void*, std::size_t);
  Result (*MemcpyDtoH)(void*, Pointer, std::size_t);
  Result (*MemcpyDtoDAsync)(Pointer, Pointer, std::size_t, void*);
  Result (*MemsetD8Async)(Pointer, unsigned char, std::size_t, void*);
  Result (*StreamCreate)(void**, unsigned);
  Result (*StreamDestroy)(void*);
  Result (*StreamSynchronize)(void*);
  Result (*EventCreate)(void**, unsigned);
  Result (*EventDestroy)(void*);
  Result (*EventRecord)(void*, void*);
  Result (*EventSynchronize)(void*);
  Result (*EventElapsedTime)(float*, void*, void*);
  Result (*EventQuery)(void*);
  Result (*ModuleLoadData)(void**, const void*);
  Result (*ModuleUnload)(void*);
  Result (*ModuleGetFunction)(void**, void*, const char*);
  Result (*FuncGetAttribute)(int*, int, void*);
  Result (*FuncSetAttribute)(void*, int, int);
  Result (*LaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                         void**);

  /// Opened and initialised once. Throws Error{environment} every time if that is not possible.
  static const DriverApi& get();

  /// Throws Error{code} saying what was being done, with the driver's name and words for `result`, unless it is 0.
  void check(Result result, const char* doing, ErrorCode code) const;

 private:
  DriverApi();
  DynamicLibrary library_;
};

/// Values of the driver's enumerations.
namespace driver {
inline constexpr int stream_non_blocking = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int pointer_memory_type = 2, pointer_is_managed = 8, pointer_device = 9;
inline constexpr unsigned memory_device = 2;  ///< a value of pointer_memory_type
inline constexpr int function_max_threads = 0, function_shared_bytes = 1, function_local_bytes = 3,
                     function_registers = 4, function_max_dynamic_shared = 8;
inline constexpr int device_max_threads = 1, device_max_grid_x = 5, device_shared_per_block = 8, device_registers = 12,
                     device_clock_khz = 13, device_multiprocessors = 16, device_memory_clock_khz = 36,
                     device_memory_bus_bits = 37, device_l2_bytes = 38, device_major = 75, device_minor = 76,
                     device_shared_per_multiprocessor = 81, device_shared_opt_in = 97;
}  // namespace driver

}  // namespace tapconv::cuda
