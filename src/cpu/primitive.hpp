#pragma once

#include <string>

#include "cpu/description.hpp"
#include "cpu/threads.hpp"

namespace tapconv::cpu {

/// Calls body() with `threads` threads for oneDNN and turns its errors into tapconv::Error.
template <class Body>
auto with_onednn(int threads, const Body& body) {
  try {
    const ThreadScope scope(threads);
    return body();
  } catch (const dnnl::error& error) {
    const bool memory = error.status == dnnl_out_of_memory;
    fail(memory ? ErrorCode::memory : ErrorCode::environment, "oneDNN: {}", error.what());
  }
}

/// One oneDNN convolution on the caller's contiguous tensors, with the reorders that its layouts need. Sizes are not
/// checked.
class Primitive {
 public:
  /// `description` was made under ThreadScope(threads).
  Primitive(const Description& description, int threads);

  [[nodiscard]] std::string name() const;
  /// `bias` is null for a problem without.
  void set_weights(const float* weight, const float* bias);
  void run(const float* input, float* output);

 private:
  /// A tensor of the caller's and the one that oneDNN works on.
  struct Tensor {
    dnnl::memory outer, inner;
    dnnl::reorder reorder;  ///< empty if both are the same
    bool same = true;
  };
  Tensor make_tensor(const dnnl::memory::desc& inner, bool is_input);

  Description description_;
  int threads_;
  dnnl::stream stream_;
  dnnl::convolution_forward convolution_;
  Tensor input_, output_;
  dnnl::memory weight_, bias_;
};

}  // namespace tapconv::cpu
