// Each stage of a check sees the fault that it is there for, and says what it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "subjects.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::check_function;
using testing::compute_in;
using testing::Manner;
using testing::stage_of;
using testing::subject_in;
using Result = CheckStage::Result;

Problem plain_problem() { return parse_problem("Conv2d(6, 8, 3, padding=1) @ 2x6x9x11"); }

/// An honest subject but for what `spoil` does to the output afterwards.
template <class Spoil>
HostFunction spoiled(const Spoil& spoil) {
  return {"spoiled", [spoil](const Problem& problem, const HostViews& tensors) {
            compute_in({}, problem, tensors);
            spoil(problem, tensors);
          }};
}

/// Computes on a changed copy of the input or the weights, dense float32 ones.
template <class Change>
HostFunction misreading(TensorView HostViews::*tensor, const Change& change) {
  return {"misreading", [=](const Problem& problem, const HostViews& tensors) {
            const TensorView& view = tensors.*tensor;
            const auto* begin = static_cast<const float*>(view.data);
            std::vector<float> copy(begin, begin + element_count(view.shape));
            change(copy);
            HostViews changed = tensors;
            (changed.*tensor).data = copy.data();
            compute_in({}, problem, changed);
          }};
}

float* outputs_of(const HostViews& tensors) { return static_cast<float*>(tensors.output.data); }

void expect_only_failure(const CheckReport& report, std::string_view name) {
  EXPECT_FALSE(report.passed);
  for (const CheckStage& stage : report.stages)
    EXPECT_EQ(stage.name == name, stage.result == Result::failed) << stage.name << ": " << stage.reason;
}

TEST(CheckStages, ARightSubjectPassesAll) {
  const CheckReport report = check_function(plain_problem(), subject_in({}, "naive loops"));
  EXPECT_TRUE(report.passed) << report.sentence;
  EXPECT_EQ("naive loops", report.solver);
  EXPECT_EQ(3u, report.cases.size());
  ASSERT_EQ(std::size(check_stages), report.stages.size());
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    EXPECT_EQ(check_stages[i], report.stages[i].name);
    EXPECT_EQ(Result::passed, report.stages[i].result);
    EXPECT_EQ(spell(plain_problem()), report.stages[i].problem);
  }
  EXPECT_GT(stage_of(report, "neighbours").cases.size(), 15u);
  EXPECT_FALSE(report.diagnosis.has_value());
}

TEST(CheckStages, AFlippedFilterFailsEarlyAndIsExplained) {
  const HostFunction flipped = misreading(&HostViews::weight, [](std::vector<float>& weights) {
    for (std::size_t i = 0; i + 9 <= weights.size(); i += 9)
      std::reverse(weights.begin() + static_cast<std::ptrdiff_t>(i),
                   weights.begin() + static_cast<std::ptrdiff_t>(i + 9));
  });
  const CheckReport report = check_function(plain_problem(), flipped);
  for (const char* name : {"integers", "impulses", "full"}) EXPECT_EQ(Result::failed, stage_of(report, name).result);
  EXPECT_EQ("unknown", report.arithmetic);
  EXPECT_EQ("the result is as far from every arithmetic", stage_of(report, "fingerprint").reason);
  for (const char* name : {"distributions", "neighbours", "special"}) {
    EXPECT_EQ(Result::skipped, stage_of(report, name).result);
    EXPECT_EQ("stage integers has failed", stage_of(report, name).reason);
  }
  EXPECT_FALSE(stage_of(report, "integrity").cases.empty());
  ASSERT_TRUE(report.diagnosis.has_value());
  EXPECT_EQ(2 * 8 * 9 * 11, report.diagnosis->outputs);
  EXPECT_TRUE(report.sentence.starts_with("Wrong: ")) << report.sentence;
  EXPECT_NE(std::string::npos, report.sentence.find("exact integers are not the exact sum")) << report.sentence;
}

TEST(CheckStages, ImpulsesNameTheWrongTapAndChannel) {
  // Every filter's taps are read from the second one on, the first one last.
  const HostFunction shifted = misreading(&HostViews::weight, [](std::vector<float>& weights) {
    for (auto taps = weights.begin(); taps != weights.end(); taps += 9) std::rotate(taps, taps + 1, taps + 9);
  });
  const CheckReport report = check_function(plain_problem(), shifted, {"impulses"});
  expect_only_failure(report, "impulses");
  EXPECT_NE(std::string::npos, report.sentence.find("alone is set")) << report.sentence;
  EXPECT_NE(std::string::npos, report.sentence.find(" reads")) << report.sentence;

  const HostFunction skipping =
      misreading(&HostViews::input, [](std::vector<float>& input) { std::fill(input.end() - 99, input.end(), 0.0f); });
  const CheckReport skipped = check_function(plain_problem(), skipping, {"impulses"});
  expect_only_failure(skipped, "impulses");
  EXPECT_NE(std::string::npos, skipped.sentence.find("channel 5, tap")) << skipped.sentence;
  EXPECT_NE(std::string::npos, skipped.sentence.find("is skipped")) << skipped.sentence;
}

TEST(CheckStages, ImpulsesSeePaddingThatIsNotZero) {
  Problem problem = plain_problem();
  const HostFunction replicating = {"replicating", [](const Problem& asked, const HostViews& tensors) {
                                      Problem other = asked;
                                      other.padding_mode = PaddingMode::replicate;
                                      compute_in({}, other, tensors);
                                    }};
  const CheckReport report = check_function(problem, replicating, {"impulses"});
  expect_only_failure(report, "impulses");
  EXPECT_NE(std::string::npos, report.sentence.find("is ")) << report.sentence;
}

TEST(CheckStages, DistributionsSeeWhatModerateNumbersDoNot) {
  const HostFunction saturating = misreading(&HostViews::weight, [](std::vector<float>& weight) {
    for (float& w : weight) w = std::clamp(w, -16.0f, 16.0f);
  });
  const CheckReport report = check_function(plain_problem(), saturating, {"full", "fingerprint", "distributions"});
  expect_only_failure(report, "distributions");
  EXPECT_NE(std::string::npos, report.sentence.find("wide tensors")) << report.sentence;
}

TEST(CheckStages, SparseOperandsSeeAShortAccumulator) {
  // 16 significant bits, as if the sum were kept in two bfloat16.
  const HostFunction coarse = spoiled([](const Problem&, const HostViews& tensors) {
    for (std::int64_t i = 0; i < element_count(tensors.output.shape); ++i) {
      float& value = outputs_of(tensors)[i];
      const float high = round_operand(value, OperandRounding::bf16);
      value = high + round_operand(value - high, OperandRounding::bf16);
    }
  });
  const CheckReport report = check_function(plain_problem(), coarse, {"distributions"});
  expect_only_failure(report, "distributions");
  EXPECT_NE(std::string::npos, report.sentence.find("sparse tensors of about 1 products")) << report.sentence;
}

TEST(CheckStages, NeighboursSeeConstantsThatBelongToOneProblem) {
  const HostFunction rigid = {"rigid", [](const Problem& asked, const HostViews& tensors) {
                                Problem other = asked;
                                other.dilation = {1, 1, 1};
                                if (output_shape(other) != output_shape(asked)) other = asked;
                                compute_in({}, other, tensors);
                                if (asked.in_channels % 2 != 0) outputs_of(tensors)[0] += 1;
                              }};
  const CheckReport report = check_function(plain_problem(), rigid);
  expect_only_failure(report, "neighbours");
  EXPECT_NE(std::string::npos, report.sentence.find("7 -> 8 channels in 1 groups")) << report.sentence;
  EXPECT_TRUE(std::ranges::any_of(stage_of(report, "neighbours").cases, [](const CheckCase& item) {
    return item.problem.starts_with("Conv2d(7, 8, 3, padding=1)") && item.violations > 0;
  }));
}

TEST(CheckStages, ARefusedNeighbourIsNoted) {
  const HostFunction picky = {"picky", [](const Problem& asked, const HostViews& tensors) {
                                if (asked.batch != 2) throw Error(ErrorCode::usage, "only pairs of images");
                                compute_in({}, asked, tensors);
                              }};
  const CheckReport report = check_function(plain_problem(), picky);
  EXPECT_TRUE(report.passed) << report.sentence;
  const CheckStage& stage = stage_of(report, "neighbours");
  EXPECT_EQ(2u, stage.notes.size());
  EXPECT_NE(std::string::npos, stage.notes[0].find("is refused: only pairs of images")) << stage.notes[0];

  const HostFunction single = {"single", [](const Problem& asked, const HostViews& tensors) {
                                 if (asked != plain_problem()) throw Error(ErrorCode::usage, "another problem");
                                 compute_in({}, asked, tensors);
                               }};
  const CheckReport alone = check_function(plain_problem(), single);
  EXPECT_TRUE(alone.passed) << alone.sentence;
  EXPECT_EQ(Result::skipped, stage_of(alone, "neighbours").result);
  EXPECT_EQ("every neighbour is refused", stage_of(alone, "neighbours").reason);

  const HostFunction failing = {"failing", [](const Problem& asked, const HostViews& tensors) {
                                  if (asked != plain_problem()) throw std::runtime_error("it fell over");
                                  compute_in({}, asked, tensors);
                                }};
  const CheckReport fallen = check_function(plain_problem(), failing);
  expect_only_failure(fallen, "neighbours");
  EXPECT_NE(std::string::npos, fallen.sentence.find("it fell over")) << fallen.sentence;
}

TEST(CheckStages, SpecialValuesMustSurvive) {
  const HostFunction without_nans = misreading(&HostViews::input, [](std::vector<float>& input) {
    for (float& x : input) x = std::isnan(x) ? 0 : x;
  });
  CheckReport report = check_function(plain_problem(), without_nans);
  expect_only_failure(report, "special");
  EXPECT_NE(std::string::npos, report.sentence.find("NaNs in the input")) << report.sentence;

  // The least NaN becomes an infinity if its low bits are cut.
  const HostFunction cutting = misreading(&HostViews::weight, [](std::vector<float>& weights) {
    for (float& w : weights) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &w, sizeof bits);
      if (std::isnan(w)) bits &= 0xffffe000u;
      std::memcpy(&w, &bits, sizeof bits);
    }
  });
  report = check_function(plain_problem(), cutting);
  expect_only_failure(report, "special");

  const HostFunction finite = misreading(&HostViews::weight, [](std::vector<float>& weights) {
    for (float& w : weights) w = std::isinf(w) ? std::copysign(std::numeric_limits<float>::max(), w) : w;
  });
  report = check_function(plain_problem(), finite);
  expect_only_failure(report, "special");
  EXPECT_NE(std::string::npos, report.sentence.find("infinities in the weights")) << report.sentence;
}

TEST(CheckStages, SubnormalNumbersAreAskedForUnderIeeeAlone) {
  const HostFunction flushing = misreading(&HostViews::input, [](std::vector<float>& input) {
    for (float& x : input) x = std::fpclassify(x) == FP_SUBNORMAL ? 0 : x;
  });
  const Problem ieee = parse_problem("Conv2d(6, 8, 3, padding=1, math=ieee) @ 2x6x9x11");
  const CheckReport report = check_function(ieee, flushing);
  expect_only_failure(report, "special");
  EXPECT_NE(std::string::npos, report.sentence.find("subnormal integers")) << report.sentence;
  EXPECT_TRUE(check_function(ieee, subject_in({})).passed);
  const CheckReport fp32 = check_function(plain_problem(), flushing);
  EXPECT_TRUE(fp32.passed) << fp32.sentence;
  ASSERT_EQ(1u, stage_of(fp32, "special").notes.size());
  EXPECT_TRUE(stage_of(fp32, "special").notes[0].starts_with("subnormal numbers"));
}

TEST(Integrity, SeesWritesBesideTheOutput) {
  const auto reason = [](const auto& spoil) {
    const CheckReport report = check_function(plain_problem(), spoiled(spoil), {"integrity"});
    expect_only_failure(report, "integrity");
    EXPECT_NE(std::string::npos, report.sentence.find(stage_of(report, "integrity").reason)) << report.sentence;
    // The problem itself is watched too.
    const CheckReport own = check_function(plain_problem(), spoiled(spoil), {"full"});
    EXPECT_EQ(stage_of(report, "integrity").reason, stage_of(own, "full").reason);
    return stage_of(report, "integrity").reason;
  };
  EXPECT_EQ("memory after the output was written", reason([](const Problem&, const HostViews& tensors) {
              outputs_of(tensors)[element_count(tensors.output.shape)] = 0;
            }));
  // Over NaNs neither all bits set nor a multiple would be seen.
  EXPECT_EQ("memory after the output was written", reason([](const Problem&, const HostViews& tensors) {
              std::memset(outputs_of(tensors) + element_count(tensors.output.shape), 0xff, 64);
            }));
  EXPECT_EQ("memory after the output was written", reason([](const Problem&, const HostViews& tensors) {
              outputs_of(tensors)[element_count(tensors.output.shape)] *= 1.5f;
            }));
  EXPECT_EQ("memory before the output was written",
            reason([](const Problem&, const HostViews& tensors) { outputs_of(tensors)[-1] = 0; }));
  EXPECT_EQ("memory after the bias was written", reason([](const Problem&, const HostViews& tensors) {
              const_cast<float*>(static_cast<const float*>(tensors.bias->data))[8] = 0;
            }));
  EXPECT_EQ("the input was changed", reason([](const Problem&, const HostViews& tensors) {
              const_cast<float*>(static_cast<const float*>(tensors.input.data))[3] += 1;
            }));
}

TEST(CheckStages, AFunctionThatThrowsIsAnError) {
  for (const bool standard : {true, false}) {
    const HostFunction throwing = {"throwing", [standard](const Problem&, const HostViews&) {
                                     if (standard) throw std::runtime_error("boom");
                                     throw 42;
                                   }};
    try {
      (void)check_function(plain_problem(), throwing, {"full"});
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::environment, error.code());
      EXPECT_NE(std::string::npos, std::string(error.what()).find(standard ? "boom" : "no std::exception"))
          << error.what();
    }
  }
}

TEST(CheckStages, OneOutputOffByOneIsNoWrongTap) {
  const HostFunction off = spoiled([](const Problem&, const HostViews& tensors) { outputs_of(tensors)[5] += 1; });
  const CheckReport report = check_function(plain_problem(), off, {"integers", "impulses", "full"});
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(std::string::npos, stage_of(report, "impulses").reason.find(" reads"))
      << stage_of(report, "impulses").reason;
  EXPECT_EQ(std::string::npos, report.sentence.find("Nothing is wrong")) << report.sentence;
}

TEST(Integrity, SeesChance) {
  const auto calls = std::make_shared<int>(0);
  const CheckReport report = check_function(plain_problem(), spoiled([calls](const Problem&, const HostViews& tensors) {
                                              // A last bit that differs from call to call is within every bound.
                                              float& value = outputs_of(tensors)[7];
                                              if (++*calls % 2 == 0 && value != std::trunc(value))
                                                value = std::nextafter(value, 0.0f);
                                            }));
  expect_only_failure(report, "integrity");
  EXPECT_EQ("computing the same again gives other bits in 1 outputs, the first one at (0, 0, 0, 7)",
            stage_of(report, "integrity").reason);
}

TEST(Integrity, SeesStaleWeights) {
  // Packs weights once for each address.
  const auto packed = std::make_shared<std::vector<std::pair<const void*, std::vector<float>>>>();
  const HostFunction caching = {"caching", [packed](const Problem& problem, const HostViews& tensors) {
                                  const void* data = tensors.weight.data;
                                  auto found = std::ranges::find(*packed, data, [](const auto& p) { return p.first; });
                                  if (found == packed->end()) {
                                    const auto* begin = static_cast<const float*>(data);
                                    packed->emplace_back(data, std::vector<float>(begin, begin + 432));
                                    found = packed->end() - 1;
                                  }
                                  HostViews stale = tensors;
                                  stale.weight.data = found->second.data();
                                  compute_in({}, problem, stale);
                                }};
  const CheckReport report = check_function(plain_problem(), caching, {"integrity"});
  expect_only_failure(report, "integrity");
  EXPECT_NE(std::string::npos, report.sentence.find("other weights at the same addresses")) << report.sentence;
}

TEST(Integrity, SeesOutputsThatDependOnWhatWasThere) {
  const HostFunction keeping = {"keeping", [](const Problem& problem, const HostViews& tensors) {
                                  const float before = outputs_of(tensors)[5];
                                  compute_in({}, problem, tensors);
                                  // Numbers that were there are taken for a result.
                                  if (!std::isnan(before)) outputs_of(tensors)[5] = before;
                                }};
  const CheckReport report = check_function(plain_problem(), keeping, {"integrity"});
  expect_only_failure(report, "integrity");
  EXPECT_EQ("1 outputs depend on what the output held before, or are not written, the first one at (0, 0, 0, 5)",
            stage_of(report, "integrity").reason);
}

TEST(CheckStages, AnUnwrittenOutputIsSaidSo) {
  const HostFunction lazy = {"lazy", [](const Problem& problem, const HostViews& tensors) {
                               const float before = outputs_of(tensors)[5];
                               compute_in({}, problem, tensors);
                               std::memcpy(&outputs_of(tensors)[5], &before, sizeof before);
                             }};
  const CheckReport report = check_function(plain_problem(), lazy);
  EXPECT_FALSE(report.passed);
  EXPECT_NE(std::string::npos, report.sentence.find("were never written")) << report.sentence;
}

TEST(CheckStages, RunOnAReducedProblemIfTheirOwnIsLarge) {
  const Problem large = parse_problem("Conv1d(4, 4, 3, bias=False) @ 1x4x3000000");
  const CheckReport report = check_function(large, subject_in({}), {"integers", "impulses"});
  EXPECT_TRUE(report.passed) << report.sentence;
  EXPECT_EQ(spell(reduced(large)), report.stages[0].problem);
  EXPECT_EQ("Right: every stage that was asked for is passed.", report.sentence);
}

TEST(CheckStages, SecretSeedsAreSecretUnlessGiven) {
  CheckRequest request;
  request.problem = plain_problem();
  request.function = subject_in({});
  request.stages = {"distributions"};
  const CheckReport one = check(request), other = check(request);
  EXPECT_NE(one.secret_seed, other.secret_seed);
  EXPECT_NE(one.stages[0].cases[3].rms_error, other.stages[0].cases[3].rms_error);
  request.secret_seed = one.secret_seed;
  const CheckReport again = check(request);
  for (std::size_t i = 0; i < again.stages[0].cases.size(); ++i)
    EXPECT_EQ(one.stages[0].cases[i].rms_error, again.stages[0].cases[i].rms_error);
}

TEST(CheckStages, RefuseWhatCannotBe) {
  const auto expect_refused = [](const char* message, const auto& change) {
    CheckRequest request;
    request.problem = plain_problem();
    request.function = subject_in({});
    change(request);
    try {
      (void)check(request);
      ADD_FAILURE() << "not refused: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::usage, error.code());
      EXPECT_NE(std::string::npos, std::string(error.what()).find(message)) << error.what();
    }
  };
  expect_refused("stages = integer; valid: integers, impulses", [](auto& r) { r.stages = {"integer"}; });
  expect_refused("function \"none\" is empty", [](auto& r) { r.function = HostFunction{"none", {}}; });
  expect_refused("more than one is given", [](auto& r) { r.solver = "direct"; });
  expect_refused("its plans cannot be chosen", [](auto& r) {
    r.function.reset();
    r.solver = "direct";
  });
  expect_refused("it needs the stages full, fingerprint", [](auto& r) {
    r.against = "onednn";
    r.stages = {"full"};
  });
  expect_refused("a given output is judged by full, fingerprint", [](auto& r) {
    r.function.reset();
    r.output = Tensor(DType::float32, output_shape(r.problem));
    r.stages = {"integers"};
  });
}

TEST(CheckStages, AGivenOutputIsJudgedByTwo) {
  CheckRequest request;
  request.problem = plain_problem();
  request.output = Tensor(DType::float32, output_shape(request.problem));
  const CheckReport report = check(request);
  EXPECT_FALSE(report.passed);
  for (const CheckStage& stage : report.stages) {
    const bool judged = stage.name == "full" || stage.name == "fingerprint";
    EXPECT_EQ(!judged, stage.reason == "a given output is judged on its own tensors alone") << stage.name;
  }
  EXPECT_TRUE(report.diagnosis.has_value());
}

}  // namespace
}  // namespace tapconv
