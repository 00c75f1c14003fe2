#include "engine/cpu_session.hpp"

#include <chrono>
#include <cstring>
#include <optional>

#include "cpu/engine.hpp"
#include "engine/processor.hpp"
#include "problem/parallel.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// The operands of a session and its output.
struct HostTensors {
  std::vector<float> input, weight, bias, output;
};

class CpuEngine final : public Executable {
 public:
  CpuEngine(const Problem& problem, HostTensors& tensors) : tensors_(tensors), convolution_(problem) {}

  [[nodiscard]] std::string name() const override { return "oneDNN"; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {convolution_.implementation()}; }
  void prepare() override { convolution_.set_weights(tensors_.weight, tensors_.bias); }
  void run() override { convolution_.run(tensors_.input, tensors_.output); }

 private:
  HostTensors& tensors_;
  cpu::Convolution convolution_;
};

class CpuReference final : public Executable {
 public:
  CpuReference(HostTensors& tensors, cpu::Reference reference) : tensors_(tensors), reference_(std::move(reference)) {}

  [[nodiscard]] std::string name() const override {
    return fmt::format("oneDNN {} {}", cpu::version(), reference_.name());
  }
  void prepare() override { reference_.set_weights(tensors_.weight, tensors_.bias); }
  void run() override { reference_.run(tensors_.input, tensors_.output); }

 private:
  HostTensors& tensors_;
  cpu::Reference reference_;
};

class CpuSession final : public Session {
 public:
  explicit CpuSession(const Problem& problem) : Session(problem) {
    const auto size = [](const std::vector<std::int64_t>& shape) {
      return static_cast<std::size_t>(element_count(shape));
    };
    tensors_.input.resize(size(input_shape(problem)));
    tensors_.weight.resize(size(weight_shape(problem)));
    tensors_.bias.resize(problem.bias ? static_cast<std::size_t>(problem.out_channels) : 0);
    tensors_.output.resize(size(output_shape(problem)));
  }

  [[nodiscard]] std::string device_name() const override { return processor_info("model name"); }

  void fill(const Recipes& recipes) override {
    const auto fill_one = [](std::vector<float>& values, const shared::Recipe& recipe) {
      parallel_for(static_cast<std::int64_t>(values.size()), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          values[static_cast<std::size_t>(i)] = shared::seeded_value(recipe, i);
      });
    };
    fill_one(tensors_.input, recipes.input);
    fill_one(tensors_.weight, recipes.weight);
    fill_one(tensors_.bias, recipes.bias);
  }

  void upload(const Operands& operands) override {
    const auto copy = [](std::span<const float> source, std::vector<float>& target) {
      std::copy(source.begin(), source.end(), target.begin());
    };
    copy(operands.input, tensors_.input);
    copy(operands.weight, tensors_.weight);
    copy(operands.bias, tensors_.bias);
  }

  void poison() override { std::memset(tensors_.output.data(), poison_byte, tensors_.output.size() * sizeof(float)); }

  [[nodiscard]] std::vector<float> gather(std::span<const std::int64_t> outputs) override {
    std::vector<float> values;
    values.reserve(outputs.size());
    for (const std::int64_t output : outputs) values.push_back(tensors_.output[static_cast<std::size_t>(output)]);
    return values;
  }

  [[nodiscard]] std::vector<OracleOutput> evaluate(std::span<const std::int64_t> outputs,
                                                   OperandRounding rounding) override {
    return oracle(problem(), {tensors_.input, tensors_.weight, tensors_.bias}, outputs, rounding);
  }

  [[nodiscard]] std::vector<float> download() override { return tensors_.output; }

  Executable& engine() override {
    if (!engine_) engine_.emplace(problem(), tensors_);
    return *engine_;
  }

  [[nodiscard]] std::vector<std::unique_ptr<Executable>> references(const std::string& library) override {
    if (library != "onednn") fail(ErrorCode::usage, "against = {}; valid on a CPU: onednn", library);
    std::vector<std::unique_ptr<Executable>> all;
    for (cpu::Reference& reference : cpu::references(problem()))
      all.push_back(std::make_unique<CpuReference>(tensors_, std::move(reference)));
    return all;
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
  HostTensors tensors_;
  std::vector<char> scratch_;
  unsigned char chills_ = 0;
  std::optional<CpuEngine> engine_;
};

}  // namespace

bool cpu_engine_available() { return true; }

std::string cpu_engine_version() { return cpu::version(); }

std::unique_ptr<Session> open_cpu_session(const Problem& problem) { return std::make_unique<CpuSession>(problem); }

void describe_cpu(PlanReport& report) {
  report.device_name = processor_info("model name");
  report.solver = "oneDNN";
  report.configuration = cpu::Convolution(report.problem).implementation();
  report.verdicts = {{.solver = report.solver, .supported = true, .reason = {}}};
}

}  // namespace tapconv
