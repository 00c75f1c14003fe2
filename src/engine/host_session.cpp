#include "engine/host_session.hpp"

#include <chrono>
#include <cstring>

#include "engine/cpu_engine.hpp"
#include "engine/drawn_tensors.hpp"
#include "engine/processor.hpp"
#include "problem/element_places.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

class HostSession final : public Session {
 public:
  HostSession(const Problem& problem, int threads)
      : Session(problem), threads_(threads), tensors_(problem), output_places_(output_shape(problem), problem.layout) {}

  [[nodiscard]] std::string device_name() const override { return processor_info("model name"); }

  void fill(const Recipes& recipes) override {
    const Problem& p = problem();
    const auto fill_one = [&p](std::vector<std::byte>& target, const std::vector<std::int64_t>& shape, DType dtype,
                               const shared::Recipe& recipe) {
      if (!target.empty()) draw(target.data(), shape, dtype, p.layout, recipe);
    };
    fill_one(tensors_.input, input_shape(p), p.dtype, recipes.input);
    fill_one(tensors_.weight, weight_shape(p), p.dtype, recipes.weight);
    fill_one(tensors_.bias, {bias_count(p)}, p.dtype, recipes.bias);
    fill_one(tensors_.pointwise_weight, pointwise_weight_shape(p), p.dtype, recipes.pointwise_weight);
    fill_one(tensors_.pointwise_bias, {pointwise_bias_count(p)}, p.dtype, recipes.pointwise_bias);
    fill_one(tensors_.residual, output_shape(p), p.out_dtype, recipes.residual);
  }

  void upload(const Operands& operands) override {
    copy(operands.input, tensors_.input);
    copy(operands.weight, tensors_.weight);
    copy(operands.bias, tensors_.bias);
    copy(operands.pointwise_weight, tensors_.pointwise_weight);
    copy(operands.pointwise_bias, tensors_.pointwise_bias);
    copy(operands.residual, tensors_.residual);
  }

  [[nodiscard]] Operands host_operands() override { return tensors_.operands(); }

  void poison() override { std::memset(tensors_.output.data(), poison_byte, tensors_.output.size()); }

  void upload_output(std::span<const std::byte> output) override { copy(output, tensors_.output); }

  [[nodiscard]] Outputs gather(std::span<const std::int64_t> outputs) override {
    const std::size_t bytes = element_bytes(problem().out_dtype);
    const std::vector<std::byte> poison(bytes, std::byte{poison_byte});
    Outputs found;
    for (const std::int64_t output : outputs) {
      const std::int64_t place = output_places_(output);
      found.values.push_back(load_element(tensors_.output.data(), problem().out_dtype, place));
      found.unwritten.push_back(
          std::memcmp(tensors_.output.data() + static_cast<std::size_t>(place) * bytes, poison.data(), bytes) == 0);
    }
    return found;
  }

  [[nodiscard]] std::vector<OracleOutput> evaluate(std::span<const std::int64_t> outputs,
                                                   OperandRounding rounding) override {
    return oracle(problem(), tensors_.operands(), outputs, rounding);
  }

  [[nodiscard]] Tensor download() override {
    const std::vector<std::int64_t> shape = output_shape(problem());
    const auto owner = std::make_shared<const std::vector<std::byte>>(tensors_.output);
    return {TensorView{.data = owner->data(),
                       .dtype = problem().out_dtype,
                       .shape = shape,
                       .strides = strides_of(shape, problem().layout)},
            owner};
  }

  Executable& engine() override {
    if (!engine_) engine_ = make_cpu_engine(problem(), tensors_, threads_);
    return *engine_;
  }

  [[nodiscard]] std::vector<std::unique_ptr<Executable>> references(const std::string& library) override {
    if (library != "onednn") fail(ErrorCode::usage, "against = {}; valid on a CPU: onednn", library);
    return make_cpu_references(problem(), tensors_, threads_);
  }

  [[nodiscard]] std::unique_ptr<Executable> default_reference(const std::string& library) override {
    return std::move(references(library).front());
  }

  void chill() override {
    // Larger than the last-level cache of any one socket.
    constexpr std::size_t bytes = std::size_t{512} << 20;
    scratch_.resize(bytes);
    std::memset(scratch_.data(), ++chills_, bytes);
  }

  [[nodiscard]] double time(Executable& executable) override {
    const auto start = std::chrono::steady_clock::now();
    executable.run();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  static void copy(std::span<const std::byte> source, std::vector<std::byte>& target) {
    std::copy(source.begin(), source.end(), target.begin());
  }

  int threads_;
  HostTensors tensors_;
  ElementPlaces output_places_;
  std::vector<char> scratch_;
  unsigned char chills_ = 0;
  std::unique_ptr<Executable> engine_;
};

}  // namespace

std::unique_ptr<Session> open_host_session(const Problem& problem, int threads) {
  return std::make_unique<HostSession>(problem, threads);
}

}  // namespace tapconv
