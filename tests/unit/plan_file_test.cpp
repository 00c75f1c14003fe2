#include "plan/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

using PlanFileTest = testing::TemporaryFolder;

const std::string start_of_file = "{\"format\": \"tapconv plans 1\", ";

TEST_F(PlanFileTest, AHugeFileIsNotRead) {
  put("plans.json", start_of_file + "\"plans\": []}");
  std::filesystem::resize_file(path("plans.json"), std::uintmax_t{40} << 30);
  expect_error(ErrorCode::usage, "42949672960 bytes", [&] { (void)read_plans(path("plans.json")); });
}

TEST_F(PlanFileTest, AFileThatCouldNotBeReadAgainIsNotWritten) {
  StoredPlan plan;
  plan.configuration = std::string(std::size_t{65} << 20, 'x');
  expect_error(ErrorCode::environment, "would have", [&] {
    write_plans(path("plans.json"), {{plan_key(plan), plan}});
  });
  EXPECT_EQ(0, entries());
}

TEST_F(PlanFileTest, BracketsInStringsAndManyKeysAreNoDepth) {
  std::string text = start_of_file + "\"x\": \"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\", ";
  for (int i = 0; i < 60000; ++i) text += "\"key" + std::to_string(i) + "\": {}, ";
  put("plans.json", text + "\"plans\": []}");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(0u, read_plans(path("plans.json")).size());
  // Searching all keys for each takes 1.8e9 comparisons of texts.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
}

/// The fields of an entry, one of them with another value.
std::string fields_with(const std::string& field, const std::string& value) {
  std::string entry;
  for (const auto& [name, good] :
       std::initializer_list<std::pair<const char*, const char*>>{{"problem", "\"p\""},
                                                                  {"input_dtype", "\"f\""},
                                                                  {"strided", "false"},
                                                                  {"packed", "false"},
                                                                  {"device_name", "\"d\""},
                                                                  {"multiprocessors", "1"},
                                                                  {"version", "\"v\""},
                                                                  {"solver", "\"s\""},
                                                                  {"configuration", "\"c\""},
                                                                  {"measured_ms", "1.5"},
                                                                  {"alone", "true"},
                                                                  {"date", "\"2024-02-29T23:59:59Z\""}})
    entry += fmt::format("{}\"{}\": {}", entry.empty() ? "" : ", ", name, name == field ? value : good);
  return entry;
}

TEST_F(PlanFileTest, AnEntryWithAWrongFieldIsIgnoredAloneAndNamed) {
  const std::string good = fields_with("", "");
  const auto read = [&](const std::string& entries) {
    put("plans.json", start_of_file + "\"plans\": [" + entries + "]}");
    ::testing::internal::CaptureStderr();
    const std::size_t count = read_plans(path("plans.json")).size();
    return std::pair(count, ::testing::internal::GetCapturedStderr());
  };
  const std::string valid = "{" + good + "}";
  EXPECT_EQ(std::pair(std::size_t{1}, std::string()), read(valid));
  for (const auto& [field, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"multiprocessors", "1"}, {"multiprocessors", "10000"}, {"measured_ms", "3"}, {"measured_ms", "1e-300"}})
    EXPECT_EQ(std::pair(std::size_t{1}, std::string()), read("{" + fields_with(field, value) + "}")) << value;
  for (const auto& [field, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"problem", "1"},
                                                                  {"strided", "0"},
                                                                  {"packed", "null"},
                                                                  {"alone", "\"true\""},
                                                                  {"solver", "[]"},
                                                                  {"multiprocessors", "0"},
                                                                  {"multiprocessors", "-1"},
                                                                  {"multiprocessors", "10001"},
                                                                  {"multiprocessors", "1.5"},
                                                                  {"multiprocessors", "1.0"},
                                                                  {"multiprocessors", "true"},
                                                                  {"multiprocessors", "4294967428"},
                                                                  {"multiprocessors", "18446744073709551615"},
                                                                  {"multiprocessors", "18446744073709551617"},
                                                                  {"measured_ms", "-1"},
                                                                  {"measured_ms", "0"},
                                                                  {"measured_ms", "\"1\""},
                                                                  {"measured_ms", "true"},
                                                                  {"date", "\"yesterday\""},
                                                                  {"date", "\"2024-01-31 12:34:56 \""},
                                                                  {"date", "\"2024-13-01T00:00:00Z\""},
                                                                  {"date", "\"2024-00-01T00:00:00Z\""},
                                                                  {"date", "\"2023-02-29T00:00:00Z\""},
                                                                  {"date", "\"2024-01-01T24:00:00Z\""},
                                                                  {"date", "\"2024-01-01T00:60:00Z\""},
                                                                  {"date", "\"2024-01-01T00:00:60Z\""},
                                                                  {"date", "\"9999-12-31T23:59:59Z\""},
                                                                  {"date", "1"}}) {
    const auto [count, told] = read("{" + fields_with(field, value) + "}, " + valid);
    EXPECT_EQ(1u, count) << field << " = " << value;
    EXPECT_NE(std::string::npos, told.find(fmt::format("1 of 2 plans ignored; the first is plans[0]: {} = ", field)))
        << told;
    EXPECT_EQ(1, std::ranges::count(told, '\n')) << told;
  }
  const auto [count, told] = read(valid + ", 1, {}, [], null");
  EXPECT_EQ(1u, count);
  EXPECT_NE(std::string::npos, told.find("4 of 5 plans ignored; the first is plans[1]: problem is missing")) << told;
}

}  // namespace
}  // namespace tapconv
