#include "spelling/benchdnn_descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "problem/excerpt.hpp"

namespace tapconv {
namespace {

// Sums and products of three 63-bit numbers fit.
__extension__ typedef __int128 Wide;

constexpr std::string_view axis_letters = "dhw";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The key that `text` begins with: g, mb, ic, oc, or one of i, o, k, s, p, d with an axis; empty if none.
std::string_view leading_key(std::string_view text) {
  if (text.starts_with('g')) return text.substr(0, 1);
  const std::string_view pair = text.substr(0, 2);
  if (pair == "mb" || pair == "ic" || pair == "oc") return pair;
  const bool of_axis = pair.size() == 2 && std::string_view("iokspd").find(pair[0]) != std::string_view::npos &&
                       axis_letters.find(pair[1]) != std::string_view::npos;
  return of_axis ? pair : std::string_view();
}

/// What is written of one axis.
struct Axis {
  std::optional<std::int64_t> i, o, k, s, p, d;

  /// Values that say nothing do not bring an axis into being.
  [[nodiscard]] bool touched() const {
    return i || o || k || s.value_or(1) != 1 || p.value_or(0) != 0 || d.value_or(0) != 0;
  }
};

class Reader {
 public:
  Reader(const Tokens& source, Token token, Kind kind) : source_(source), token_(token), kind_(kind) {}

  NamedProblem read() {
    NamedProblem result;
    read_fields(result.name);
    Problem& problem = result.problem;
    problem.kind = kind_;
    problem.batch = batch_.value_or(2);
    problem.groups = groups_.value_or(1);
    problem.in_channels = required(in_channels_, "ic");
    problem.out_channels = required(out_channels_, "oc");
    promote();
    const int first = max_rank - rank_;
    problem.rank = rank_;
    for (int axis = 0; axis < rank_; ++axis) resolve(problem, axis, axes_[first + axis], axis_letters[first + axis]);
    return result;
  }

 private:
  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const {
    source_.fail_at(token_.position + offset, message);
  }

  void read_fields(std::string& name) {
    std::string_view rest = token_.text;
    const auto offset = [&] { return token_.text.size() - rest.size(); };
    while (!rest.empty()) {
      const bool separated = offset() > 0 && rest.starts_with('_');
      if (separated) rest.remove_prefix(1);
      if (offset() > 0 && rest.starts_with('n')) {
        name = unquoted(rest.substr(1));
        return;
      }
      const std::string_view key = leading_key(rest);
      if (key.empty()) {
        fail_at(offset(), fmt::format("unexpected '{}' in a descriptor; valid: a number after g, mb, ic, oc, or after "
                                      "one of i, o, k, s, p, d with an axis d, h, w; at the end n and a name",
                                      excerpt(rest.substr(0, 1))));
      }
      const std::size_t key_offset = offset();
      rest.remove_prefix(key.size());
      const auto end = std::find_if_not(rest.begin() + (rest.starts_with('-') ? 1 : 0), rest.end(), is_digit);
      const auto digits = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
      std::optional<std::int64_t>& field = field_of(key);
      if (field) fail_at(key_offset, fmt::format("{} is given twice; valid: once", key));
      const bool may_be_zero = key[0] == 'p' || (key[0] == 'd' && key.size() == 2);
      if (digits.empty()) fail_at(offset(), fmt::format("{} is missing a number; valid: a whole number", key));
      field = source_.integer({digits, token_.position + offset()}, key, may_be_zero ? 0 : 1);
      rest.remove_prefix(digits.size());
    }
  }

  static std::string_view unquoted(std::string_view name) {
    const bool quoted = name.size() >= 2 && name.front() == name.back() && (name[0] == '"' || name[0] == '\'');
    return quoted ? name.substr(1, name.size() - 2) : name;
  }

  std::optional<std::int64_t>& field_of(std::string_view key) {
    if (key == "g") return groups_;
    if (key == "mb") return batch_;
    if (key == "ic") return in_channels_;
    if (key == "oc") return out_channels_;
    Axis& axis = axes_[axis_letters.find(key[1])];
    switch (key[0]) {
      case 'i':
        return axis.i;
      case 'o':
        return axis.o;
      case 'k':
        return axis.k;
      case 's':
        return axis.s;
      case 'p':
        return axis.p;
      default:
        return axis.d;
    }
  }

  std::int64_t required(std::optional<std::int64_t> value, std::string_view key) const {
    if (!value) fail_at(token_.text.size(), fmt::format("{} is missing; valid: 1 or more", key));
    return *value;
  }

  /// Finds the rank: an axis given alone stands for all those after it.
  void promote() {
    auto& [d, h, w] = axes_;
    if (d.touched()) {
      rank_ = 3;
      if (h.touched() != w.touched()) {
        fail_at(0, fmt::format("d and {} are given without {}; valid: d alone for a cube, or d, h and w",
                               h.touched() ? 'h' : 'w', h.touched() ? 'w' : 'h'));
      }
      if (!h.touched()) h = w = d;
    } else if (h.touched()) {
      rank_ = 2;
      if (!w.touched()) w = h;
    } else if (w.touched()) {
      rank_ = 1;
    } else {
      fail_at(token_.text.size(), "no spatial size is given; valid: iw and kw, ih and kh, or id and kd");
    }
  }

  void resolve(Problem& problem, int index, const Axis& axis, char letter) const {
    const std::int64_t input = required(axis.i, fmt::format("i{}", letter));
    const std::int64_t kernel = required(axis.k, fmt::format("k{}", letter));
    const std::int64_t stride = axis.s.value_or(1);
    const Wide dilation = Wide{axis.d.value_or(0)} + 1;
    const Wide extent = (kernel - 1) * dilation + 1;
    Wide lo = axis.p.value_or(0), hi = lo;
    if (axis.o) {
      const Wide total = kind_ == Kind::transposed ? Wide{input - 1} * stride + extent - *axis.o
                                                   : Wide{*axis.o - 1} * stride - input + extent;
      if (!axis.p) lo = total / 2;
      hi = total - lo;
      // The implied padding ends with the last filter. Where that would crop the whole input, a longer one with the
      // same output stands for it: positions that a stride leaves over are read by nothing.
      const Wide least = 1 - input - std::min<Wide>(lo, 0);
      if (kind_ == Kind::convolution && hi < least) hi = std::min(least, hi + stride - 1);
    }
    problem.input[index] = input;
    problem.kernel[index] = kernel;
    problem.stride[index] = stride;
    problem.dilation[index] = narrow(dilation, fmt::format("d{}", letter));
    problem.padding_lo[index] = narrow(lo, fmt::format("p{}", letter));
    problem.padding_hi[index] = narrow(hi, fmt::format("the end padding of {}", letter));
  }

  std::int64_t narrow(Wide value, std::string_view what) const {
    constexpr Wide most = std::numeric_limits<std::int64_t>::max();
    if (value > most || value < -most) {
      fail_at(0, fmt::format("{} is too large; valid: a magnitude of at most {}", what,
                             std::numeric_limits<std::int64_t>::max()));
    }
    return static_cast<std::int64_t>(value);
  }

  const Tokens& source_;
  Token token_;
  Kind kind_;
  int rank_ = 0;
  std::optional<std::int64_t> groups_, batch_, in_channels_, out_channels_;
  std::array<Axis, max_rank> axes_;  // d, h, w
};

}  // namespace

bool begins_descriptor(std::string_view word) {
  if (word.starts_with('_')) word.remove_prefix(1);  // an error, but of a descriptor
  const std::string_view key = leading_key(word);
  return !key.empty() && word.size() > key.size() && is_digit(word[key.size()]);
}

NamedProblem read_descriptor(const Tokens& source, Token descriptor, Kind kind) {
  return Reader(source, descriptor, kind).read();
}

}  // namespace tapconv
