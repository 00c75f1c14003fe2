#include <gtest/gtest.h>

#include <fmt/format.h>

#include <limits>
#include <random>
#include <string>

#include "tapconv/calculators.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

/// The index that `expression` has for each of 96 threads.
std::vector<std::int64_t> values(const std::string& expression) {
  std::vector<std::int64_t> all;
  for (const WarpAccess& warp : parse_access("byte at " + expression, 96))
    all.insert(all.end(), warp.addresses.begin(), warp.addresses.end());
  return all;
}

TEST(Access, PrecedenceIsThatOfC) {
  const auto first = values("lane ^ thread>>2 & 3 + 4*lane % 7 + (warp<<5)");
  const auto second = values("100 - lane - warp*-2 - -(thread/8)/2");
  const auto third = values("2*(lane<<1+1)&1023");
  for (std::int64_t thread = 0; thread < 96; ++thread) {
    const std::int64_t lane = thread % 32, warp = thread / 32;
    EXPECT_EQ(lane ^ ((thread >> 2) & (3 + 4 * lane % 7 + (warp << 5))), first[static_cast<std::size_t>(thread)]);
    EXPECT_EQ(100 - lane - warp * -2 - -(thread / 8) / 2, second[static_cast<std::size_t>(thread)]);
    EXPECT_EQ((2 * (lane << (1 + 1))) & 1023, third[static_cast<std::size_t>(thread)]);
  }
}

/// A random expression as text, with what the compiler makes of it for one thread.
struct Random {
  std::string text;
  std::int64_t value = 0;
};

Random random_expression(std::mt19937_64& generator, std::int64_t thread, int depth) {
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(generator() % bound); };
  if (depth == 0) {
    const std::int64_t number = below(1000);
    const Random leaves[] = {
        {fmt::format("{}", number), number}, {"thread", thread}, {"lane", thread % 32}, {"warp", thread / 32}};
    return leaves[below(4)];
  }
  const Random a = random_expression(generator, thread, depth - 1);
  if (below(6) == 0) return {"-(" + a.text + ")", -a.value};
  const Random b = random_expression(generator, thread, static_cast<int>(below(static_cast<std::uint64_t>(depth))));
  const auto with = [&](const char* symbol, std::int64_t value) {
    return Random{"(" + a.text + ")" + symbol + "(" + b.text + ")", value};
  };
  switch (below(8)) {
    case 0:
      return with(" + ", a.value + b.value);
    case 1:
      return with("-", a.value - b.value);
    case 2:
      return with(" &", a.value & b.value);
    case 3:
      return with("^ ", a.value ^ b.value);
    case 4:
      return {"(" + a.text + ")%7", a.value % 7};
    case 5:
      return {"(" + a.text + ")/3", a.value / 3};
    case 6:
      return {"(" + a.text + ")>>2", a.value >> 2};
    default:
      return {"3*(" + a.text + ")", 3 * a.value};
  }
}

TEST(Access, RandomExpressionsAreAsComputed) {
  std::mt19937_64 generator(3);
  for (int i = 0; i < 3000; ++i) {
    const auto thread = static_cast<std::int64_t>(generator() % 96);
    const Random expression = random_expression(generator, thread, 4);
    // Made positive.
    const std::string text = fmt::format("({}) & {}", expression.text, (std::int64_t{1} << 40) - 1);
    EXPECT_EQ(expression.value & ((std::int64_t{1} << 40) - 1), values(text)[static_cast<std::size_t>(thread)]) << text;
  }
}

TEST(Access, Types) {
  struct Expected {
    const char* text;
    int bytes;
    std::int64_t address;
  };
  for (const auto& [text, bytes, address] : {Expected{"byte at 5", 1, 5},
                                             {"byte4 at 8", 4, 8},
                                             {"half at 5", 2, 10},
                                             {"half8 at 16", 16, 32},
                                             {"float at 5", 4, 20},
                                             {"float2 at 6", 8, 24},
                                             {"float4 at 4", 16, 16},
                                             {"double at 3", 8, 24},
                                             {" double2  at\t2 ", 16, 16}}) {
    SCOPED_TRACE(text);
    const std::vector<WarpAccess> access = parse_access(text);
    ASSERT_EQ(1u, access.size());
    EXPECT_EQ(bytes, access[0].bytes);
    EXPECT_EQ(std::vector<std::int64_t>(32, address), access[0].addresses);
  }
}

TEST(Access, LanesThatTakeNoPart) {
  EXPECT_EQ((std::vector<std::int64_t>{0, 128, 4}), parse_access("float at 0, 32, 1")[0].addresses);
  const std::vector<WarpAccess> block = parse_access("float at thread, 32*warp", 40);
  ASSERT_EQ(2u, block.size());
  EXPECT_EQ((std::vector<std::int64_t>{0, 0}), block[0].addresses);
  EXPECT_EQ((std::vector<std::int64_t>{128, 128}), block[1].addresses);
  EXPECT_EQ(8u, parse_access("float at lane", 40)[1].addresses.size());
}

TEST(Access, ErrorsPointAtTheirCause) {
  const auto refused = [](const std::string& text, std::size_t position, const char* message) {
    try {
      (void)parse_access(text);
      ADD_FAILURE() << text << " is accepted";
    } catch (const SpellingError& error) {
      EXPECT_EQ(position, error.position()) << text;
      EXPECT_NE(std::string::npos, std::string(error.what()).find(message)) << error.what();
    }
  };
  refused("", 0, "access of type ''; valid: byte, half, float, double");
  refused("int at 4", 0, "access of type 'int'");
  refused("float3 at lane", 0, "access of type 'float3'");
  refused("float8 at lane", 0, "access of type 'float8'");
  refused("float04 at lane", 0, "access of type 'float04'");
  refused("float lane", 6, "has no index; valid: at");
  refused("float at", 8, "index is missing a number");
  refused("float at lane +", 15, "index is missing a number");
  refused("float at lan", 9, "'lan' is no variable; valid: thread, warp, lane");
  refused("float at (lane", 14, "valid: ')' or an operator");
  refused("float at lane 4", 14, "valid: an operator, ',' or the end");
  refused("float at lane < < 2", 14, "valid: <<");
  refused("float at lane < 2", 14, "'<' is no operator here");
  refused("float at lane/(lane-1)", 13, "1 / 0; valid: a divisor that is not 0");
  refused("float at lane%0", 13, "0 % 0; valid: a divisor");
  refused("float at 1<<63", 10, "1 << 63; valid: shifts by 0 to 62");
  refused("float at 1<<-1", 10, "valid: shifts by 0 to 62");
  refused("float at 4<<62", 10, "overflows");
  refused("float at 9223372036854775807 + 1", 29, "overflows");
  refused("float at -9223372036854775807 - 2", 30, "overflows");
  refused("float at (-9223372036854775807 - 1) / -1", 36, "overflows");
  refused("float at -(-9223372036854775807 - 1)", 9, "overflows");
  refused("float at 9223372036854775808", 9, "too large");
  refused("float at 4611686018427387904", 9, "index of thread 0 is 4611686018427387904; valid: whole numbers");
  refused("float at 3 - lane", 9, "index of thread 4 is -1; valid: whole numbers from 0 on");
  refused("float4 at lane", 10, "index of thread 1 is 1; valid: multiples of 4");
  refused("float at 1, 2, -1", 15, "index of thread 2 is -1");
  refused("float at " + std::string(1000, '(') + "1", 110, "nested too deep");
  refused("float at " + std::string(1000, '-') + "1", 110, "nested too deep");
  std::string many = "float at 0";
  for (int i = 1; i <= 32; ++i) many += ", 0";
  refused(many, many.size() - 1, "a warp has 32 lanes");
  EXPECT_EQ(32u, parse_access(many.substr(0, many.size() - 3))[0].addresses.size());
}

TEST(Access, ManyTermsNeedNoStack) {
  std::string sum = "0";
  for (int i = 0; i < 100000; ++i) sum += "+1";
  EXPECT_EQ(100000, parse_access("byte at " + sum, 1)[0].addresses[0]);
}

TEST(Access, BlocksHave1To1024Threads) {
  EXPECT_EQ(32u, parse_access("float at thread", 1024).size());
  for (const std::int64_t threads : {std::int64_t{0}, std::int64_t{1025}, std::numeric_limits<std::int64_t>::min()})
    expect_error(ErrorCode::usage, "of a block; valid: 1 to 1024", [&] { (void)parse_access("float at 0", threads); });
}

}  // namespace
}  // namespace tapconv
