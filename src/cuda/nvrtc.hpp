#pragma once

#include <cstddef>

#include "cuda/dynamic_library.hpp"

namespace tapconv::cuda {

/// The part of NVRTC's C interface that is used, under its own names less the prefix "nvrtc". Threads may call it at
/// the same time.
struct NvrtcApi {
  using Program = void*;
  int (*Version)(int*, int*);
  const char* (*GetErrorString)(int);
  int (*CreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*DestroyProgram)(Program*);
  int (*CompileProgram)(Program, int, const char* const*);
  int (*GetCUBINSize)(Program, std::size_t*);
  int (*GetCUBIN)(Program, char*);
  int (*GetProgramLogSize)(Program, std::size_t*);
  int (*GetProgramLog)(Program, char*);

  /// Opened at first use. Throws Error{environment} where there is none.
  static const NvrtcApi& get();

  /// Throws Error{compile} unless `result` is success.
  void check(int result, const char* doing) const;

 private:
  NvrtcApi();

  DynamicLibrary library_;
};

}  // namespace tapconv::cuda
