#include "workbench/diagnosis_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "oracle/statistics.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// Products that the oracle may cost, and outputs that it examines.
constexpr double most_products = 3e7;
constexpr double least_outputs = 512, most_outputs = 4096;

/// More suspects tell no more.
constexpr std::size_t most_suspects = 256;

double products_of(const Problem& problem) {
  double reduction = 1;
  for (const Problem& stage : stages(problem)) {
    double products = static_cast<double>(stage.in_channels / stage.groups);
    for (int axis = 0; axis < stage.rank; ++axis) products *= static_cast<double>(stage.kernel[axis]);
    reduction *= products + 1;
  }
  return reduction;
}

std::span<const std::int64_t> first_suspects(std::span<const std::int64_t> suspects) {
  return suspects.first(std::min(suspects.size(), most_suspects));
}

void sort_unique(std::vector<std::int64_t>& indices) {
  std::ranges::sort(indices);
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

}  // namespace

double error_ratio(const Problem& problem, double actual, const OracleOutput& expected) {
  ErrorStatistics statistics(problem);
  const std::int64_t index = 0;
  statistics.add({&index, 1}, {&actual, 1}, {&expected, 1});
  return statistics.worst_ratio();
}

Case::Case(const Evidence& evidence)
    : problem_(evidence.problem),
      given_(evidence.operands),
      operands_(evidence.operands),
      seed_(evidence.seed),
      output_(evidence),
      outputs_(element_count(output_shape(problem_))),
      reduction_(products_of(problem_)) {
  const auto bytes = static_cast<std::size_t>(outputs_) * element_bytes(problem_.out_dtype);
  if (evidence.output.size() != bytes)
    fail(ErrorCode::usage, "output has {} bytes; the problem needs {}", evidence.output.size(), bytes);
  if (!evidence.earlier.empty() && evidence.earlier.size() != bytes)
    fail(ErrorCode::usage, "earlier has {} bytes; valid: {}, or none", evidence.earlier.size(), bytes);
  if (!problem_.residual) operands_.residual = evidence.earlier;
  scan_ = output_.scan();
  const double affordable = std::clamp(most_products / reduction_, least_outputs, most_outputs);
  std::vector<std::int64_t> indices = sample_outputs(problem_, static_cast<std::int64_t>(affordable), seed_);
  // The corners of a problem with many axes can outnumber what is affordable.
  if (static_cast<double>(indices.size()) > 1.5 * affordable) {
    std::mt19937_64 random(seed_);
    std::ranges::shuffle(indices, random);
    indices.resize(static_cast<std::size_t>(1.5 * affordable));
  }
  for (const Place& place : scan_.places) indices.push_back(index_of(place, output_.shape()));
  const auto suspects = first_suspects(evidence.suspects);
  indices.insert(indices.end(), suspects.begin(), suspects.end());
  samples_ = examine(std::move(indices));
  count();
  if (wrong_ > 0 && !whole()) {
    std::vector<Sample> more = examine(around_wrong());
    std::erase_if(
        more, [&](const Sample& one) { return std::ranges::binary_search(samples_, one.index, {}, &Sample::index); });
    samples_.insert(samples_.end(), more.begin(), more.end());
    std::ranges::sort(samples_, {}, &Sample::index);
    count();
  }
}

std::vector<Sample> Case::examine(std::vector<std::int64_t> indices) const {
  sort_unique(indices);
  const std::vector<OracleOutput> right = expected(indices, operand_rounding(problem_.contract, problem_.tie_rule));
  std::vector<Sample> samples(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Sample& sample = samples[i];
    sample = {.index = indices[i], .place = place_of(indices[i], output_.shape()), .expected = right[i]};
    sample.content = output_.content(sample.place);
    sample.actual = output_.value(sample.place);
    sample.bound = allowed_error(problem_, sample.expected);
    sample.ratio = error_ratio(problem_, sample.actual, sample.expected);
    // A NaN among the operands may be handed on with all its bits.
    sample.wrong = sample.ratio > 1 || (sample.content == Content::unwritten && !std::isnan(sample.expected.value));
  }
  return samples;
}

/// Outputs in the hull of the wrong ones, and beside one of them along each axis.
std::vector<std::int64_t> Case::around_wrong() const {
  constexpr int inside_hull = 64, along_axis = 32;
  Spread hull;
  for (const Sample* sample : some(true, samples_.size())) hull.add(sample->place, 4, 1, sample->index, 0);
  std::mt19937_64 random(seed_ + 1);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  std::vector<std::int64_t> indices;
  for (int i = 0; i < inside_hull; ++i) {
    Place place;
    for (std::size_t axis = 0; axis < place.size(); ++axis) place[axis] = between(hull.low[axis], hull.high[axis]);
    indices.push_back(index_of(place, output_.shape()));
  }
  const std::vector<const Sample*> witness = some(true, along_axis);
  for (std::size_t axis = 0; axis < 5; ++axis) {
    for (int i = 0; i < along_axis; ++i) {
      Place place = witness[static_cast<std::size_t>(i) % witness.size()]->place;
      place[axis] = between(0, output_.shape()[axis] - 1);
      indices.push_back(index_of(place, output_.shape()));
    }
  }
  return indices;
}

void Case::count() {
  wrong_ = std::ranges::count_if(samples_, [](const Sample& sample) { return sample.wrong; });
  RootMeanSquare error, chain, value, activation;
  for (const Sample& sample : samples_) {
    if (!std::isfinite(sample.actual) || !std::isfinite(sample.expected.value)) continue;
    error.add(sample.error());
    value.add(sample.expected.value);
    activation.add(activated_error(problem_.activation, sample.expected.sum, 0, problem_.negative_slope));
    if (std::isfinite(sample.expected.sequential)) chain.add(sample.expected.sequential - sample.expected.value);
  }
  noise_ = {.error = error.value(), .chain = chain.value(), .value = value.value(), .activation = activation.value()};
}

void Case::doubt() {
  RootMeanSquare magnitude;
  for (const Sample& sample : samples_) magnitude.add(sample.expected.magnitude);
  if (magnitude.value() == 0) return;
  const double share = 8 * std::max(noise_.chain, 0x1p-24 * noise_.value) / magnitude.value();
  for (Sample& sample : samples_)
    sample.wrong = sample.wrong || std::abs(sample.error()) > share * sample.expected.magnitude + noise_.activation;
  count();
}

std::vector<OracleOutput> Case::expected(std::span<const std::int64_t> indices, OperandRounding rounding) const {
  return oracle(problem_, given_, indices, rounding);
}

bool Case::is_wrong(const Place& place) const { return examine({index_of(place, output_.shape())}).front().wrong; }

std::vector<const Sample*> Case::some(bool wrong, std::size_t most) const {
  std::vector<const Sample*> chosen;
  for (const Sample& sample : samples_) {
    if (sample.wrong == wrong) chosen.push_back(&sample);
  }
  std::mt19937_64 random(seed_ + 2);
  std::ranges::shuffle(chosen, random);
  chosen.resize(std::min(chosen.size(), most));
  return chosen;
}

bool Case::meets_padding(const Place& place) const {
  if (problem_.kind == Kind::transposed) return false;
  for (int axis = 0; axis < problem_.rank; ++axis) {
    const std::int64_t start = place[place_axis(problem_, axis)] * problem_.stride[axis] - problem_.padding_lo[axis];
    if (start < 0 || start + problem_.dilation[axis] * (problem_.kernel[axis] - 1) >= problem_.input[axis]) return true;
  }
  return false;
}

}  // namespace tapconv
