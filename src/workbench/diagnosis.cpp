#include "workbench/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/text.hpp"
#include "workbench/diagnosis_arithmetic.hpp"
#include "workbench/diagnosis_groups.hpp"
#include "workbench/diagnosis_match.hpp"
#include "workbench/diagnosis_patterns.hpp"
#include "workbench/diagnosis_reduction.hpp"

namespace tapconv {
namespace {

constexpr std::size_t most_worst = 10;

/// A deviation in a part of the output alone is believed of so many wrong outputs.
constexpr std::int64_t least_for_part = 16;

void add_figures(Diagnosis& diagnosis, const Case& result) {
  const auto outputs = static_cast<double>(result.outputs());
  diagnosis.outputs = result.outputs();
  diagnosis.examined = static_cast<std::int64_t>(result.samples().size());
  diagnosis.wrong = result.wrong();
  diagnosis.unwritten_share = static_cast<double>(result.scan().unwritten.count) / outputs;
  diagnosis.nan_share = static_cast<double>(result.scan().nan.count) / outputs;
}

void add_worst(Diagnosis& diagnosis, const Case& result) {
  std::vector<const Sample*> wrong = result.some(true, result.samples().size());
  std::ranges::sort(wrong, [](const Sample* a, const Sample* b) {
    return a->ratio != b->ratio ? a->ratio > b->ratio : a->index < b->index;
  });
  wrong.resize(std::min(wrong.size(), most_worst));
  const auto axes = static_cast<std::ptrdiff_t>(result.problem().rank);
  for (const Sample* sample : wrong) {
    std::vector<std::int64_t> place{sample->place[0], sample->place[1]};
    place.insert(place.end(), sample->place.end() - axes, sample->place.end());
    diagnosis.worst.push_back({.place = std::move(place),
                               .actual = sample->actual,
                               .expected = sample->expected.value,
                               .bound = sample->bound});
  }
}

/// Decades of |error| / bound; empty ones at both ends are left out.
void add_histogram(Diagnosis& diagnosis, const Case& result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<Diagnosis::Bin> bins{{.from = 0, .to = 1e-4, .outputs = 0}};
  for (int decade = -4; decade < 8; ++decade)
    bins.push_back({.from = bins.back().to, .to = std::pow(10.0, decade + 1), .outputs = 0});
  bins.push_back({.from = bins.back().to, .to = infinity, .outputs = 0});
  for (const Sample& sample : result.samples()) {
    const auto bin = std::ranges::find_if(bins, [&](const auto& b) { return sample.ratio < b.to; });
    ++(bin == bins.end() ? bins.back() : *bin).outputs;
  }
  const auto used = [](const Diagnosis::Bin& bin) { return bin.outputs > 0; };
  bins.erase(std::find_if(bins.rbegin(), bins.rend(), used).base(), bins.end());
  bins.erase(bins.begin(), std::ranges::find_if(bins, used));
  diagnosis.histogram = std::move(bins);
}

void add_fit(Diagnosis& diagnosis, const Case& result) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const Sample& sample : result.samples()) {
    if (!std::isfinite(sample.actual) || !std::isfinite(sample.expected.value)) continue;
    ++n;
    x += sample.expected.value;
    y += sample.actual;
  }
  if (n < 2) return;
  x /= n, y /= n;
  for (const Sample& sample : result.samples()) {
    if (!std::isfinite(sample.actual) || !std::isfinite(sample.expected.value)) continue;
    const double dx = sample.expected.value - x, dy = sample.actual - y;
    xx += dx * dx, xy += dx * dy, yy += dy * dy;
  }
  if (!(xx > 0) || !std::isfinite(yy)) return;
  diagnosis.scale = xy / xx;
  diagnosis.offset = y - diagnosis.scale * x;
  if (yy > 0) diagnosis.correlation = xy / std::sqrt(xx * yy);
}

/// The explanation by suspicions of the whole result, or of its wrong part.
class Explanation {
 public:
  Explanation(const Case& result, const Diagnosis& diagnosis) : result_(result), diagnosis_(diagnosis) {}

  [[nodiscard]] Finding find() {
    if (result_.wrong() == 0) return without_wrong_output();
    if (auto finding = unwritten_pattern(result_)) return *finding;
    if (auto finding = stale_pattern(result_)) return *finding;
    if (auto finding = deviation(Scope::all)) return *finding;
    if (auto finding = fitted()) return *finding;
    if (auto finding = nan_pattern(result_)) return *finding;
    if (auto finding = zero_pattern(result_)) return *finding;
    if (auto finding = poor_accumulation(result_)) return *finding;
    if (result_.wrong() >= least_for_part) {
      if (auto finding = deviation(Scope::wrong_only)) return *finding;
    }
    if (auto finding = garbage_pattern(result_)) return *finding;
    return unknown();
  }

 private:
  [[nodiscard]] Finding without_wrong_output() const {
    if (auto finding = undeclared_rounding(result_)) return *finding;
    if (is_inaccurate(result_)) {
      if (auto finding = poor_accumulation(result_)) return *finding;
    }
    if (auto finding = within_bound()) return *finding;
    return {"", fmt::format("Nothing is wrong with the {} outputs examined.", result_.samples().size())};
  }

  /// The bounds of long sums hide a deviation that a suspicion still explains.
  [[nodiscard]] std::optional<Finding> within_bound() const {
    if (!is_coarse(result_)) return std::nullopt;
    Case doubted = result_;
    doubted.doubt();
    std::optional<Finding> finding = Explanation(doubted, diagnosis_).deviation(Scope::all);
    if (finding) finding->sentence = "Every output examined is within the bound, but: " + finding->sentence;
    return finding;
  }

  [[nodiscard]] const std::vector<Suspicion>& suspicions() {
    if (suspicions_.empty()) {
      suspicions_ = all_suspicions(result_.problem());
      std::vector<Suspicion> missing = reduction_suspicions(result_);
      std::move(missing.begin(), missing.end(), std::back_inserter(suspicions_));
      if (result_.operands().residual.empty())
        std::erase_if(suspicions_, [](const Suspicion& one) { return one.variant.problem.residual; });
    }
    return suspicions_;
  }

  [[nodiscard]] std::optional<Finding> deviation(Scope scope) {
    const std::vector<Match> matches = explain(result_, suspicions(), scope);
    if (matches.empty()) return std::nullopt;
    const Match& best = matches.front();
    Finding finding{best.suspicion.cause, best.suspicion.said};
    if (scope == Scope::wrong_only) {
      const std::optional<Region> region = wrong_region(result_);
      finding.sentence =
          fmt::format("In {} only: {}", region ? region->where : "a part of the output", finding.sentence);
    }
    finding.sentence[0] = static_cast<char>(std::toupper(finding.sentence[0]));
    finding.sentence += '.';
    for (const Match& match : matches) {
      const std::string& cause = match.suspicion.cause;
      if (cause != finding.cause && std::ranges::find(finding.also, cause) == finding.also.end())
        finding.also.push_back(cause);
    }
    if (!finding.also.empty())
      finding.sentence += fmt::format(" On these tensors {} explains it equally well.", fmt::join(finding.also, ", "));
    else if (!best.exact)
      finding.sentence += " That explains most of the error; what is left is another arithmetic.";
    return finding;
  }

  /// scale * expected + offset, where no simpler one was found.
  [[nodiscard]] std::optional<Finding> fitted() const {
    if (diagnosis_.correlation < 0.999999 || result_.samples().size() < 8) return std::nullopt;
    const double scale = diagnosis_.scale, offset = diagnosis_.offset;
    Suspicion affine{"scaled", "", faithful(result_.problem())};
    affine.variant.finish = [=, p = result_.problem()](const Epilogue& e) {
      return scale * activate(p.activation, e.sum + e.bias + e.residual, p.negative_slope) + offset;
    };
    if (explain(result_, {affine}, Scope::all).empty()) return std::nullopt;
    return Finding{"scaled",
                   fmt::format("The result is {:.6g} times what it should be, plus {:.3g}; look for a factor, "
                               "or for a term that is the same everywhere.",
                               scale, offset)};
  }

  [[nodiscard]] Finding unknown() const {
    Finding finding{"unknown", fmt::format("{} of the {} outputs examined are wrong, and no single deviation explains "
                                           "them",
                                           result_.wrong(), result_.samples().size())};
    if (const auto region = wrong_region(result_))
      finding.sentence += fmt::format("; they are confined to {}", region->where);
    else if (!diagnosis_.groups.empty())
      finding.sentence += fmt::format("; their share is {} of {} in the group \"{}\"", diagnosis_.groups.front().wrong,
                                      diagnosis_.groups.front().outputs, diagnosis_.groups.front().what);
    finding.sentence += fmt::format("; the worst is output ({}).", fmt::join(diagnosis_.worst.front().place, ", "));
    return finding;
  }

  const Case& result_;
  const Diagnosis& diagnosis_;
  std::vector<Suspicion> suspicions_;
};

}  // namespace

Diagnosis diagnose(const Evidence& evidence) {
  Case result(evidence);
  Diagnosis diagnosis;
  if (result.wrong() == 0 && is_inaccurate(result)) result.doubt();
  add_figures(diagnosis, result);
  add_worst(diagnosis, result);
  add_histogram(diagnosis, result);
  add_fit(diagnosis, result);
  diagnosis.groups = telling_groups(result);
  Finding finding = Explanation(result, diagnosis).find();
  diagnosis.cause = std::move(finding.cause);
  diagnosis.sentence = std::move(finding.sentence);
  diagnosis.also = std::move(finding.also);
  return diagnosis;
}

}  // namespace tapconv
