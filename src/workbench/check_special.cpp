#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "workbench/check_stages.hpp"
#include "workbench/exact_operands.hpp"

namespace tapconv {
namespace {

/// The bits of NaNs of a type that are lost if it is handled as a number: all bits set, the least one, the usual one.
std::vector<std::uint64_t> nans_of(DType dtype) {
  std::vector<std::uint64_t> positive;
  std::uint64_t sign = 0;
  switch (dtype) {
    case DType::float32:
      positive = {0x7fffffff, 0x7f800001, 0x7fc00000};
      sign = 0x80000000;
      break;
    case DType::float16:
      positive = {0x7fff, 0x7c01, 0x7e00};
      sign = 0x8000;
      break;
    case DType::bfloat16:
      positive = {0x7fff, 0x7f81, 0x7fc0};
      sign = 0x8000;
      break;
    case DType::float64:
      positive = {0x7fffffffffffffff, 0x7ff0000000000001, 0x7ff8000000000000};
      sign = 0x8000000000000000;
      break;
  }
  std::vector<std::uint64_t> all;
  for (const std::uint64_t bits : positive) all.insert(all.end(), {bits, bits | sign});
  return all;
}

/// The bits of both infinities.
std::vector<std::uint64_t> infinities_of(DType dtype) {
  std::vector<std::uint64_t> all;
  for (const double infinity : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    std::uint64_t bits = 0;
    store_element(&bits, dtype, 0, infinity);
    all.push_back(bits);
  }
  return all;
}

double least_subnormal(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 0x1p-149;
    case DType::float16:
      return 0x1p-24;
    case DType::bfloat16:
      return 0x1p-133;
    case DType::float64:
      return 0x1p-1074;
  }
  return 0;
}

/// Puts each of `values`, bits of the type (little-endian), somewhere into the tensor.
void scatter(std::vector<std::byte>& tensor, DType dtype, const std::vector<std::uint64_t>& values,
             std::mt19937_64& generator) {
  const std::size_t bytes = element_bytes(dtype);
  for (const std::uint64_t bits : values)
    std::memcpy(tensor.data() + generator() % (tensor.size() / bytes) * bytes, &bits, bytes);
}

void scale(std::vector<std::byte>& tensor, DType dtype, double factor) {
  const auto count = static_cast<std::int64_t>(tensor.size() / element_bytes(dtype));
  for (std::int64_t i = 0; i < count; ++i)
    store_element(tensor.data(), dtype, i, factor * load_element(tensor.data(), dtype, i));
}

class SpecialValues {
 public:
  explicit SpecialValues(const StageContext& context)
      : context_(context), problem_(context.trial.problem()), generator_(context.seed) {}

  CheckStage run() {
    judge_scattered("NaNs in the input", nans_of(problem_.dtype), &HostTensors::input);
    judge_scattered("NaNs in the weights", nans_of(problem_.dtype), &HostTensors::weight);
    judge_scattered("infinities in the input", infinities_of(problem_.dtype), &HostTensors::input);
    judge_scattered("infinities in the weights", infinities_of(problem_.dtype), &HostTensors::weight);
    const bool kept = problem_.contract == Contract::ieee || problem_.contract == Contract::fp64;
    const bool exact = problem_.activation == Activation::none || problem_.activation == Activation::relu;
    if (kept && exact)
      judge_subnormals();
    else if (kept)
      stage_.notes.emplace_back("subnormal numbers: the activation's own error is not known there");
    else
      stage_.notes.emplace_back("subnormal numbers: the contract does not say that they are kept");
    return std::move(stage_);
  }

 private:
  /// One tensor at a time: an infinite input meeting an infinite weight would say less.
  void judge_scattered(const char* name, const std::vector<std::uint64_t>& values,
                       std::vector<std::byte> HostTensors::*tensor) {
    ExactOperands operands(problem_, context_.seed);
    scatter(operands.tensors.*tensor, problem_.dtype, values, generator_);
    judge(operands, {.tensors = name, .demand = Demand::bound, .seed = context_.seed});
  }

  /// Exact integers in units of the least number of the type.
  void judge_subnormals() {
    const std::uint64_t seed = 2 * context_.seed;  // precise inputs, weights of one
    ExactOperands operands(problem_, seed);
    const double least = least_subnormal(problem_.dtype);
    HostTensors& host = operands.tensors;
    for (std::vector<std::byte>* tensor : {&host.input, &host.bias, &host.pointwise_bias})
      scale(*tensor, problem_.dtype, least);
    scale(host.residual, problem_.out_dtype, least);
    judge(operands, {.tensors = "subnormal integers", .demand = Demand::exact, .seed = seed, .unit = least});
  }

  void judge(const ExactOperands& operands, CaseSpec spec) {
    spec.samples = trial_samples(context_.trial.session(), context_.request.device);
    context_.trial.session().upload(operands.tensors.operands());
    add_case(stage_, context_.examiner.compute_and_judge(context_.trial, spec), problem_);
  }

  const StageContext& context_;
  const Problem& problem_;
  std::mt19937_64 generator_;
  CheckStage stage_;
};

}  // namespace

CheckStage check_special_values(const StageContext& context) { return SpecialValues(context).run(); }

}  // namespace tapconv
