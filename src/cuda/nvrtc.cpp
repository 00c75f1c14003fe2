#include "cuda/nvrtc.hpp"

#include "problem/text.hpp"

namespace tapconv::cuda {

const NvrtcApi& NvrtcApi::get() {
  static const NvrtcApi api;
  return api;
}

void NvrtcApi::check(int result, const char* doing) const {
  if (result != 0) fail(ErrorCode::compile, "{} failed: {}", doing, GetErrorString(result));
}

NvrtcApi::NvrtcApi() : library_({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
  library_.load(Version, "nvrtcVersion");
  library_.load(GetErrorString, "nvrtcGetErrorString");
  library_.load(CreateProgram, "nvrtcCreateProgram");
  library_.load(DestroyProgram, "nvrtcDestroyProgram");
  library_.load(CompileProgram, "nvrtcCompileProgram");
  library_.load(GetCUBINSize, "nvrtcGetCUBINSize");
  library_.load(GetCUBIN, "nvrtcGetCUBIN");
  library_.load(GetProgramLogSize, "nvrtcGetProgramLogSize");
  library_.load(GetProgramLog, "nvrtcGetProgramLog");
}

}  // namespace tapconv::cuda
