#include "workbench/host_subject.hpp"

#include <algorithm>
#include <cstdint>

#include "problem/text.hpp"

namespace tapconv {
namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t alignment = 64;
constexpr std::byte guard{Session::poison_byte};

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.view().data),
          static_cast<std::size_t>(tensor.size()) * element_bytes(tensor.dtype())};
}

/// Memory between two guard zones.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * guard_bytes + alignment, guard) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + guard_bytes;
    begin_ = guard_bytes + (alignment - address % alignment) % alignment;
  }

  [[nodiscard]] std::span<std::byte> bytes() { return std::span(memory_).subspan(begin_, bytes_); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(memory_).subspan(begin_, bytes_); }

  void restore_guards() {
    std::ranges::fill(before(), guard);
    std::ranges::fill(after(), guard);
  }

  /// "before" or "after" for a guard zone that was written; empty if none was.
  [[nodiscard]] std::string_view written_guard() const {
    const auto is_whole = [](std::byte byte) { return byte == guard; };
    const std::span<const std::byte> memory(memory_);
    if (!std::ranges::all_of(memory.first(begin_), is_whole)) return "before";
    return std::ranges::all_of(memory.subspan(begin_ + bytes_), is_whole) ? "" : "after";
  }

 private:
  [[nodiscard]] std::span<std::byte> before() { return std::span(memory_).first(begin_); }
  [[nodiscard]] std::span<std::byte> after() { return std::span(memory_).subspan(begin_ + bytes_); }

  std::size_t bytes_, begin_ = 0;
  std::vector<std::byte> memory_;
};

/// One tensor of the problem, as the function sees it.
struct GuardedTensor {
  const char* name;
  DType dtype;
  std::vector<std::int64_t> shape, strides;
  GuardedBytes memory;

  GuardedTensor(const char* field, std::size_t bytes, DType type, const std::vector<std::int64_t>& sizes, Layout layout)
      : name(field), dtype(type), shape(sizes), strides(strides_of(sizes, layout)), memory(bytes) {}

  [[nodiscard]] TensorView view() const {
    return {.data = memory.bytes().data(), .dtype = dtype, .shape = shape, .strides = strides};
  }
  [[nodiscard]] MutableTensorView mutable_view() {
    return {.data = memory.bytes().data(), .dtype = dtype, .shape = shape, .strides = strides};
  }
};

class HostSubject final : public Executable {
 public:
  HostSubject(Session& session, const HostFunction& function)
      : session_(session),
        function_(function),
        output_("output", output_bytes(session.problem()), session.problem().out_dtype, output_shape(session.problem()),
                session.problem().layout) {
    const Problem& p = session.problem();
    const Operands operands = session.host_operands();
    add("input", operands.input, p.dtype, input_shape(p));
    add("weight", operands.weight, p.dtype, weight_shape(p));
    add("bias", operands.bias, p.dtype, {bias_count(p)});
    add("pointwise_weight", operands.pointwise_weight, p.dtype, pointwise_weight_shape(p));
    add("pointwise_bias", operands.pointwise_bias, p.dtype, {pointwise_bias_count(p)});
    add("residual", operands.residual, p.out_dtype, output_shape(p));
  }

  [[nodiscard]] std::string name() const override { return function_.name; }

  void run() override {
    const std::vector<std::span<const std::byte>> given = in_order(session_.host_operands());
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i]) std::ranges::copy(given[i], operands_[i]->memory.bytes().begin());
    }
    const Tensor before = session_.download();
    std::ranges::copy(bytes_of(before), output_.memory.bytes().begin());
    for (GuardedTensor* tensor : tensors()) tensor->memory.restore_guards();
    function_.compute(session_.problem(), views());
    session_.upload_output(output_.memory.bytes());
  }

  [[nodiscard]] std::string trespass() override {
    for (const GuardedTensor* tensor : tensors()) {
      const std::string_view side = tensor->memory.written_guard();
      if (!side.empty()) return fmt::format("memory {} the {} was written", side, tensor->name);
    }
    const std::vector<std::span<const std::byte>> given = in_order(session_.host_operands());
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i] && !std::ranges::equal(given[i], operands_[i]->memory.bytes()))
        return fmt::format("the {} was changed", operands_[i]->name);
    }
    const Tensor returned = session_.download();
    if (!std::ranges::equal(bytes_of(returned), output_.memory.bytes()))
      return "the output was written after the function had returned";
    return {};
  }

 private:
  static std::size_t output_bytes(const Problem& problem) {
    return static_cast<std::size_t>(element_count(output_shape(problem))) * element_bytes(problem.out_dtype);
  }

  static std::vector<std::span<const std::byte>> in_order(const Operands& o) {
    return {o.input, o.weight, o.bias, o.pointwise_weight, o.pointwise_bias, o.residual};
  }

  void add(const char* field, std::span<const std::byte> bytes, DType dtype, const std::vector<std::int64_t>& shape) {
    operands_.push_back(
        bytes.empty() ? nullptr
                      : std::make_unique<GuardedTensor>(field, bytes.size(), dtype, shape, session_.problem().layout));
  }

  [[nodiscard]] std::vector<GuardedTensor*> tensors() {
    std::vector<GuardedTensor*> all{&output_};
    for (const auto& operand : operands_) {
      if (operand) all.push_back(operand.get());
    }
    return all;
  }

  [[nodiscard]] HostViews views() {
    const auto optional = [&](std::size_t i) {
      return operands_[i] ? std::optional(operands_[i]->view()) : std::nullopt;
    };
    return {.input = operands_[0]->view(),
            .weight = operands_[1]->view(),
            .bias = optional(2),
            .pointwise_weight = optional(3),
            .pointwise_bias = optional(4),
            .residual = optional(5),
            .output = output_.mutable_view()};
  }

  Session& session_;
  const HostFunction& function_;
  std::vector<std::unique_ptr<GuardedTensor>> operands_;  // in the order of Operands; null where there is none
  GuardedTensor output_;
};

}  // namespace

std::unique_ptr<Executable> make_host_subject(Session& session, const HostFunction& function) {
  return std::make_unique<HostSubject>(session, function);
}

}  // namespace tapconv
