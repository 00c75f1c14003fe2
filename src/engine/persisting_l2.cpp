#include "engine/persisting_l2.hpp"

#include "cuda/driver_api.hpp"
#include "cuda/dynamic_library.hpp"

namespace tapconv {
namespace {

using Reset = cuda::DriverApi::Result();

/// Measuring alone needs this function, so it stands here and not among those of the runtime.
Reset* load_reset() {
  Reset* reset = nullptr;
  cuda::DynamicLibrary({"libcuda.so.1"}).load(reset, "cuCtxResetPersistingL2Cache");
  return reset;
}

}  // namespace

void reset_persisting_l2(const cuda::Context& context) {
  if (context.facts().compute_major < 8) return;
  static Reset* const reset = load_reset();
  const cuda::CurrentContext current(context);
  cuda::DriverApi::get().check(reset(), "resetting the persisting L2 lines", ErrorCode::launch);
}

}  // namespace tapconv
