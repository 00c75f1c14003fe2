#include "cuda/driver_api.hpp"

#include "problem/text.hpp"

namespace tapconv::cuda {

DriverApi::DriverApi() : library_({"libcuda.so.1"}) {
  const auto load = [this](auto& function, const char* name) { library_.load(function, name); };
  load(GetErrorName, "cuGetErrorName");
  load(GetErrorString, "cuGetErrorString");
  load(Init, "cuInit");
  load(DriverGetVersion, "cuDriverGetVersion");
  load(DeviceGetCount, "cuDeviceGetCount");
  load(DeviceGet, "cuDeviceGet");
  load(DeviceGetName, "cuDeviceGetName");
  load(DeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  load(DeviceTotalMem, "cuDeviceTotalMem_v2");
  load(DeviceGetAttribute, "cuDeviceGetAttribute");
  load(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  load(CtxGetCurrent, "cuCtxGetCurrent");
  load(CtxPushCurrent, "cuCtxPushCurrent_v2");
  load(CtxPopCurrent, "cuCtxPopCurrent_v2");
  load(PointerGetAttribute, "cuPointerGetAttribute");
  load(MemGetInfo, "cuMemGetInfo_v2");
  load(MemAlloc, "cuMemAlloc_v2");
  load(MemFree, "cuMemFree_v2");
  load(MemcpyHtoD, "cuMemcpyHtoD_v2");
  load(MemcpyDtoH, "cuMemcpyDtoH_v2");
  load(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  load(MemsetD8Async, "cuMemsetD8Async");
  load(StreamCreate, "cuStreamCreate");
  load(StreamDestroy, "cuStreamDestroy_v2");
  load(StreamSynchronize, "cuStreamSynchronize");
  load(EventCreate, "cuEventCreate");
  load(EventDestroy, "cuEventDestroy_v2");
  load(EventRecord, "cuEventRecord");
  load(EventSynchronize, "cuEventSynchronize");
  load(EventElapsedTime, "cuEventElapsedTime");
  load(EventQuery, "cuEventQuery");
  load(ModuleLoadData, "cuModuleLoadData");
  load(ModuleUnload, "cuModuleUnload");
  load(ModuleGetFunction, "cuModuleGetFunction");
  load(FuncGetAttribute, "cuFuncGetAttribute");
  load(FuncSetAttribute, "cuFuncSetAttribute");
  load(LaunchKernel, "cuLaunchKernel");
  check(Init(0), "starting the CUDA driver", ErrorCode::environment);
}

const DriverApi& DriverApi::get() {
  static const DriverApi api;
  return api;
}

void DriverApi::check(Result result, const char* doing, ErrorCode code) const {
  if (result == 0) return;
  const char *name = nullptr, *words = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &words);
  fail(code, "{} failed: {} ({})", doing, name ? name : "unknown CUDA error", words ? words : "no description");
}

}  // namespace tapconv::cuda
