#include "workbench/host_subject.hpp"

#include <algorithm>
#include <cstdint>

#include "problem/text.hpp"

namespace tapconv {
namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t alignment = 64;
/// What a guard zone holds at a place, in turn: NaNs, so that whoever reads it computes NaNs; and bytes that follow no
/// rule, so that NaNs, zeros and multiples written there are seen.
std::byte guard_byte(bool nans, std::size_t place) {
  return nans ? std::byte{Session::poison_byte} : static_cast<std::byte>(shared::mix(place) >> 56);
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.view().data),
          static_cast<std::size_t>(tensor.size()) * element_bytes(tensor.dtype())};
}

/// Memory between two guard zones.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * guard_bytes + alignment) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + guard_bytes;
    begin_ = guard_bytes + (alignment - address % alignment) % alignment;
  }

  [[nodiscard]] std::span<std::byte> bytes() { return std::span(memory_).subspan(begin_, bytes_); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(memory_).subspan(begin_, bytes_); }

  void restore_guards(bool nans) {
    nans_ = nans;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (is_guard(i)) memory_[i] = guard_byte(nans_, i);
    }
  }

  /// "before" or "after" for a guard zone that was written; empty if none was.
  [[nodiscard]] std::string_view written_guard() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (is_guard(i) && memory_[i] != guard_byte(nans_, i)) return i < begin_ ? "before" : "after";
    }
    return "";
  }

 private:
  [[nodiscard]] bool is_guard(std::size_t place) const { return place < begin_ || place >= begin_ + bytes_; }

  std::size_t bytes_, begin_ = 0;
  bool nans_ = true;
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
    const auto given = in_order(session_.host_operands());
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i]) std::ranges::copy(given[i], operands_[i]->memory.bytes().begin());
    }
    const Tensor before = session_.download();
    std::ranges::copy(bytes_of(before), output_.memory.bytes().begin());
    nans_ = !nans_;
    for (GuardedTensor* tensor : tensors()) tensor->memory.restore_guards(nans_);
    compute();
    session_.upload_output(output_.memory.bytes());
    if (trespass_.empty()) trespass_ = stray_write();
  }

  [[nodiscard]] std::string trespass() override {
    if (trespass_.empty()) trespass_ = stray_write();
    if (!trespass_.empty()) return trespass_;
    const Tensor returned = session_.download();
    if (!std::ranges::equal(bytes_of(returned), output_.memory.bytes()))
      return "the output was written after the function had returned";
    return {};
  }

 private:
  void compute() {
    try {
      function_.compute(session_.problem(), views());
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      fail(ErrorCode::environment, "{} throws \"{}\" for {}", function_.name, error.what(), spell(session_.problem()));
    } catch (...) {
      fail(ErrorCode::environment, "{} throws what is no std::exception for {}", function_.name,
           spell(session_.problem()));
    }
  }

  /// A guard zone or an operand that is not what it was.
  [[nodiscard]] std::string stray_write() {
    for (const GuardedTensor* tensor : tensors()) {
      const std::string_view side = tensor->memory.written_guard();
      if (!side.empty()) return fmt::format("memory {} the {} was written", side, tensor->name);
    }
    const auto given = in_order(session_.host_operands());
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i] && !std::ranges::equal(given[i], operands_[i]->memory.bytes()))
        return fmt::format("the {} was changed", operands_[i]->name);
    }
    return {};
  }

  static std::size_t output_bytes(const Problem& problem) {
    return static_cast<std::size_t>(element_count(output_shape(problem))) * element_bytes(problem.out_dtype);
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
  bool nans_ = false;
  std::string trespass_;  // the first that was seen
};

}  // namespace

std::unique_ptr<Executable> make_host_subject(Session& session, const HostFunction& function) {
  return std::make_unique<HostSubject>(session, function);
}

}  // namespace tapconv
