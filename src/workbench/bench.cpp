#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "problem/ceilings.hpp"
#include "problem/text.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/judge.hpp"
#include "workbench/median.hpp"

namespace tapconv {
namespace {

/// So many reference configurations are measured by the full protocol.
constexpr std::size_t finalist_count = 5;
/// The fewest values that have a 95 % interval of their median.
constexpr int least_rounds = 6;
constexpr std::int64_t verified_outputs = 512;

/// One thing that is timed, and what was seen of it.
struct Contender {
  Executable* executable;
  std::vector<double> spaced_ms;
  Fingerprint print{};
  double max_bound_ratio = 0;
  double sustained_ms = 0;
};

/// Whether an engine computes by a transform (Winograd, FFT), whose errors and costs are another matter.
bool transforms(const Executable& executable) {
  const std::vector<std::string> notes = executable.notes();
  return std::any_of(notes.begin(), notes.end(),
                     [](const std::string& note) { return note == "winograd" || note == "fft"; });
}

/// The best of each layout, with and without transforms, then the best of the rest. `ranking` is fastest first.
std::vector<Executable*> finalists(const std::vector<std::pair<double, Executable*>>& ranking) {
  std::vector<Executable*> chosen, rest;
  std::set<std::pair<std::string, bool>> kinds;
  for (const auto& [ms, executable] : ranking) {
    const bool first = kinds.emplace(executable->layout(), transforms(*executable)).second;
    (first ? chosen : rest).push_back(executable);
  }
  for (Executable* executable : rest) {
    if (chosen.size() >= finalist_count) break;
    chosen.push_back(executable);
  }
  return chosen;
}

class Bench {
 public:
  explicit Bench(const BenchRequest& request)
      : request_(request),
        problem_(request.problem),
        session_(Session::open(problem_, request.device)),
        random_(request.seed) {}

  BenchReport run() {
    report_.problem = problem_;
    report_.device = request_.device;
    tell(0, "planning");
    contenders_.push_back({.executable = &session_->engine(), .spaced_ms = {}});
    report_.device_name = session_->device_name();
    report_.floor = find_floor(problem_, report_.device_name);
    if (!request_.against.empty()) choose_finalists();
    for (Contender& contender : contenders_) fingerprint_contender(contender);
    rounds();
    if (request_.sustained_s > 0) {
      for (Contender& contender : contenders_) sustain(contender);
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
    session_->fill(uniform_recipes(problem_, ++fills_ + request_.seed));
    session_->poison();
    executable.prepare();
    session_->chill();
    session_->synchronize();
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(idle_ms));
    return session_->time(executable);
  }

  /// Runs every reference configuration once (after one untimed call, which loads its kernels) and keeps the fastest.
  void choose_finalists() {
    references_ = session_->references(request_.against);
    std::vector<std::pair<double, Executable*>> ranking;
    for (std::size_t i = 0; i < references_.size(); ++i) {
      tell(0.5 * static_cast<double>(i) / static_cast<double>(references_.size()),
           "trying every reference configuration");
      Executable& reference = *references_[i];
      try {
        execute(*session_, reference);
        ranking.emplace_back(timed_call(reference, 0), &reference);
      } catch (const Error&) {
        ++report_.refused;
        references_[i].reset();  // releases what it holds
      }
    }
    report_.considered = static_cast<std::int64_t>(ranking.size());
    if (ranking.empty())
      fail(ErrorCode::environment, "against = {}: none of its {} configurations runs this problem", request_.against,
           references_.size());
    std::sort(ranking.begin(), ranking.end());
    for (Executable* executable : finalists(ranking))
      contenders_.push_back({.executable = executable, .spaced_ms = {}});
  }

  void fingerprint_contender(Contender& contender) {
    session_->fill(tie_recipes(problem_, request_.seed));
    execute(*session_, *contender.executable);
    contender.print = fingerprint_output(*session_, request_.seed);
  }

  /// Judges what the timed call left: by the contract if the contender was found to compute as it declares (the engine
  /// always, as it promises no other), else by the bound of the arithmetic that it shows.
  void verify(Contender& contender) {
    contender.executable->finish();
    const OperandRounding declared = operand_rounding(problem_.contract, problem_.tie_rule);
    const bool as_declared = &contender == &contenders_.front() || contender.print.consistent_with(declared);
    const bool exact = contender.print.known && contender.print.rounding == OperandRounding::exact;
    Problem judged = problem_;
    if (!as_declared) judged.contract = exact ? Contract::fp32 : Contract::tf32;
    ErrorStatistics statistics(judged);
    const auto outputs = sample_outputs(problem_, verified_outputs, random_());
    statistics.add(outputs, session_->gather(outputs).values,
                   session_->evaluate(outputs, as_declared ? declared : contender.print.rounding));
    contender.max_bound_ratio = std::max(contender.max_bound_ratio, statistics.worst_ratio());
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
        const Session::Condition condition = session_->condition();
        slowed = slowed || condition.slowed;
        report_.power_capped = report_.power_capped || condition.power_capped;
        for (const auto& [name, value] : condition.readings) readings_[name].push_back(value);
        verify(contenders_[i]);
      }
      if (slowed) {
        ++report_.dropped_rounds;
        continue;
      }
      for (std::size_t i = 0; i < times.size(); ++i) contenders_[i].spaced_ms.push_back(times[i]);
      ++report_.rounds;
    }
    if (report_.rounds == 0)
      fail(ErrorCode::environment, "every round was dropped: the device slows itself down (heat or hardware)");
  }

  /// To the reference with the least median among those whose outputs are right.
  [[nodiscard]] std::optional<BenchReport::Ratio> ratio() const {
    const Contender* best = nullptr;
    for (std::size_t i = 1; i < contenders_.size(); ++i) {
      const Contender& contender = contenders_[i];
      if (contender.max_bound_ratio > 1) continue;
      if (!best || median(contender.spaced_ms) < median(best->spaced_ms)) best = &contender;
    }
    if (!best) return std::nullopt;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < best->spaced_ms.size(); ++i)
      ratios.push_back(best->spaced_ms[i] / contenders_.front().spaced_ms[i]);
    const MedianInterval interval = median_interval(ratios);
    return BenchReport::Ratio{
        .median = interval.median,
        .low = interval.low,
        .high = interval.high,
        .converged = report_.rounds >= least_rounds && interval.high - interval.low <= 0.04 * interval.median};
  }

  void sustain(Contender& contender) {
    using Clock = std::chrono::steady_clock;
    tell(0.95, "timing, sustained");
    contender.executable->prepare();
    std::vector<double> times;
    const auto start = Clock::now();
    while (std::chrono::duration<double>(Clock::now() - start).count() < request_.sustained_s || times.size() < 3)
      times.push_back(session_->time(*contender.executable));
    contender.sustained_ms = median({times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end()});
  }

  [[nodiscard]] BenchEntry entry(const Contender& contender) const {
    BenchEntry result;
    result.name = contender.executable->name();
    result.layout = contender.executable->layout();
    result.arithmetic = contender.print.name();
    result.notes = contender.executable->notes();
    result.spaced_ms = median(contender.spaced_ms);
    result.spaced_min_ms = *std::min_element(contender.spaced_ms.begin(), contender.spaced_ms.end());
    result.spaced_max_ms = *std::max_element(contender.spaced_ms.begin(), contender.spaced_ms.end());
    result.sustained_ms = contender.sustained_ms;
    result.max_bound_ratio = contender.max_bound_ratio;
    Problem as_computed = problem_;
    if (contender.print.known && contender.print.rounding != OperandRounding::exact)
      as_computed.contract = Contract::tf32;
    if (const auto floor = find_floor(as_computed, report_.device_name)) {
      result.reach_share = floor->reach_ms / result.spaced_ms;
      result.implausible = result.spaced_min_ms < floor->plausible_ms;
    }
    return result;
  }

  void finish_report() {
    report_.engine = entry(contenders_.front());
    report_.as_declared =
        contenders_.front().print.consistent_with(operand_rounding(problem_.contract, problem_.tie_rule));
    report_.ratio = ratio();
    for (std::size_t i = 1; i < contenders_.size(); ++i) report_.references.push_back(entry(contenders_[i]));
    std::sort(report_.references.begin(), report_.references.end(),
              [](const BenchEntry& a, const BenchEntry& b) { return a.spaced_ms < b.spaced_ms; });
    for (auto& [name, values] : readings_) report_.clocks[name] = median(values);
  }

  const BenchRequest& request_;
  const Problem& problem_;
  std::unique_ptr<Session> session_;
  std::mt19937_64 random_;
  std::uint64_t fills_ = 0;
  std::vector<std::unique_ptr<Executable>> references_;
  std::vector<Contender> contenders_;  // the engine first
  std::map<std::string, std::vector<double>> readings_;
  BenchReport report_;
};

}  // namespace

BenchReport bench(const BenchRequest& request) {
  validate(request.problem);
  expect_reference(request.against, request.device);
  const auto expect = [](const char* field, double value, double least, double most) {
    // Written so that NaN is refused.
    if (!(value >= least && value <= most))
      fail(ErrorCode::usage, "{} = {}; valid: {} to {}", field, value, least, most);
  };
  expect("rounds", request.rounds, 1, 1000);
  expect("idle_ms", request.idle_ms, 0, 10000);
  expect("sustained_s", request.sustained_s, 0, 60);
  return Bench(request).run();
}

}  // namespace tapconv
