#include "problem/excerpt.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace tapconv {
namespace {

constexpr std::size_t longest_excerpt = 40;

/// Levenshtein's distance.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t substituted = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    if (c >= '\t' && c <= '\r') {
      c = ' ';
    } else if (c < ' ' || c > '~') {
      c = '?';
    }
  }
  return shown;
}

std::string excerpt(std::string_view text) {
  return printable(text.substr(0, longest_excerpt)) + (text.size() > longest_excerpt ? "..." : "");
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > longest_excerpt) return {};
  std::string_view best;
  std::size_t best_distance = longest_excerpt;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = candidate.starts_with(word) ? 1 : edit_distance(word, candidate);
    const bool alike = 2 * distance <= std::max(word.size(), candidate.size());
    if (alike && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? std::string() : " (did you mean '" + std::string(best) + "'?)";
}

}  // namespace tapconv
