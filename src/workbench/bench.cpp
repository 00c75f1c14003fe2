#include "workbench/bench.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "problem/ceilings.hpp"
#include "problem/text.hpp"
#include "workbench/judge.hpp"
#include "workbench/measurement.hpp"
#include "workbench/median.hpp"

namespace tapconv {
namespace {

/// The fewest values that have a 95 % interval of their median.
constexpr int least_rounds = 6;
constexpr std::string_view torch_names[] = {"torch", "torch-benchmark"};

/// One thing that is timed, and what was seen of it.
struct Contender {
  Executable* executable;
  Measurement seen;

  explicit Contender(Executable& timed) : executable(&timed) {
    seen.name = timed.name();
    seen.layout = timed.layout();
    seen.notes = timed.notes();
  }
};

/// Whether an engine computes by a transform (Winograd, FFT), whose errors and costs are another matter.
bool transforms(const Executable& executable) {
  const std::vector<std::string> notes = executable.notes();
  return std::any_of(notes.begin(), notes.end(),
                     [](const std::string& note) { return note == "winograd" || note == "fft"; });
}

/// The best of each layout, with and without transforms, then the best of the rest. `ranking` is fastest first.
std::vector<Executable*> finalists(const std::vector<std::pair<double, Executable*>>& ranking, std::size_t count) {
  std::vector<Executable*> chosen, rest;
  std::set<std::pair<std::string, bool>> kinds;
  for (const auto& [ms, executable] : ranking) {
    const bool first = kinds.emplace(executable->layout(), transforms(*executable)).second;
    (first ? chosen : rest).push_back(executable);
  }
  for (Executable* executable : rest) {
    if (chosen.size() >= count) break;
    chosen.push_back(executable);
  }
  return chosen;
}

class Bench {
 public:
  Bench(Session& session, const BenchRequest& request)
      : request_(request), problem_(request.problem), session_(session), random_(request.seed) {}

  BenchReport run(std::vector<TorchReference>& frameworks, Refusal refusal) {
    report_.problem = problem_;
    report_.device = request_.device;
    tell(0, "planning");
    contenders_.emplace_back(session_.engine());
    report_.device_name = session_.device_name();
    report_.floor = find_floor(problem_, report_.device_name);
    if (!std::ranges::all_of(request_.against, is_torch)) choose_finalists(refusal);
    fingerprint_contenders();
    rounds();
    if (request_.sustained_s > 0) {
      for (Contender& contender : contenders_) sustain(contender);
    }
    for (TorchReference& framework : frameworks) {
      tell(0.97, "timing PyTorch");
      report_.frameworks.push_back(framework.measure(session_, request_));
    }
    finish_report();
    tell(1, "done");
    return std::move(report_);
  }

 private:
  void tell(double fraction, std::string_view doing) const {
    if (request_.progress) request_.progress(fraction, doing);
  }

  /// Fresh operands at the same addresses, a poisoned output, a cold cache, an idle device: then one timed call.
  double timed_call(Executable& executable, double idle_ms) {
    session_.fill(uniform_recipes(problem_, ++fills_ + request_.seed));
    session_.poison();
    executable.prepare();
    session_.chill();
    session_.synchronize();
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(idle_ms));
    session_.hold();
    return clocked(executable);
  }

  /// Milliseconds of one call by the device's clock, which must be a time.
  double clocked(Executable& executable) {
    const double ms = session_.time(executable);
    if (!(ms > 0) || std::isinf(ms))
      fail(ErrorCode::environment, "a call of {} took {} ms by the device's clock; valid: above 0", executable.name(),
           ms);
    return ms;
  }

  /// One call with cold caches, after one that loads the kernels. A call far too slow to matter is not repeated.
  double trial(Executable& executable, double best_ms) {
    constexpr double loading_ms = 200;
    executable.prepare();
    const double first_ms = clocked(executable);
    if (first_ms > loading_ms + 20 * best_ms) return first_ms;
    session_.chill();
    session_.synchronize();
    return clocked(executable);
  }

  /// Tries every configuration of the library and keeps the fastest.
  void choose_finalists(Refusal refusal) {
    try {
      references_ = session_.references(std::string(library_of(request_.device)));
    } catch (const Error& error) {
      if (refusal == Refusal::fails) throw;
      report_.refusal = error.what();
      return;
    }
    session_.fill(uniform_recipes(problem_, request_.seed));
    std::vector<std::pair<double, Executable*>> ranking;
    double best_ms = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < references_.size(); ++i) {
      tell(0.5 * static_cast<double>(i) / static_cast<double>(references_.size()),
           "trying every reference configuration");
      Executable& reference = *references_[i];
      BenchReport::Trial& tried = report_.trials.emplace_back();
      tried.name = reference.name();
      tried.layout = reference.layout();
      tried.notes = reference.notes();
      try {
        tried.ms = trial(reference, best_ms);
        best_ms = std::min(best_ms, tried.ms);
        ranking.emplace_back(tried.ms, &reference);
      } catch (const Error& error) {
        tried.reason = error.what();
        references_[i].reset();  // releases what it holds
      }
    }
    if (ranking.empty()) {
      const std::string reason = fmt::format("none of the {} configurations of {} runs this problem",
                                             references_.size(), library_of(request_.device));
      if (refusal == Refusal::fails) fail(ErrorCode::environment, "{}", reason);
      report_.refusal = reason;
      return;
    }
    std::sort(ranking.begin(), ranking.end());
    for (Executable* executable : finalists(ranking, static_cast<std::size_t>(request_.finalists)))
      contenders_.emplace_back(*executable);
  }

  void fingerprint_contenders() {
    const std::vector<std::int64_t> outputs = fingerprint_samples(problem_, request_.seed);
    session_.fill(tie_recipes(problem_, request_.seed));
    const std::vector<std::vector<OracleOutput>> hypotheses = hypotheses_of(session_, outputs);
    for (Contender& contender : contenders_) {
      execute(session_, *contender.executable);
      contender.seen.print = fingerprint(problem_, session_.gather(outputs).values, hypotheses);
    }
  }

  /// Judges what the timed call left. The engine has promised to keep the contract.
  void verify(Contender& contender) {
    contender.executable->finish();
    const auto outputs = sample_outputs(problem_, judged_outputs, random_());
    judge_call(contender.seen, session_, &contender == &contenders_.front(), outputs, session_.gather(outputs).values);
  }

  void rounds() {
    for (Contender& contender : contenders_) timed_call(*contender.executable, 0);  // warm-up
    std::vector<std::size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // The number of rounds is fixed beforehand: stopping once an interval looks narrow would make it too narrow.
    for (int round = 0; round < request_.rounds; ++round) {
      tell(0.5 + 0.4 * round / request_.rounds, "timing, spaced");
      std::shuffle(order.begin(), order.end(), random_);
      std::vector<double> times(contenders_.size());
      bool slowed = false;
      for (const std::size_t i : order) {
        times[i] = timed_call(*contenders_[i].executable, request_.idle_ms);
        const Session::Condition condition = session_.condition();
        slowed = slowed || condition.slowed;
        report_.power_capped = report_.power_capped || condition.power_capped;
        for (const auto& [name, value] : condition.readings) readings_[name].push_back(value);
        verify(contenders_[i]);
      }
      if (slowed) {
        ++report_.dropped_rounds;
        continue;
      }
      for (std::size_t i = 0; i < times.size(); ++i) contenders_[i].seen.spaced_ms.push_back(times[i]);
      ++report_.rounds;
    }
    if (report_.rounds == 0)
      fail(ErrorCode::environment, "every round was dropped: the device slows itself down (heat or hardware)");
  }

  /// To the reference with the least median among those whose outputs are right and whose times can be.
  [[nodiscard]] std::optional<BenchReport::Ratio> ratio() const {
    const Measurement* best = nullptr;
    for (std::size_t i = 1; i < contenders_.size(); ++i) {
      const Measurement& seen = contenders_[i].seen;
      if (seen.max_bound_ratio > 1 || entry(contenders_[i]).implausible) continue;
      if (!best || median(seen.spaced_ms) < median(best->spaced_ms)) best = &seen;
    }
    if (!best) return std::nullopt;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < best->spaced_ms.size(); ++i)
      ratios.push_back(best->spaced_ms[i] / contenders_.front().seen.spaced_ms[i]);
    const MedianInterval interval = median_interval(ratios);
    return BenchReport::Ratio{
        .reference = best->name,
        .arithmetic = best->print.name(),
        .median = interval.median,
        .low = interval.low,
        .high = interval.high,
        .converged = report_.rounds >= least_rounds && interval.high - interval.low <= 0.04 * interval.median};
  }

  /// Each call by the device's clock and by the host's, around it.
  void sustain(Contender& contender) {
    using Clock = std::chrono::steady_clock;
    tell(0.95, "timing, sustained");
    contender.executable->prepare();
    session_.synchronize();
    std::vector<double> times, walls;
    const auto start = Clock::now();
    auto before = start;
    while (std::chrono::duration<double>(before - start).count() < request_.sustained_s || times.size() < 3) {
      times.push_back(clocked(*contender.executable));
      const auto after = Clock::now();
      walls.push_back(std::chrono::duration<double, std::milli>(after - before).count());
      before = after;
    }
    const auto second_half = static_cast<std::ptrdiff_t>(times.size() / 2);
    contender.seen.sustained_ms = median({times.begin() + second_half, times.end()});
    contender.seen.sustained_wall_ms = median({walls.begin() + second_half, walls.end()});
  }

  [[nodiscard]] BenchEntry entry(const Contender& contender) const {
    return entry_of(contender.seen, problem_, report_.device_name);
  }

  void finish_report() {
    report_.engine = entry(contenders_.front());
    report_.as_declared =
        contenders_.front().seen.print.consistent_with(operand_rounding(problem_.contract, problem_.tie_rule));
    report_.ratio = ratio();
    for (std::size_t i = 1; i < contenders_.size(); ++i) report_.references.push_back(entry(contenders_[i]));
    std::sort(report_.references.begin(), report_.references.end(),
              [](const BenchEntry& a, const BenchEntry& b) { return a.spaced_ms < b.spaced_ms; });
    for (auto& [name, values] : readings_) report_.clocks[name] = median(values);
  }

  const BenchRequest& request_;
  const Problem& problem_;
  Session& session_;
  std::mt19937_64 random_;
  std::uint64_t fills_ = 0;
  std::vector<std::unique_ptr<Executable>> references_;
  std::vector<Contender> contenders_;  // the engine first
  std::map<std::string, std::vector<double>> readings_;
  BenchReport report_;
};

}  // namespace

bool is_torch(std::string_view name) { return std::ranges::find(torch_names, name) != std::ranges::end(torch_names); }

void expect_names(const std::string& field, const std::vector<std::string>& names,
                  const std::vector<std::string>& valid, const Device& device) {
  std::set<std::string> seen;
  for (const std::string& one : names) {
    if (std::ranges::find(valid, one) == valid.end() && !is_torch(one))
      fail(ErrorCode::usage, "{} = {}; valid on {}: {}, {}", field, one, name(device), fmt::join(valid, ", "),
           fmt::join(torch_names, ", "));
    if (!seen.insert(one).second) fail(ErrorCode::usage, "{} names {} twice", field, one);
  }
}

void expect_protocol(const BenchRequest& request) {
  expect_names("against", request.against, {std::string(library_of(request.device))}, request.device);
  const auto expect = [](const char* field, double value, double least, double most) {
    // Written so that NaN is refused.
    if (!(value >= least && value <= most))
      fail(ErrorCode::usage, "{} = {}; valid: {} to {}", field, value, least, most);
  };
  expect("rounds", request.rounds, 1, 1000);
  expect("idle_ms", request.idle_ms, 0, 10000);
  expect("sustained_s", request.sustained_s, 0, 60);
  expect("finalists", request.finalists, 1, 100);
  expect("worker_timeout_s", request.worker_timeout_s, 1, 3600);
}

std::vector<TorchReference> torch_references(const std::vector<std::string>& names) {
  std::vector<TorchReference> all;
  for (const std::string& name : names) {
    if (is_torch(name)) all.emplace_back(name);
  }
  return all;
}

BenchReport bench(Session& session, const BenchRequest& request, std::vector<TorchReference>& frameworks,
                  Refusal refusal) {
  return Bench(session, request).run(frameworks, refusal);
}

BenchReport bench(const BenchRequest& request, std::vector<TorchReference>& frameworks, Refusal refusal) {
  validate(request.problem);
  const std::unique_ptr<Session> session = Session::open(request.problem, request.device);
  BenchReport report = bench(*session, request, frameworks, refusal);
  report.configuration = plan(request.problem, request.device).configuration;
  return report;
}

BenchReport bench(const BenchRequest& request) {
  expect_protocol(request);
  std::vector<TorchReference> frameworks = torch_references(request.against);
  return bench(request, frameworks, Refusal::fails);
}

}  // namespace tapconv
