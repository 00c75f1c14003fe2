#include "workbench/diagnosis_reduction.hpp"

#include <cmath>
#include <limits>

#include "problem/text.hpp"

namespace tapconv {
namespace {

/// Outputs that are taken apart, and the longest sum.
constexpr std::size_t most_outputs = 8;
constexpr std::size_t most_products = 1 << 20;

/// What a wrong part may leave of the error, as a share of it.
constexpr double explained_share = 0.1;

/// The products of one output: `channels` times `taps` of them, the taps of a channel side by side.
struct Products {
  const Sample* sample = nullptr;
  std::vector<double> values = {};
  double sum = 0;
};

class Reduction {
 public:
  explicit Reduction(const Case& result)
      : result_(result),
        problem_(result.problem()),
        variant_(faithful(problem_)),
        recompute_(problem_, variant_, result.operands()) {}

  std::vector<Suspicion> suspicions() {
    if (!take_apart()) return {};
    const std::size_t taps = count_ / channels_;
    if (channels_ > 1) parts("channel", channels_, [&](std::size_t i) { return i / taps; });
    if (taps > 1) parts("tap", taps, [&](std::size_t i) { return i % taps; });
    cuts("channels outside taps", [](std::size_t i) { return i; });
    if (channels_ > 1 && taps > 1)
      cuts("taps outside channels", [&](std::size_t i) { return i % channels_ * taps + i / channels_; });
    return std::move(found_);
  }

 private:
  /// False if there is nothing to take apart, or outputs have different numbers of products (of a transposed problem).
  bool take_apart() {
    const Problem last = stages(problem_).back();
    channels_ = static_cast<std::size_t>(last.in_channels / last.groups);
    if (result_.reduction() > static_cast<double>(most_products)) return false;
    for (const Sample* sample : result_.some(true, result_.samples().size())) {
      if (outputs_.size() == most_outputs) break;
      if (!std::isfinite(sample->actual) || !std::isfinite(sample->expected.value)) continue;
      Products one{.sample = sample};
      std::vector<Term> terms;
      recompute_.for_each_product(sample->place, [&](const Term& term, double product) {
        one.values.push_back(product);
        one.sum += product;
        if (outputs_.empty()) terms.push_back(term);
      });
      if (outputs_.empty()) terms_ = std::move(terms);
      if (one.values.size() != terms_.size()) continue;
      outputs_.push_back(std::move(one));
    }
    count_ = terms_.size();
    return !outputs_.empty() && count_ > 1 && count_ % channels_ == 0;
  }

  /// Whether outputs with sums changed by change(output) are what was found, and how far from it they are.
  template <class Change>
  [[nodiscard]] double distance(const Change& change) const {
    double square = 0;
    for (const Products& one : outputs_) {
      const double left = recompute_.finish(one.sample->place, one.sum + change(one)) - one.sample->actual;
      square += left * left;
    }
    return square;
  }

  /// The index below `count` whose change comes nearest, if that explains the outputs. Change(output, index).
  template <class Change>
  [[nodiscard]] std::optional<std::size_t> nearest(std::size_t count, const Change& change) const {
    double least = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double square = distance([&](const Products& one) { return change(one, i); });
      if (square < least) least = square, best = i;
    }
    const double now = distance([](const Products&) { return 0.0; });
    return least <= explained_share * explained_share * now ? std::optional(best) : std::nullopt;
  }

  /// One channel, or tap, missing. part_of(product) is its number.
  template <class PartOf>
  void parts(const std::string& noun, std::size_t count, const PartOf& part_of) {
    std::vector<std::vector<double>> sums;
    for (const Products& one : outputs_) {
      std::vector<double>& of_output = sums.emplace_back(count, 0.0);
      for (std::size_t i = 0; i < one.values.size(); ++i) of_output[part_of(i)] += one.values[i];
    }
    const auto sum_of = [&](const Products& one, std::size_t part) {
      return sums[static_cast<std::size_t>(&one - outputs_.data())][part];
    };
    if (const auto part = nearest(count, [&](const auto& one, std::size_t i) { return -sum_of(one, i); })) {
      const std::string_view which = *part + 1 == count ? "last-" : *part == 0 ? "first-" : "";
      std::string said = noun == "tap" ? fmt::format("the products with tap ({}) are missing", tap_text(*part))
                                       : fmt::format("the products with input channel {}{} are missing", *part,
                                                     problem_.groups > 1 ? " of each group" : "");
      add(fmt::format("{}{}-skipped", which, noun), said + "; check the bounds of the loop over it",
          leaves_out(noun, *part));
    }
  }

  [[nodiscard]] std::string tap_text(std::size_t tap) const {
    const Place& filter = terms_[tap].filter;
    return fmt::format("{}", fmt::join(filter.end() - problem_.rank, filter.end(), ", "));
  }

  [[nodiscard]] std::function<bool(Term&)> leaves_out(const std::string& noun, std::size_t part) const {
    if (noun == "channel")
      return [channel = static_cast<std::int64_t>(part)](Term& term) {
        return term.depthwise || term.filter[1] != channel;
      };
    const Place& filter = terms_[part].filter;
    return [tap = std::array{filter[2], filter[3], filter[4]}](Term& term) {
      return std::array{term.filter[2], term.filter[3], term.filter[4]} != tap;
    };
  }

  /// A reduction that stops, or starts, in the middle. product(i) is the number of its i-th product.
  template <class Product>
  void cuts(std::string_view order, const Product& product) {
    std::vector<std::vector<double>> prefixes;
    for (const Products& one : outputs_) {
      std::vector<double>& prefix = prefixes.emplace_back(1, 0.0);
      for (std::size_t i = 0; i < count_; ++i) prefix.push_back(prefix.back() + one.values[product(i)]);
    }
    const auto prefix_of = [&](const Products& one, std::size_t end) {
      return prefixes[static_cast<std::size_t>(&one - outputs_.data())][end];
    };
    // One channel, or tap, at the end is said better so.
    const bool taps_outside = order.starts_with("taps");
    const std::size_t part = taps_outside ? channels_ : channels_ > 1 ? count_ / channels_ : 1;
    const auto end = nearest(count_, [&](const auto& one, std::size_t i) { return prefix_of(one, i) - one.sum; });
    if (end && *end > 0 && *end + part != count_)
      add("reduction-truncated",
          fmt::format("only the first {} of {} products are summed, {}; round the number of steps of the reduction up",
                      *end, count_, order),
          kept(order, 0, *end));
    const auto begin = nearest(count_, [&](const auto& one, std::size_t i) { return -prefix_of(one, i); });
    if (begin && *begin > 0 && *begin != part)
      add("reduction-starts-late",
          fmt::format("the first {} of {} products are not summed, {}; start the reduction at 0, with cleared "
                      "accumulators",
                      *begin, count_, order),
          kept(order, *begin, count_));
  }

  /// Of the products in that order those from `begin` on before `end`.
  [[nodiscard]] std::function<bool(Term&)> kept(std::string_view order, std::size_t begin, std::size_t end) const {
    const bool taps_outside = order.starts_with("taps");
    const std::size_t taps = count_ / channels_;
    if (!taps_outside && begin % taps == 0 && end % taps == 0)
      // So it can be said of outputs with other taps too.
      return [first = begin / taps, last = end / taps](Term& term) {
        const auto c = static_cast<std::size_t>(term.filter[1]);
        return term.depthwise || (c >= first && c < last);
      };
    // Which of the taps it is, by its linear index in the filter.
    const Place shape = whole_shape(weight_shape(stages(problem_).back()));
    const auto linear = [shape](const Place& filter) {
      return static_cast<std::size_t>((filter[2] * shape[3] + filter[3]) * shape[4] + filter[4]);
    };
    std::vector<std::size_t> number(static_cast<std::size_t>(shape[2] * shape[3] * shape[4]), taps);
    for (std::size_t i = 0; i < taps; ++i) number[linear(terms_[i].filter)] = i;
    return [=, channels = channels_](Term& term) {
      if (term.depthwise) return true;
      const std::size_t t = number[linear(term.filter)];
      const auto c = static_cast<std::size_t>(term.filter[1]);
      const std::size_t i = taps_outside ? t * channels + c : c * taps + t;
      return t < taps && i >= begin && i < end;
    };
  }

  void add(std::string cause, std::string said, std::function<bool(Term&)> alter) {
    Variant variant = variant_;
    variant.alter = std::move(alter);
    found_.push_back({std::move(cause), std::move(said), std::move(variant)});
  }

  const Case& result_;
  const Problem& problem_;
  Variant variant_;
  Recomputation recompute_;
  std::size_t channels_ = 1, count_ = 0;
  std::vector<Term> terms_;  ///< of the first output
  std::vector<Products> outputs_;
  std::vector<Suspicion> found_;
};

}  // namespace

std::vector<Suspicion> reduction_suspicions(const Case& result) { return Reduction(result).suspicions(); }

}  // namespace tapconv
