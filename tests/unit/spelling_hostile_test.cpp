#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>

#include "random_problem.hpp"
#include "spelling_refusal.hpp"
#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

using testing::refusal;

TEST(HostileSpelling, HugeTextsCostLittle) {
  constexpr std::size_t size = 4'000'000;
  const auto repeat = [](std::string_view part) {
    std::string text;
    while (text.size() < size) text += part;
    return text;
  };
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& text : {
           repeat("("),
           repeat("["),
           repeat("a"),
           repeat("'"),
           repeat(" "),
           repeat("nn."),
           std::string(size, '\0'),
           "Conv2d(" + repeat("("),
           "Conv2d(4, 4, (" + repeat("3,"),
           "Conv2d(4, 4, " + repeat("["),
           "Conv2d(" + repeat("9"),
           "Conv2d(" + repeat("-"),
           "Conv2d(" + repeat("0"),
           "Conv2d(4, 4, 3, " + repeat("a") + "=1)",
           "Conv2d(4, 4, 3, math='" + repeat("x") + "')",
           "Conv2d(4, 4, 3, math='" + repeat("x"),
           "kb56(" + repeat(","),
           "kb56 @ " + repeat("1x"),
           "kb56 @ (" + repeat("1,"),
           "Conv2d(" + repeat("4, "),
           "Conv2d(4, 4, 3" + repeat(" ") + "!",
           repeat("kb56/"),
           repeat("-."),
           "Conv2d(4, 4, 3, padding=" + repeat("("),
           "Conv2d(4, 4, 3, padding=(" + repeat("(1,2),"),
           "Conv2d(4, 4, 3, negative_slope=" + repeat("9"),
           "Conv2d(4, 4, 3, negative_slope=0." + repeat("0"),
           "Conv2d(4, 4, 3, negative_slope=" + repeat("1e"),
           "Conv2d(4, 4, 3, dtype=" + repeat("torch."),
           "kb56 @ " + repeat("1?x"),
           "kb56 @ 1" + repeat("?"),
       }) {
    const std::string message = refusal(text);
    EXPECT_NE(message, "valid");
    EXPECT_LT(message.size(), 1000U) << text.substr(0, 40);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

/// Checks that a text is either refused with a caret that fits it or means a valid problem with one canonical spelling.
void expect_sane(const std::string& text) {
  try {
    const Problem problem = parse_problem(text);
    validate(problem);
    EXPECT_EQ(parse_problem(spell(problem)), problem) << text;
  } catch (const SpellingError& error) {
    const std::string what = error.what();
    EXPECT_LE(error.position(), text.size());
    EXPECT_EQ(std::ranges::count(what, '\n'), 2) << what;
    EXPECT_TRUE(std::ranges::all_of(what, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); })) << what;
  }
}

TEST(HostileSpelling, RandomDamageIsNeverFatal) {
  const std::string alphabet = std::string("()[],=@x?.'\"-0123456789 \tConvdkbTF/e\xff") + '\0';
  std::mt19937_64 generator(1);
  const auto below = [&](std::size_t bound) { return generator() % bound; };
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    std::string text =
        seed % 3 == 0 ? "kb56(math=fp32, bias=True) @ 1x64x51x25" : spell(testing::any_random_problem(seed));
    for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t position = below(text.size());
      switch (below(4)) {
        case 0:
          text.erase(position, 1 + below(3));
          break;
        case 1:
          text.insert(position, 1, alphabet[below(alphabet.size())]);
          break;
        case 2:
          text[position] = alphabet[below(alphabet.size())];
          break;
        default:
          text.insert(position, text.substr(below(text.size()), below(12)));
      }
    }
    expect_sane(text);
  }
}

TEST(HostileSpelling, EveryPrefixIsRefused) {
  for (const std::string text : {
           "torch.nn.Conv2d(4, 8, (3, 1), padding='same', bias=True, math='tf32') @ (1, 4, 9, 9)",
           "ConvTranspose1d(4, 8, 3, padding=((1, -2),), dtype=torch.half, activation=leaky_relu, negative_slope=0.25) "
           "@ "
           "[1?, 4, 9?]",
       }) {
    ASSERT_EQ(refusal(text), "valid");
    for (std::size_t size = 0; size < text.size(); ++size) EXPECT_NE(refusal(text.substr(0, size)), "valid") << size;
  }
}

}  // namespace
}  // namespace tapconv
