#include "engine/cudnn_reference.hpp"

#include <utility>

#include "cuda/cudnn.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

using cuda::CudnnChoice;
using cuda::CudnnLayout;
using cuda::CudnnRank1;

std::int64_t spatial(const std::vector<std::int64_t>& shape) { return element_count(shape) / shape[0] / shape[1]; }

CudnnLayout own_layout(const Problem& problem) {
  return problem.layout == Layout::channels_last ? CudnnLayout::channels_last : CudnnLayout::contiguous;
}

/// Whether engines on tensor cores may meet the problem's contract. They sum exact products of 16-bit operands in
/// binary32, and round those of float32 to TF32. Outputs are judged in any case.
bool allows_tensor_cores(const Problem& problem) {
  return problem.contract != Contract::ieee && !(problem.contract == Contract::fp32 && problem.dtype == DType::float32);
}

/// Buffers that all plans of one problem share, made when first needed: copies in the other layout and a workspace.
struct CudnnScratch {
  cuda::Buffer input, weight, output, workspace;

  static void* ensure(cuda::Buffer& buffer, const cuda::Context& context, std::size_t bytes) {
    if (buffer.bytes() < bytes) {
      buffer = {};  // first: old and new together may not fit
      buffer = cuda::Buffer(context, bytes);
    }
    return buffer.as();
  }
};

class CudnnExecutable final : public Executable {
 public:
  CudnnExecutable(const Problem& problem, CudaTensors& tensors, std::shared_ptr<CudnnScratch> scratch,
                  const CudnnChoice& choice, std::string version, cuda::CudnnPlan plan)
      : problem_(problem),
        tensors_(tensors),
        scratch_(std::move(scratch)),
        choice_(choice),
        version_(std::move(version)),
        plan_(std::move(plan)) {}

  [[nodiscard]] std::string name() const override {
    return fmt::format("cuDNN {} {}{}{}", version_, plan_.name(), plan_.adds_bias() ? " with bias" : "",
                       problem_.rank == 1 && choice_.rank1 == CudnnRank1::width_one ? " as W=1" : "");
  }

  [[nodiscard]] std::string layout() const override {
    return choice_.layout == CudnnLayout::channels_last ? "channels-last" : "contiguous";
  }

  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> notes{fmt::format("heuristic {}", cuda::name(plan_.heuristic()))};
    if (plan_.notes().tensor_cores) notes.emplace_back("tensor cores");
    if (plan_.notes().winograd) notes.emplace_back("winograd");
    if (plan_.notes().fft) notes.emplace_back("fft");
    if (plan_.notes().nondeterministic) notes.emplace_back("nondeterministic");
    if (plan_.notes().compiled_at_run_time) notes.emplace_back("compiled at run time");
    return notes;
  }

  void prepare() override {
    const cuda::Context& context = tensors_.context();
    plan_.prepare(context.free_bytes() / 2 + scratch_->workspace.bytes());
    CudnnScratch::ensure(scratch_->workspace, context, plan_.workspace_bytes());
    if (!converts()) return;
    const auto copy = [&](const void* source, cuda::Buffer& target, const std::vector<std::int64_t>& shape) {
      change_layout(source, CudnnScratch::ensure(target, context, bytes_of(shape, problem_.dtype)), shape,
                    problem_.dtype, choice_.layout);
    };
    copy(tensors_.pointers().input, scratch_->input, input_shape(problem_));
    copy(tensors_.pointers().weight, scratch_->weight, weight_shape(problem_));
    CudnnScratch::ensure(scratch_->output, context, bytes_of(output_shape(problem_), problem_.out_dtype));
    // Whatever an earlier plan left there must not pass for this one's result.
    tensors_.stream().fill_bytes(scratch_->output.as(), 0xff, scratch_->output.bytes());
  }

  void run() override {
    const DeviceTensors tensors = tensors_.pointers();
    const bool copied = converts();
    void* output = copied ? scratch_->output.as() : tensors.output;
    plan_.run(copied ? scratch_->input.as() : tensors.input, copied ? scratch_->weight.as() : tensors.weight,
              tensors.bias, output, scratch_->workspace.as(), tensors_.stream().handle());
    if (problem_.bias && !plan_.adds_bias()) add_bias(output);
  }

  void finish() override {
    if (converts())
      change_layout(scratch_->output.as(), tensors_.pointers().output, output_shape(problem_), problem_.out_dtype,
                    own_layout(problem_));
  }

 private:
  /// Whether cuDNN works on copies, in another layout than the problem's tensors have.
  [[nodiscard]] bool converts() const { return choice_.layout != own_layout(problem_); }

  static std::size_t bytes_of(const std::vector<std::int64_t>& shape, DType dtype) {
    return static_cast<std::size_t>(element_count(shape)) * element_bytes(dtype);
  }

  void change_layout(const void* source, void* target, const std::vector<std::int64_t>& shape, DType dtype,
                     CudnnLayout to) {
    const std::int64_t channels = shape[1], places = spatial(shape);
    const bool last = to == CudnnLayout::channels_last;
    tensors_.transpose({.source = source,
                        .target = target,
                        .element_bytes = static_cast<int>(element_bytes(dtype)),
                        .outer = shape[0],
                        .rows = last ? channels : places,
                        .columns = last ? places : channels});
  }

  void add_bias(void* output) {
    const std::int64_t inner = spatial(output_shape(problem_));
    if (choice_.layout == CudnnLayout::channels_last)
      tensors_.add_bias(output, problem_.batch * inner, problem_.out_channels, 1);
    else
      tensors_.add_bias(output, problem_.batch, problem_.out_channels, inner);
  }

  Problem problem_;
  CudaTensors& tensors_;
  std::shared_ptr<CudnnScratch> scratch_;
  CudnnChoice choice_;
  std::string version_;
  cuda::CudnnPlan plan_;
};

}  // namespace

std::vector<std::unique_ptr<Executable>> cudnn_references(const Problem& problem, CudaTensors& tensors) {
  const cuda::Cudnn library(tensors.context());
  const auto scratch = std::make_shared<CudnnScratch>();
  // For the fused graph cuDNN offers few engines: without the bias there are more, and adding it after may still win.
  std::vector<Problem> forms{problem};
  if (problem.bias) forms.emplace_back(problem).bias = false;
  std::vector<std::unique_ptr<Executable>> all;
  for (const CudnnLayout layout : {CudnnLayout::contiguous, CudnnLayout::channels_last}) {
    for (const CudnnRank1 rank1 : {CudnnRank1::height_one, CudnnRank1::width_one}) {
      if (problem.rank != 1 && rank1 != CudnnRank1::height_one) continue;
      const CudnnChoice choice{.layout = layout, .rank1 = rank1, .allow_tensor_cores = allows_tensor_cores(problem)};
      for (const Problem& form : forms) {
        for (cuda::CudnnPlan& plan : library.plans(form, choice)) {
          // Asked for a fused bias, cuDNN may fall back to the plans without, which come by themselves.
          if (form.bias && !plan.adds_bias()) continue;
          all.push_back(
              std::make_unique<CudnnExecutable>(problem, tensors, scratch, choice, library.version(), std::move(plan)));
        }
      }
    }
  }
  return all;
}

std::unique_ptr<Executable> cudnn_default(const Problem& problem, CudaTensors& tensors) {
  const cuda::Cudnn library(tensors.context());
  const CudnnChoice choice{.layout = own_layout(problem), .rank1 = CudnnRank1::height_one};
  Problem unbiased = problem;
  unbiased.bias = false;
  const auto scratch = std::make_shared<CudnnScratch>();
  std::string reason = "cuDNN's heuristics offer nothing";
  for (cuda::CudnnPlan& plan : library.plans(unbiased, choice)) {
    auto executable =
        std::make_unique<CudnnExecutable>(problem, tensors, scratch, choice, library.version(), std::move(plan));
    try {
      executable->prepare();
      executable->run();
      tensors.stream().synchronize();
      return executable;
    } catch (const Error& error) {
      reason = error.what();
    }
  }
  fail(ErrorCode::environment, "cuDNN {} runs no engine for {}: {}", library.version(), spell(problem), reason);
}

}  // namespace tapconv
