#pragma once

#include <cstdint>
#include <vector>

#include "workbench/diagnosis.hpp"
#include "workbench/diagnosis_recomputation.hpp"

namespace tapconv {

/// How a set of outputs is spread, without the set: its size and hull.
struct Spread {
  std::int64_t count = 0;
  Place low{}, high{};                              ///< of every axis the least and the greatest index
  std::int64_t first_index = 0, first_element = 0;  ///< the least linear index, and element in memory

  /// Adds a run of `length` outputs along `axis`, neighbours in memory, from `place` on.
  void add(const Place& place, std::size_t axis, std::int64_t length, std::int64_t index, std::int64_t element);
  void add(const Spread& other);
};

/// What is seen of an output without an oracle.
enum class Content { number, nan, unwritten };

/// What a pass over the whole output finds.
struct Scan {
  Spread nan, unwritten;
  /// Places of outputs that are NaN or unwritten, and of neighbours that are not: some hundreds.
  std::vector<Place> places;
};

/// An output as it is stored, element by element.
class StoredOutput {
 public:
  explicit StoredOutput(const Evidence& evidence);

  [[nodiscard]] const Place& shape() const { return shape_; }
  [[nodiscard]] const AxisOrder& order() const { return order_; }
  [[nodiscard]] std::int64_t element(const Place& place) const { return element_of(place, strides_); }
  [[nodiscard]] double value(const Place& place) const;
  [[nodiscard]] Content content(const Place& place) const { return content_at(element(place)); }
  /// Whether the earlier output, if there is one, has the same bytes here.
  [[nodiscard]] bool as_earlier(const Place& place) const;
  [[nodiscard]] Scan scan() const;

 private:
  [[nodiscard]] Content content_at(std::int64_t element) const;
  [[nodiscard]] Scan scan_rows(std::int64_t begin, std::int64_t end) const;

  std::span<const std::byte> output_, earlier_;
  DType dtype_;
  std::byte poison_;
  bool poisoned_;
  Place shape_;
  AxisOrder order_;
  Place strides_;
};

}  // namespace tapconv
