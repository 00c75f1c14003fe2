#include <cmath>

#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

class Epilogues {
 public:
  explicit Epilogues(const Problem& problem) : problem_(problem) {}

  std::vector<Suspicion> all() {
    if (problem_.bias) bias();
    if (problem_.residual) residual();
    activation();
    scale();
    if (!problem_.residual) accumulated();
    return std::move(found_);
  }

 private:
  void add(const char* cause, std::string said, Variant variant) {
    found_.push_back({cause, std::move(said), std::move(variant)});
  }

  /// `value` of an epilogue and the activation.
  template <class Value>
  void finish(const char* cause, std::string said, Value value) {
    Variant variant = faithful(problem_);
    variant.finish = [value, p = problem_](const Epilogue& e) {
      return value(e, [&p](double sum) { return activate(p.activation, sum, p.negative_slope); });
    };
    add(cause, std::move(said), std::move(variant));
  }

  void bias() {
    finish("bias-missing", "the bias is not added; add one value per output channel",
           [](const Epilogue& e, auto act) { return act(e.sum + e.residual); });
    finish("bias-doubled", "the bias is added twice; add it to one partial sum alone",
           [](const Epilogue& e, auto act) { return act(e.sum + 2 * e.bias + e.residual); });
    if (problem_.kind == Kind::depthwise_separable) {
      Variant variant = faithful(problem_);
      variant.depthwise_bias = false;
      add("depthwise-bias-missing", "the bias of the depthwise half is not added", std::move(variant));
    }
    const std::int64_t channels = problem_.out_channels, group = channels / problem_.groups;
    const auto channel = [&](const char* said, std::function<std::int64_t(std::int64_t)> of) {
      Variant variant = faithful(problem_);
      variant.bias_channel = std::move(of);
      add("bias-of-other-channel", said, std::move(variant));
    };
    if (channels == 1) return;
    channel("every channel gets the bias of channel 0; index the bias with the output channel",
            [](std::int64_t) { return 0; });
    channel("every channel gets the bias of the next one; check the index of the bias",
            [=](std::int64_t k) { return (k + 1) % channels; });
    channel("every channel gets the bias of the one before; check the index of the bias",
            [=](std::int64_t k) { return (k + channels - 1) % channels; });
    if (problem_.groups > 1)
      channel("every group gets the biases of the first; add the group to the index of the bias",
              [=](std::int64_t k) { return k % group; });
  }

  void residual() {
    finish("residual-missing", "the residual is not added; add it before the activation",
           [](const Epilogue& e, auto act) { return act(e.sum + e.bias); });
    finish("residual-doubled", "the residual is added twice",
           [](const Epilogue& e, auto act) { return act(e.sum + e.bias + 2 * e.residual); });
    if (problem_.activation != Activation::none)
      finish("residual-after-activation", "the residual is added after the activation; add it before",
             [](const Epilogue& e, auto act) { return act(e.sum + e.bias) + e.residual; });
  }

  void activation() {
    for (const Activation other : all_activations) {
      if (other == problem_.activation) continue;
      Variant variant = faithful(problem_);
      variant.problem.activation = other;
      if (other == Activation::leaky_relu) variant.problem.negative_slope = 0.01;
      if (other == Activation::none)
        add("activation-missing", fmt::format("the activation, {}, is missing", name(problem_.activation)),
            std::move(variant));
      else if (problem_.activation == Activation::none)
        add("activation-unwanted", fmt::format("the result went through {}; no activation is asked for", name(other)),
            std::move(variant));
      else
        add("activation-other",
            fmt::format("the activation is {} where {} is asked for", name(other), name(problem_.activation)),
            std::move(variant));
    }
    if (problem_.activation != Activation::none && problem_.bias)
      finish("bias-after-activation", "the bias is added after the activation; add it before",
             [](const Epilogue& e, auto act) { return act(e.sum + e.residual) + e.bias; });
  }

  void scale() {
    const Problem filter = stages(problem_).back();
    const double taps = static_cast<double>(filter.kernel[0] * filter.kernel[1] * filter.kernel[2]);
    const double channels = static_cast<double>(filter.in_channels / filter.groups);
    const auto times = [&](const char* cause, double factor, std::string said) {
      if (factor == 1) return;
      finish(cause, std::move(said),
             [factor](const Epilogue& e, auto act) { return act(factor * e.sum + e.bias + e.residual); });
    };
    times("sign-flipped", -1, "the sum of products has the wrong sign");
    times("scaled", 2,
          "the sum of products is twice what it should be: something is added twice, or two threads add all");
    times("scaled", 0.5,
          "the sum of products is half of what it should be: one of two partial sums is missing or it is averaged");
    times("mean-instead-of-sum", 1 / (taps * channels),
          fmt::format("it is the mean of the {:g} products instead of their sum; do not divide", taps * channels));
    if (channels > 1) times("mean-instead-of-sum", 1 / taps, "the sum is divided by the number of taps; do not divide");
    if (taps > 1)
      times("mean-instead-of-sum", 1 / channels, "the sum is divided by the number of input channels; do not divide");
  }

  /// The earlier output stands in the residual's place where the problem has none.
  void accumulated() {
    Variant variant = faithful(problem_);
    variant.problem.residual = true;
    variant.finish = [p = problem_](const Epilogue& e) {
      return activate(p.activation, e.sum + e.bias, p.negative_slope) + e.residual;
    };
    add("accumulated-onto-earlier",
        "the result is added to what an earlier call left in the output; overwrite it, or set it to zero before",
        std::move(variant));
  }

  Problem problem_;
  std::vector<Suspicion> found_;
};

}  // namespace

std::vector<Suspicion> epilogue_suspicions(const Problem& problem) { return Epilogues(problem).all(); }

}  // namespace tapconv
