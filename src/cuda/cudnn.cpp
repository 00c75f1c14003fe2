#include "cuda/cudnn.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "cuda/cudnn_graph.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {

struct Cudnn::Session {
  explicit Session(const Context& device) : context(device) {
    const CurrentContext current(context);
    cudnn::check(cudnn::api().create(&target.handle), "open a handle");
  }
  ~Session() {
    release_in(context, [&] { cudnn::api().destroy(target.handle); });
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Context& context;
  cudnn::Target target;
};

struct CudnnPlan::State {
  std::shared_ptr<const Cudnn::Session> session;
  std::shared_ptr<const cudnn::Graph> graph;
  cudnn::Offer offer;
  std::optional<cudnn::Descriptor> execution_plan;
  std::size_t workspace_bytes = 0;
  cudnn::Pointers pointers{};  ///< of the variant pack
  std::optional<cudnn::Descriptor> variant_pack;

  State(std::shared_ptr<const Cudnn::Session> owner, std::shared_ptr<const cudnn::Graph> asked, cudnn::Offer offered)
      : session(std::move(owner)), graph(std::move(asked)), offer(std::move(offered)) {}

  void require_prepared() const {
    if (!execution_plan) fail(ErrorCode::usage, "cuDNN plan {}: prepare() has not been called or failed", offer.name);
  }
};

namespace {

void require_aligned(const char* name, const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address == 0 || address % cudnn::byte_alignment != 0) {
    fail(ErrorCode::usage, "{} = {:#x}; valid: a multiple of {} that is not null", name, address,
         cudnn::byte_alignment);
  }
}

}  // namespace

CudnnPlan::CudnnPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudnnPlan::~CudnnPlan() = default;
CudnnPlan::CudnnPlan(CudnnPlan&&) noexcept = default;
CudnnPlan& CudnnPlan::operator=(CudnnPlan&&) noexcept = default;

const std::string& CudnnPlan::name() const noexcept { return state_->offer.name; }
CudnnHeuristic CudnnPlan::heuristic() const noexcept { return state_->offer.heuristic; }
const CudnnNotes& CudnnPlan::notes() const noexcept { return state_->offer.notes; }
bool CudnnPlan::adds_bias() const noexcept { return state_->graph->adds_bias(); }

void CudnnPlan::prepare(std::size_t max_workspace_bytes) {
  State& state = *state_;
  if (!state.execution_plan) {
    const CurrentContext current(state.session->context);
    cudnn::Descriptor plan = cudnn::execution_plan(state.session->target, state.offer.configuration);
    state.workspace_bytes =
        static_cast<std::size_t>(plan.get<std::int64_t>(cudnn::Attribute::execution_plan_workspace_size));
    state.execution_plan = std::move(plan);
  }
  if (state.workspace_bytes > max_workspace_bytes) {
    fail(ErrorCode::memory, "cuDNN plan {} needs {} bytes of workspace; the limit is {}", state.offer.name,
         state.workspace_bytes, max_workspace_bytes);
  }
}

std::size_t CudnnPlan::workspace_bytes() const {
  state_->require_prepared();
  return state_->workspace_bytes;
}

void CudnnPlan::run(const void* input, const void* weight, const void* bias, void* output, void* workspace,
                    void* stream) {
  State& state = *state_;
  state.require_prepared();
  const cudnn::Pointers pointers{const_cast<void*>(input), const_cast<void*>(weight), const_cast<void*>(bias), output,
                                 workspace};
  if (!state.variant_pack || state.pointers != pointers) {
    require_aligned("input", input);
    require_aligned("weight", weight);
    require_aligned("output", output);
    if (adds_bias()) require_aligned("bias", bias);
    if (state.workspace_bytes > 0) require_aligned("workspace", workspace);
    state.variant_pack = cudnn::variant_pack(pointers, adds_bias());
    state.pointers = pointers;
  }
  const cudnn::Handle handle = state.session->target.handle;
  const CurrentContext current(state.session->context);
  cudnn::check(cudnn::api().set_stream(handle, stream), "use the stream");
  cudnn::check(cudnn::api().backend_execute(handle, state.execution_plan->pointer(), state.variant_pack->pointer()),
               "run the plan");
}

Cudnn::Cudnn(const Context& context) : session_(std::make_shared<const Session>(context)) {}

std::string Cudnn::version() const {
  const std::size_t version = cudnn::api().get_version();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<CudnnPlan> Cudnn::plans(const Problem& problem, const CudnnChoice& choice) const {
  if (const std::string reason = cudnn::refusal(problem); !reason.empty())
    fail(ErrorCode::usage, "{}; valid: a problem that cuDNN takes as one convolution", reason);
  const CurrentContext current(session_->context);
  std::vector<CudnnPlan> result;
  const auto graph = std::make_shared<const cudnn::Graph>(session_->target, problem, choice);
  for (cudnn::Offer& offer : cudnn::offers(session_->target, *graph)) {
    if (!cudnn::allowed(offer.notes, choice)) continue;
    result.push_back(CudnnPlan(std::make_unique<CudnnPlan::State>(session_, graph, std::move(offer))));
  }
  if (result.empty() && problem.bias) {
    Problem without_bias = problem;
    without_bias.bias = false;
    return plans(without_bias, choice);
  }
  return result;
}

}  // namespace tapconv::cuda
