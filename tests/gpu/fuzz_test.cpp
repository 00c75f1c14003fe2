// Random problems from the whole space, on every solver that takes them. The environment says how many and from which
// seed: TAPCONV_FUZZ_PROBLEMS (default: 300) and TAPCONV_FUZZ_SEED (default: 1).
#include <charconv>
#include <cstdlib>
#include <iostream>

#include "../unit/minimise.hpp"
#include "../unit/random_problem.hpp"
#include "problem/text.hpp"
#include "trial.hpp"

namespace tapconv {
namespace {

using testing::SolverPlan;

struct Settings {
  std::uint64_t problems = 300, seed = 1;

  static Settings read() {
    Settings settings;
    read("TAPCONV_FUZZ_PROBLEMS", settings.problems);
    read("TAPCONV_FUZZ_SEED", settings.seed);
    return settings;
  }

 private:
  static void read(const char* variable, std::uint64_t& number) {
    const char* const value = std::getenv(variable);
    if (!value) return;
    const std::string_view text(value);
    const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
    if (error != std::errc() || end != text.end())
      fail(ErrorCode::usage, "{} = {}; valid: an integer, 0 or more", variable, text);
  }
};

constexpr double most_flop = 2e8;

class Fuzz : public testing::SlicedGpuTest {
 protected:
  /// What is wrong with a solver on a problem; empty if nothing. An error of the plan counts, too.
  static std::string trial(const Problem& problem, const Solver& solver, std::uint64_t seed) {
    try {
      SolverPlan plan(problem, solver, model());
      plan.load(context());
      return testing::contract_trial(plan, context(), seed);
    } catch (const Error& error) {
      return fmt::format("error: {}", error.what());
    }
  }

  /// Whether the device still works: after an access outside of any allocation nothing does.
  static bool context_works() {
    try {
      return cuda::Buffer(context(), 256).bytes() == 256;
    } catch (const Error&) {
      return false;
    }
  }

  static void report(const Problem& problem, const Solver& solver, std::uint64_t seed, const std::string& wrong,
                     bool minimise) {
    std::string text = fmt::format(
        "{} on {}\n  {}\n  again: TAPCONV_FUZZ_PROBLEMS=1 TAPCONV_FUZZ_SEED={} tapconv_gpu_tests "
        "--gtest_filter='*Fuzz.*/0'",
        solver.name(), spell(problem), wrong, seed);
    if (!context_works()) {
      text += "\n  the device's context is lost: the rest of this slice was not tried";
    } else if (minimise) {
      const auto fails = [&](const Problem& simpler) {
        return SolverPlan::takes(simpler, solver, model()) && context_works() && !trial(simpler, solver, seed).empty();
      };
      const std::string least = spell(testing::Minimiser(fails, 80)(problem));
      text += fmt::format("\n  minimised: {}\n  again: tapconv check '{}'", least, least);
    }
    ADD_FAILURE() << text;
  }
};

TEST_P(Fuzz, RandomProblemsKeepTheirContracts) {
  const Settings settings = Settings::read();
  struct Case {
    std::uint64_t seed;
    Problem problem;
  };
  std::vector<Case> cases;
  for (std::uint64_t i = GetParam(); i < settings.problems; i += slices)
    cases.push_back({settings.seed + i, testing::any_random_problem(settings.seed + i, most_flop)});
  if (cases.empty()) return;
  std::cout << fmt::format("seeds {} to {}, every {}th\n", cases.front().seed, cases.back().seed, slices);

  std::vector<SolverPlan> plans;
  for (const Case& one : cases) {
    for (SolverPlan& plan : testing::plans_of(one.problem, model())) plans.push_back(std::move(plan));
  }
  testing::compile_ahead(context(), plans);
  plans.clear();
  int failures = 0;
  for (const Case& one : cases) {
    for (const Solver* solver : solvers()) {
      if (!SolverPlan::takes(one.problem, *solver, model())) continue;
      const std::string wrong = trial(one.problem, *solver, one.seed);
      if (wrong.empty()) continue;
      // The first one of a slice is enough to minimise, which takes a compilation a step.
      report(one.problem, *solver, one.seed, wrong, ++failures == 1);
      if (!context_works()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, Fuzz, ::testing::Range(0, testing::SlicedGpuTest::slices));

}  // namespace
}  // namespace tapconv
