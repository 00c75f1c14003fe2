#include "workbench/diagnosis_scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "problem/parallel.hpp"

namespace tapconv {
namespace {

/// Of so many places that are NaN or unwritten each thread keeps some for the oracle.
constexpr std::size_t most_places = 256;

}  // namespace

void Spread::add(const Place& place, std::size_t axis, std::int64_t length, std::int64_t index, std::int64_t element) {
  Place end = place;
  end[axis] += length - 1;
  add(Spread{.count = length, .low = place, .high = end, .first_index = index, .first_element = element});
}

void Spread::add(const Spread& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  count += other.count;
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] = std::min(low[i], other.low[i]);
    high[i] = std::max(high[i], other.high[i]);
  }
  first_index = std::min(first_index, other.first_index);
  first_element = std::min(first_element, other.first_element);
}

StoredOutput::StoredOutput(const Evidence& evidence)
    : output_(evidence.output),
      earlier_(evidence.earlier),
      dtype_(evidence.problem.out_dtype),
      poison_(std::byte{evidence.poison}),
      poisoned_(evidence.poisoned),
      shape_(whole_shape(output_shape(evidence.problem))),
      order_(order_of(evidence.problem.layout)),
      strides_(strides_in(order_, shape_)) {}

double StoredOutput::value(const Place& place) const { return load_element(output_.data(), dtype_, element(place)); }

bool StoredOutput::as_earlier(const Place& place) const {
  const std::size_t bytes = element_bytes(dtype_), at = static_cast<std::size_t>(element(place)) * bytes;
  return !earlier_.empty() && std::memcmp(output_.data() + at, earlier_.data() + at, bytes) == 0;
}

Content StoredOutput::content_at(std::int64_t element) const {
  const std::size_t bytes = element_bytes(dtype_);
  const auto stored = output_.subspan(static_cast<std::size_t>(element) * bytes, bytes);
  if (poisoned_ && std::ranges::all_of(stored, [&](std::byte b) { return b == poison_; })) return Content::unwritten;
  return std::isnan(load_element(stored.data(), dtype_, 0)) ? Content::nan : Content::number;
}

Scan StoredOutput::scan() const {
  const std::int64_t rows = element_count({shape_.begin(), shape_.end()}) / shape_[order_.back()];
  Scan whole;
  std::mutex mutex;
  parallel_for(rows, [&](std::int64_t begin, std::int64_t end) {
    const Scan part = scan_rows(begin, end);
    const std::lock_guard lock(mutex);
    whole.nan.add(part.nan);
    whole.unwritten.add(part.unwritten);
    whole.places.insert(whole.places.end(), part.places.begin(), part.places.end());
  });
  std::ranges::sort(whole.places);
  return whole;
}

/// Rows along the axis that is innermost in memory.
Scan StoredOutput::scan_rows(std::int64_t begin, std::int64_t end) const {
  Scan scan;
  const std::size_t axis = order_.back();
  const std::int64_t length = shape_[axis];
  std::int64_t apart = 1;  // of runs that are kept
  std::int64_t runs = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t start = row * length;
    for (std::int64_t from = 0; from < length;) {
      const Content content = content_at(start + from);
      std::int64_t to = from + 1;
      while (to < length && content_at(start + to) == content) ++to;
      if (content != Content::number) {
        Place place = place_in(order_, shape_, start + from);
        (content == Content::nan ? scan.nan : scan.unwritten)
            .add(place, axis, to - from, index_of(place, shape_), start + from);
        if (runs++ % apart == 0) {
          for (const std::int64_t at : {from - 1, from, (from + to) / 2, to - 1, to}) {
            place[axis] = at;
            if (at >= 0 && at < length) scan.places.push_back(place);
          }
        }
        if (scan.places.size() >= most_places) {
          // Every second one goes, so that the rest stays spread over all rows.
          for (std::size_t i = 0; i < scan.places.size() / 2; ++i) scan.places[i] = scan.places[2 * i];
          scan.places.resize(scan.places.size() / 2);
          apart *= 2;
        }
      }
      from = to;
    }
  }
  return scan;
}

}  // namespace tapconv
