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

/// Buffers that all plans of one problem share, made when first needed: channels-last copies and a workspace.
struct CudnnScratch {
  cuda::Buffer input, weight, output, workspace;

  static float* ensure(cuda::Buffer& buffer, const cuda::Context& context, std::size_t bytes) {
    if (buffer.bytes() < bytes) {
      buffer = {};  // first: old and new together may not fit
      buffer = cuda::Buffer(context, bytes);
    }
    return buffer.as<float>();
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

  [[nodiscard]] std::string layout() const override { return channels_last() ? "channels-last" : "contiguous"; }

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
    if (!channels_last()) return;
    const auto input = input_shape(problem_), weight = weight_shape(problem_), output = output_shape(problem_);
    CudnnScratch::ensure(scratch_->output, context, static_cast<std::size_t>(element_count(output)) * sizeof(float));
    const auto change = [&](const void* source, cuda::Buffer& target, const std::vector<std::int64_t>& shape) {
      tensors_.transpose({.source = source,
                          .target = CudnnScratch::ensure(
                              target, context, static_cast<std::size_t>(element_count(shape)) * sizeof(float)),
                          .element_bytes = sizeof(float),
                          .outer = shape[0],
                          .rows = shape[1],
                          .columns = spatial(shape)});
    };
    change(tensors_.pointers().input, scratch_->input, input);
    change(tensors_.pointers().weight, scratch_->weight, weight);
    // Whatever an earlier plan left there must not pass for this one's result.
    tensors_.stream().fill_bytes(scratch_->output.as(), 0xff, scratch_->output.bytes());
  }

  void run() override {
    const DeviceTensors tensors = tensors_.pointers();
    const bool last = channels_last();
    float* output = last ? scratch_->output.as<float>() : static_cast<float*>(tensors.output);
    plan_.run(last ? scratch_->input.as<float>() : static_cast<const float*>(tensors.input),
              last ? scratch_->weight.as<float>() : static_cast<const float*>(tensors.weight),
              static_cast<const float*>(tensors.bias), output, scratch_->workspace.as(), tensors_.stream().handle());
    if (!problem_.bias || plan_.adds_bias()) return;
    const std::int64_t inner = spatial(output_shape(problem_));
    if (last)
      tensors_.add_bias(output, problem_.batch * inner, problem_.out_channels, 1);
    else
      tensors_.add_bias(output, problem_.batch, problem_.out_channels, inner);
  }

  void finish() override {
    if (!channels_last()) return;
    tensors_.transpose({.source = scratch_->output.as<float>(),
                        .target = tensors_.pointers().output,
                        .element_bytes = sizeof(float),
                        .outer = problem_.batch,
                        .rows = spatial(output_shape(problem_)),
                        .columns = problem_.out_channels});
  }

 private:
  [[nodiscard]] bool channels_last() const { return choice_.layout == CudnnLayout::channels_last; }

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
      const CudnnChoice choice{.layout = layout, .rank1 = rank1, .allow_tf32 = problem.contract == Contract::tf32};
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
  const CudnnChoice choice{.layout = CudnnLayout::contiguous, .rank1 = CudnnRank1::height_one, .allow_tf32 = true};
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
