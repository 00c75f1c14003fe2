#include "workbench/diagnosis_patterns.hpp"

#include <algorithm>
#include <cmath>

#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

/// Fewer wrong outputs that hold anything make no pattern.
constexpr std::int64_t least_garbage = 16;

std::string share_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

/// Samples by two predicates; those that are neither are left out.
template <class Marked, class Other>
Marks marks_of(const Case& result, const Marked& marked, const Other& other) {
  Marks marks;
  for (const Sample& sample : result.samples()) {
    if (marked(sample)) {
      marks.marked.push_back(sample.place);
      marks.hull.add(sample.place, 4, 1, sample.index, result.output().element(sample.place));
    } else if (other(sample)) {
      marks.others.push_back(sample.place);
    }
  }
  return marks;
}

Marks wrong_marks(const Case& result) {
  Marks marks = marks_of(
      result, [](const Sample& s) { return s.wrong; }, [](const Sample&) { return true; });
  marks.whole = result.whole();
  marks.is_marked = [&result](const Place& place) { return result.is_wrong(place); };
  return marks;
}

/// The advice that a region alone gives.
std::string_view advice(Region::Kind kind) {
  switch (kind) {
    case Region::Kind::everything:
      return "check that the kernel ran and stored to this output";
    case Region::Kind::box:
      return "check which block of threads has this tile";
    case Region::Kind::tail:
      return "let the last, partial tile be computed too: round the number of blocks up";
    case Region::Kind::border:
      return "let the loops cover the border, where windows reach into the padding";
    case Region::Kind::phase:
      return "check the loop over these positions";
  }
  return "";
}

/// A pattern with a region: `content` is "unwritten", "zero", ...; `said` what the outputs there are or hold.
Finding located(std::string_view content, const Region& region, const std::string& said) {
  if (region.clamped)
    return {"grid-clamped",
            fmt::format("{} {}: a grid has at most 65535 blocks along y and z; put the long axis along x, or loop.",
                        region.where, said)};
  const std::string_view suffix = region.kind == Region::Kind::tail    ? "tail"
                                  : region.kind == Region::Kind::phase ? "phase"
                                                                       : "tile";
  const std::string cause =
      region.kind == Region::Kind::border ? "border-skipped" : fmt::format("{}-{}", content, suffix);
  return {cause, fmt::format("{} {}; {}.", region.where, said, advice(region.kind))};
}

void capitalise(Finding& finding) {
  if (!finding.sentence.empty() && finding.sentence[0] >= 'a' && finding.sentence[0] <= 'z')
    finding.sentence[0] = static_cast<char>(finding.sentence[0] - 'a' + 'A');
}

/// The same for any region, or none.
Finding described(std::string_view content, const std::optional<Region>& region, const std::string& said,
                  const std::string& everywhere) {
  Finding finding;
  if (!region)
    finding = {fmt::format("{}-scattered", content), fmt::format("wrong outputs, in no simple region, {}.", said)};
  else if (region->kind == Region::Kind::everything)
    finding = {everywhere, fmt::format("all outputs {}; {}.", said, advice(region->kind))};
  else
    finding = located(content, *region, said);
  capitalise(finding);
  return finding;
}

/// What an output is whose sum of products is 0, as stored.
class EmptySums {
 public:
  explicit EmptySums(const Case& result)
      : dtype_(result.problem().out_dtype),
        variant_(faithful(result.problem())),
        recompute_(result.problem(), variant_, result.operands()) {}
  EmptySums(const EmptySums&) = delete;

  [[nodiscard]] bool is(const Sample& sample) const {
    if (sample.actual == 0) return true;
    const double empty = recompute_.finish(sample.place, 0);
    return std::abs(sample.actual - empty) <= 0x1p-20 * std::abs(empty) + half_spacing(empty, dtype_);
  }

 private:
  DType dtype_;
  Variant variant_;
  Recomputation recompute_;
};

}  // namespace

std::optional<Finding> unwritten_pattern(const Case& result) {
  Marks marks = marks_of(
      result, [](const Sample& s) { return s.wrong && s.content == Content::unwritten; },
      [](const Sample& s) { return s.content != Content::unwritten; });
  if (marks.marked.empty()) return std::nullopt;
  marks.hull = result.scan().unwritten;
  marks.whole = true;
  marks.is_marked = [&result](const Place& place) { return result.output().content(place) == Content::unwritten; };
  const auto unwritten = static_cast<std::int64_t>(marks.marked.size());
  const double share = static_cast<double>(result.scan().unwritten.count) / static_cast<double>(result.outputs());
  Finding finding = described("unwritten", find_region(result, std::move(marks)),
                              fmt::format("({} of the output) were never written", share_text(share)), "unwritten");
  if (result.wrong() > unwritten) {
    finding.cause = "unknown";
    finding.sentence += fmt::format(" Of the others {} are wrong too.", result.wrong() - unwritten);
  }
  return finding;
}

std::optional<Finding> stale_pattern(const Case& result) {
  const auto stale = [&](const Sample& s) { return result.output().as_earlier(s.place); };
  const auto wrong = result.some(true, result.samples().size());
  if (wrong.empty() || !std::ranges::all_of(wrong, [&](const Sample* s) { return stale(*s); })) return std::nullopt;
  // A right output may be what it was before.
  Marks marks = marks_of(
      result, [](const Sample& s) { return s.wrong; }, [&](const Sample& s) { return !stale(s); });
  marks.is_marked = [&result](const Place& place) { return result.output().as_earlier(place); };
  return described("stale", find_region(result, std::move(marks)), "hold what an earlier call left there",
                   "stale-output");
}

std::optional<Finding> nan_pattern(const Case& result) {
  const auto wrong = result.some(true, result.samples().size());
  if (wrong.empty() || !std::ranges::all_of(wrong, [](const Sample* s) { return s->content == Content::nan; }))
    return std::nullopt;
  const bool padding = std::ranges::all_of(result.samples(), [&](const Sample& s) {
    return s.wrong == result.meets_padding(s.place) || std::isnan(s.expected.value);
  });
  if (padding)
    return Finding{"nan-padding",
                   "Exactly the outputs whose window reaches into the padding are NaN: what is read there is not a "
                   "number even if it is multiplied by zero; put zeros there."};
  Marks marks = wrong_marks(result);
  marks.hull = result.scan().nan;
  marks.whole = false;
  marks.is_marked = [&result](const Place& place) { return result.output().content(place) == Content::nan; };
  return described("nan", find_region(result, std::move(marks)), "are NaN where numbers are expected",
                   "nan-everywhere");
}

std::optional<Finding> zero_pattern(const Case& result) {
  const auto wrong = result.some(true, result.samples().size());
  if (wrong.empty()) return std::nullopt;
  const EmptySums empty(result);
  if (std::ranges::all_of(wrong, [&](const Sample* s) { return empty.is(*s); })) {
    const bool zero = std::ranges::all_of(wrong, [](const Sample* s) { return s->actual == 0; });
    // A right output may be the same by chance, as after relu.
    Marks marks = marks_of(
        result, [](const Sample& s) { return s.wrong; }, [&](const Sample& s) { return !empty.is(s); });
    marks.is_marked = [&result](const Place& place) { return result.is_wrong(place); };
    const auto region = find_region(result, std::move(marks));
    return described("zero", region, zero ? "hold zero" : "hold what bias and residual make without any product",
                     "all-zero");
  }
  const double first = wrong.front()->actual;
  if (result.samples().size() > 1 &&
      std::ranges::all_of(result.samples(), [&](const Sample& s) { return s.actual == first; }))
    return Finding{"constant-output", fmt::format("All outputs hold the same number, {:.9g}.", first)};
  return std::nullopt;
}

std::optional<Finding> garbage_pattern(const Case& result) {
  if (result.wrong() < least_garbage) return std::nullopt;
  const std::optional<Region> region = wrong_region(result);
  if (!region) return std::nullopt;
  Finding finding = located("garbage", *region, "are wrong and nothing else is");
  if (region->kind == Region::Kind::border) finding.cause = "border-wrong";
  capitalise(finding);
  return finding;
}

std::optional<Region> wrong_region(const Case& result) {
  std::optional<Region> region = find_region(result, wrong_marks(result));
  if (region && region->kind == Region::Kind::everything) return std::nullopt;
  return region;
}

}  // namespace tapconv
