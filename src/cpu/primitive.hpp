#pragma once

#include <string>
#include <unordered_map>

#include "cpu/description.hpp"
#include "cpu/threads.hpp"
#include "cpu/workspace.hpp"

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

/// One oneDNN convolution or deconvolution on the caller's tensors, with the reorders that its layouts and types need.
/// Sizes are not checked.
class Primitive {
 public:
  /// `description` was made of `request` under ThreadScope(threads).
  Primitive(const Request& request, const Description& description, int threads);

  /// The implementation, and the tensors that it works on: "brgconv:avx512_core, channels-last tensors".
  [[nodiscard]] std::string name() const;

  /// In binary32, the problem's layout. `bias` is null for a problem without.
  void set_weights(const float* weight, const float* bias);

  /// Input and residual in the problem's types, output in the request's result type; `residual` is null where the
  /// request has none.
  void run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace);

 private:
  /// A tensor of the caller's and the one that oneDNN works on.
  struct Tensor {
    dnnl::memory outer, inner;
    dnnl::reorder reorder;  ///< empty if both are the same
    Workspace::Piece piece{};
    std::size_t inner_bytes = 0;
    bool same = true;

    void attach(const std::byte* data, Workspace& workspace);
  };
  enum class Direction { in, out };
  Tensor make_tensor(const dnnl::memory::desc& outer, const dnnl::memory::desc& inner, Direction direction,
                     Workspace::Piece piece);

  Description description_;
  dnnl::memory::desc caller_weight_;
  std::int64_t cropped_bytes_;
  int threads_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  Tensor input_, residual_, output_;
  dnnl::memory weight_, bias_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace tapconv::cpu
