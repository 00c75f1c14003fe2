#include <algorithm>
#include <array>
#include <list>
#include <utility>

#include "cpu/convert.hpp"
#include "cpu/engine.hpp"
#include "cpu/limits.hpp"
#include "cpu/primitive.hpp"
#include "cpu/stage.hpp"

namespace tapconv::cpu {
namespace {

bool is_dynamic(const Problem& problem) {
  return problem.dynamic_batch || std::ranges::find(problem.dynamic_input, true) != problem.dynamic_input.end();
}

/// Whether a weight of a convolution with padding is infinite or NaN after rounding.
bool meets_padding(const Problem& problem, const Weights& weights) {
  const OperandRounding rounding = problem.kind == Kind::depthwise_separable || problem.dtype != DType::float32
                                       ? OperandRounding::exact
                                       : operand_rounding(problem.contract, problem.tie_rule);
  return !all_finite(floats_of(weights.weight, problem.dtype, rounding));
}

/// A copy of weights.
class OwnedWeights {
 public:
  void assign(const Weights& weights) {
    const std::span<const std::byte> given[] = {weights.weight, weights.bias, weights.pointwise_weight,
                                                weights.pointwise_bias};
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].assign(given[i].begin(), given[i].end());
  }
  [[nodiscard]] Weights view() const {
    return {.weight = tensors_[0], .bias = tensors_[1], .pointwise_weight = tensors_[2], .pointwise_bias = tensors_[3]};
  }

 private:
  std::array<std::vector<std::byte>, 4> tensors_;
};

}  // namespace

struct Convolution::Plan {
  /// The problem at some sizes.
  struct Entry {
    std::int64_t batch;
    Extent input;
    TensorBytes bytes;
    std::unique_ptr<Stage> stage;
    bool has_weights = false;
  };

  Plan(const Problem& p, int thread_number) : problem(p), threads(thread_number) { static_cast<void>(entry()); }

  /// That of the problem's sizes, now the first of the list.
  Entry& entry() {
    constexpr std::size_t most = 8;
    const auto found = std::ranges::find_if(
        entries, [&](const Entry& other) { return other.batch == problem.batch && other.input == problem.input; });
    if (found != entries.end()) {
      entries.splice(entries.begin(), entries, found);
    } else {
      entries.push_front({problem.batch, problem.input, TensorBytes(problem),
                          make_stage(problem, thread_count(threads, work(problem)), padding_multiplied)});
      if (entries.size() > most) entries.pop_back();
    }
    return entries.front();
  }

  Problem problem;  ///< at the sizes that are set
  int threads;      ///< as requested
  bool padding_multiplied = false;
  bool has_weights = false;
  OwnedWeights weights;      ///< of a problem with dynamic dimensions
  std::list<Entry> entries;  ///< used last first
  Workspace workspace;
};

Convolution::Convolution(const Problem& problem, int threads) {
  if (problem.dtype == DType::float64)
    fail(ErrorCode::usage, "dtype = float64; valid for oneDNN: float32, float16, bfloat16");
  plan_ = std::make_unique<Plan>(problem, threads);
}
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;
Convolution::~Convolution() = default;

std::string Convolution::implementation() const { return plan_->entry().stage->implementation(); }

void Convolution::set_weights(const Weights& weights) {
  check_weights(plan_->problem, weights);
  plan_->has_weights = false;
  for (Plan::Entry& entry : plan_->entries) entry.has_weights = false;
  const bool multiplied = meets_padding(plan_->problem, weights);
  if (multiplied != plan_->padding_multiplied) plan_->entries.clear();
  plan_->padding_multiplied = multiplied;
  if (is_dynamic(plan_->problem)) plan_->weights.assign(weights);
  Plan::Entry& entry = plan_->entry();
  entry.stage->set_weights(weights);
  entry.has_weights = plan_->has_weights = true;
}

void Convolution::set_sizes(std::int64_t batch, const Extent& input) {
  Problem changed = plan_->problem;
  changed.batch = batch;
  changed.input = input;
  const auto keep = [](bool dynamic, std::int64_t size, std::int64_t before, std::string_view field) {
    if (!dynamic && size != before) fail(ErrorCode::usage, "{} = {} is not dynamic; valid: {}", field, size, before);
  };
  keep(changed.dynamic_batch, batch, plan_->problem.batch, "batch");
  for (int axis = 0; axis < max_rank; ++axis)
    keep(changed.dynamic_input[axis], input[axis], plan_->problem.input[axis], fmt::format("input[{}]", axis));
  validate(changed);
  const Problem before = std::exchange(plan_->problem, changed);
  try {
    static_cast<void>(plan_->entry());
  } catch (...) {
    plan_->problem = before;
    throw;
  }
}

void Convolution::run(std::span<const std::byte> input, std::span<const std::byte> residual,
                      std::span<std::byte> output) {
  Plan::Entry& entry = plan_->entry();
  entry.bytes.check(input, residual, output);
  if (!plan_->has_weights) fail(ErrorCode::usage, "weight: none set; valid: set_weights() before run()");
  if (!entry.has_weights) entry.stage->set_weights(plan_->weights.view());
  entry.has_weights = true;
  entry.stage->run(input.data(), residual.empty() ? nullptr : residual.data(), output.data(), plan_->workspace);
}

std::string version() {
  const dnnl_version_t& version = *dnnl::version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace tapconv::cpu
