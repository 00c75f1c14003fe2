#include "spelling/miopen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "problem/excerpt.hpp"
#include "problem/validity.hpp"
#include "spelling/tokens.hpp"

namespace tapconv {
namespace {

constexpr std::string_view program = "MIOpenDriver";

constexpr std::pair<std::string_view, std::optional<DType>> drivers[] = {
    {"conv", DType::float32},   {"convfp16", DType::float16}, {"convbfp16", DType::bfloat16},
    {"convint8", std::nullopt}, {"convfp8", std::nullopt},    {"convbfp8", std::nullopt}};

struct Flag {
  char letter;
  std::string_view word;
};

constexpr Flag flags[] = {{'n', "batchsize"},
                          {'c', "in_channels"},
                          {'!', "in_d"},
                          {'H', "in_h"},
                          {'W', "in_w"},
                          {'k', "out_channels"},
                          {'@', "fil_d"},
                          {'y', "fil_h"},
                          {'x', "fil_w"},
                          {'#', "conv_stride_d"},
                          {'u', "conv_stride_h"},
                          {'v', "conv_stride_w"},
                          {'$', "pad_d"},
                          {'p', "pad_h"},
                          {'q', "pad_w"},
                          {'^', "dilation_d"},
                          {'l', "dilation_h"},
                          {'j', "dilation_w"},
                          {'%', "trans_output_pad_d"},
                          {'Y', "trans_output_pad_h"},
                          {'X', "trans_output_pad_w"},
                          {'g', "group_count"},
                          {'m', "mode"},
                          {'_', "spatial_dim"},
                          {'b', "bias"},
                          {'F', "forw"},
                          {'z', "pad_mode"},
                          {'r', "pad_val"},
                          {'I', "in_layout"},
                          {'O', "out_layout"},
                          {'f', "fil_layout"},
                          {'Z', "tensor_vect"},
                          {'L', "vector_length"},
                          {'U', "in_cast_type"},
                          {'T', "out_cast_type"},
                          {'R', "wei_cast_type"},
                          // They choose how the driver runs and where its data come from.
                          {'i', "iter"},
                          {'V', "verify"},
                          {'C', "verification_cache"},
                          {'t', "time"},
                          {'w', "wall"},
                          {'s', "search"},
                          {'P', "printconv"},
                          {'o', "dump_output"},
                          {'d', "in_data"},
                          {'e', "weights"},
                          {'a', "in_bias"},
                          {'D', "dout_data"},
                          {'S', "solution"},
                          {'G', "gpualloc"}};

class Reader {
 public:
  explicit Reader(std::string_view text) : tokens_(text) {}

  Problem read() {
    read_driver();
    read_flags();
    refuse_what_is_not_ours();
    read_channels();
    for (int axis = 0; axis < problem_.rank; ++axis) read_axis(axis);
    read_padding_mode();
    read_layout();
    if (const auto violation = find_violation(problem_)) fail_at(driver_.position, violation->message);
    return problem_;
  }

 private:
  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const {
    tokens_.fail_at(position, message);
  }

  void read_driver() {
    std::optional<Token> token = tokens_.next();
    if (token && file_part(token->text) == program) token = tokens_.next();
    if (!token) fail_at(tokens_.end(), "a driver is missing; valid: conv, convfp16, convbfp16");
    driver_ = *token;
    const auto known = std::ranges::find(drivers, token->text, [](const auto& driver) { return driver.first; });
    if (known == std::end(drivers) || !known->second) {
      fail_at(token->position,
              fmt::format("{} is not supported; valid: conv, convfp16, convbfp16", excerpt(token->text)));
    }
    problem_.dtype = problem_.out_dtype = *known->second;
    problem_.contract = default_contract(problem_.dtype);
  }

  void read_flags() {
    while (const auto token = tokens_.next()) {
      const Flag* const flag = find_flag(token->text);
      if (flag == nullptr) {
        fail_at(token->position,
                fmt::format("{} is not a flag of {}'s convolutions; valid: for example -n, -c, -H, -W, "
                            "-k, -y, -x, --in_d (docs/problem-spellings.md has all)",
                            excerpt(token->text), program));
      }
      const auto value = tokens_.next();
      if (!value) fail_at(tokens_.end(), fmt::format("{} is missing a value; valid: one after each flag", token->text));
      if (!values_.emplace(flag->word, *value).second)
        fail_at(token->position, fmt::format("{} is given twice; valid: once", flag->word));
    }
  }

  static const Flag* find_flag(std::string_view text) {
    const auto found = std::ranges::find_if(flags, [&](const Flag& flag) {
      return text.starts_with("--") ? text.substr(2) == flag.word
                                    : text.size() == 2 && text[0] == '-' && text[1] == flag.letter;
    });
    return found == std::end(flags) ? nullptr : &*found;
  }

  std::int64_t integer(std::string_view word, std::int64_t missing, std::int64_t least) const {
    const auto found = values_.find(word);
    return found == values_.end() ? missing : tokens_.integer(found->second, word, least);
  }

  /// The value of a flag if it is one of `valid`, the first of which is the default.
  std::string_view choice(std::string_view word, std::initializer_list<std::string_view> valid,
                          std::string_view why = "is not supported") const {
    const auto found = values_.find(word);
    if (found == values_.end()) return *valid.begin();
    for (const std::string_view value : valid) {
      if (found->second.text == value) return value;
    }
    fail_at(found->second.position,
            fmt::format("{} = {} {}; valid: {}", word, excerpt(found->second.text), why, fmt::join(valid, ", ")));
  }

  void refuse_what_is_not_ours() const {
    // 0, the driver's default, is every direction: its forward part is the problem.
    (void)choice("forw", {"0", "1"}, "computes gradients");
    (void)choice("pad_val", {"0"});
    (void)choice("tensor_vect", {"0"});
    (void)choice("vector_length", {"1"});
    for (const std::string_view cast : {"in_cast_type", "out_cast_type", "wei_cast_type"}) (void)choice(cast, {"-1"});
  }

  void read_channels() {
    problem_.kind = choice("mode", {"conv", "trans"}) == "conv" ? Kind::convolution : Kind::transposed;
    problem_.rank = choice("spatial_dim", {"2", "3"}) == "2" ? 2 : 3;
    problem_.batch = integer("batchsize", 100, 1);
    problem_.in_channels = integer("in_channels", 3, 1);
    problem_.out_channels = integer("out_channels", 32, 1);
    problem_.groups = integer("group_count", 1, 1);
    problem_.bias = choice("bias", {"0", "1"}) == "1";
  }

  void read_axis(int axis) {
    const char letter = "dhw"[max_rank - problem_.rank + axis];
    const auto word = [&](std::string_view stem) { return fmt::format("{}_{}", stem, letter); };
    problem_.input[axis] = integer(word("in"), 32, 1);
    problem_.kernel[axis] = integer(word("fil"), 3, 1);
    problem_.stride[axis] = integer(word("conv_stride"), 1, 1);
    problem_.padding_lo[axis] = problem_.padding_hi[axis] = integer(word("pad"), 0, 0);
    problem_.dilation[axis] = integer(word("dilation"), 1, 1);
    const std::int64_t output_padding = integer(word("trans_output_pad"), 0, 0);
    if (problem_.kind == Kind::transposed) problem_.output_padding[axis] = output_padding;
  }

  void read_padding_mode() {
    const std::string_view mode = choice("pad_mode", {"default", "same", "valid"});
    if (mode == "default") return;
    const bool dilated = problem_.dilation != Extent{1, 1, 1} && problem_.kernel != Extent{1, 1, 1};
    if (dilated || problem_.kind == Kind::transposed) {
      fail_at(values_.at("pad_mode").position,
              fmt::format("pad_mode = {} with a dilation or with mode = trans, where {} ignores it; valid: default",
                          mode, program));
    }
    for (int axis = 0; axis < problem_.rank; ++axis) {
      const std::int64_t rest = problem_.input[axis] % problem_.stride[axis];
      const std::int64_t total = problem_.kernel[axis] - (rest == 0 ? problem_.stride[axis] : rest);
      // As the driver has it: the same on both sides, even if the total is odd.
      const std::int64_t padding = mode == "same" ? std::max<std::int64_t>(total, 0) / 2 : 0;
      problem_.padding_lo[axis] = problem_.padding_hi[axis] = padding;
    }
  }

  void read_layout() {
    const bool plane = problem_.rank == 2;
    const std::string_view contiguous = plane ? "NCHW" : "NCDHW", last = plane ? "NHWC" : "NDHWC";
    const std::string_view input = choice("in_layout", {contiguous, last});
    for (const std::string_view other : {"fil_layout", "out_layout"}) {
      if (choice(other, {contiguous, last}) == input) continue;
      fail_at(driver_.position, fmt::format("in_layout and {} differ ({} by default); valid: the same for --in_layout, "
                                            "--fil_layout and --out_layout",
                                            other, contiguous));
    }
    problem_.layout = input == contiguous ? Layout::contiguous : Layout::channels_last;
  }

  Tokens tokens_;
  Token driver_;
  std::map<std::string_view, Token, std::less<>> values_;  // by the flag's word
  Problem problem_;
};

}  // namespace

bool looks_like_miopen(std::string_view text) {
  Tokens tokens(text);
  const auto first = tokens.next();
  if (!first) return false;
  if (file_part(first->text) == program) return true;
  const auto second = tokens.next();
  if (!second ||
      std::ranges::find(drivers, first->text, [](const auto& driver) { return driver.first; }) == std::end(drivers))
    return false;
  // benchdnn has a "conv" too, but its knobs are words with '='.
  return second->text.starts_with("--") ? second->text != "--reset" && second->text.find('=') == std::string_view::npos
                                        : second->text.starts_with('-') && second->text.size() == 2;
}

Problem parse_miopen(std::string_view text) { return Reader(text).read(); }

}  // namespace tapconv
