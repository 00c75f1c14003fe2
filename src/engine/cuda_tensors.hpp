#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "cuda/compiler.hpp"
#include "engine/host_tensors.hpp"
#include "engine/session.hpp"
#include "plan/cuda_plan.hpp"

namespace tapconv {

/// The tensors of a problem in device memory, dense in its types and layout, and the small kernels and the oracle that
/// work on them. Everything is ordered on one stream; functions that return values to the host wait for it.
class CudaTensors {
 public:
  CudaTensors(const Problem& problem, const cuda::Context& context);

  [[nodiscard]] const cuda::Context& context() const { return context_; }
  [[nodiscard]] const cuda::Stream& stream() const { return stream_; }
  [[nodiscard]] DeviceTensors pointers() const;

  void fill(const Recipes& recipes);
  void upload(const Operands& operands);
  void fill_output(unsigned char byte);
  void upload_output(std::span<const std::byte> output);
  [[nodiscard]] Outputs gather(std::span<const std::int64_t> outputs);
  [[nodiscard]] std::vector<OracleOutput> evaluate(std::span<const std::int64_t> outputs, OperandRounding rounding);
  [[nodiscard]] Tensor download();
  /// Brings the operands, not the output, to `target`, which is of the same problem.
  void download(HostTensors& target) const;

  /// target[o][c][r] = source[o][r][c].
  void transpose(const shared::TransposeArguments& arguments);
  /// Adds the problem's bias to an output of its type.
  void add_bias(void* output, std::int64_t outer, std::int64_t channels, std::int64_t inner);
  /// Keeps the stream waiting.
  void hold(int microseconds);
  /// Overwrites more memory than the L2 holds.
  void flush_l2();

 private:
  template <class Arguments>
  void launch_elementwise(const char* function, const char* arguments_type, std::int64_t count,
                          const Arguments& arguments);
  [[nodiscard]] cuda::Buffer upload_indices(std::span<const std::int64_t> outputs) const;

  const Problem problem_;
  std::map<std::string_view, const cuda::Kernel*>
      elementwise_;  // by function, so that a timed launch looks up no source
  const cuda::Context& context_;
  cuda::Stream stream_;
  cuda::Buffer input_, weight_, bias_, pointwise_weight_, pointwise_bias_, residual_, output_, scratch_;
};

}  // namespace tapconv
