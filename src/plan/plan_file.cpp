#include "plan/plan_file.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/file.hpp"
#include "problem/log.hpp"
#include "problem/text.hpp"
#include "tapconv/tapconv.h"

namespace tapconv {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view format_name = "tapconv plans 1";

/// Of a file: far more than any fleet has plans, far less than a machine has memory.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// Brackets in brackets: twice what a database has, and few enough for any stack.
constexpr int deepest = 6;

constexpr int most_multiprocessors = 10000;

OrderedJson to_json(const StoredPlan& plan) {
  return {{"problem", plan.problem},
          {"input_dtype", plan.input_dtype},
          {"strided", plan.strided},
          {"packed", plan.packed},
          {"device_name", plan.device_name},
          {"multiprocessors", plan.multiprocessors},
          {"version", plan.version},
          {"solver", plan.solver},
          {"configuration", plan.configuration},
          {"measured_ms", plan.measured_ms},
          {"alone", plan.alone},
          {"date", plan.date}};
}

/// For a message of one line, however long it is.
std::string shortened(std::string text) {
  constexpr std::size_t most = 160;
  if (text.size() > most) text.replace(most, std::string::npos, "...");
  return text;
}

std::string shown(const Json& value) { return shortened(value.dump(-1, ' ', true)); }

/// The moment of "2026-01-31T12:34:56Z", a form of which dates compare as texts; none for anything else.
std::optional<std::chrono::sys_seconds> moment(std::string_view text) {
  constexpr std::string_view pattern = "0000-00-00T00:00:00Z";
  if (text.size() != pattern.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t first, std::size_t digits) {
    unsigned value = 0;
    std::from_chars(text.data() + first, text.data() + first + digits, value);
    return value;
  };
  const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)), std::chrono::day(number(8, 2)));
  const unsigned hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

/// Throws Error{usage} unless the entry has the field and it passes `is`.
template <class T>
T field(const Json& entry, const char* name, bool (Json::*is)() const noexcept, const char* valid) {
  const auto found = entry.find(name);
  if (found == entry.end()) fail(ErrorCode::usage, "{} is missing; valid: {}", name, valid);
  if (!((*found).*is)()) fail(ErrorCode::usage, "{} = {}; valid: {}", name, shown(*found), valid);
  return found->get<T>();
}

std::string text_field(const Json& entry, const char* name) {
  return field<std::string>(entry, name, &Json::is_string, "a string");
}

bool flag_field(const Json& entry, const char* name) {
  return field<bool>(entry, name, &Json::is_boolean, "true, false");
}

int multiprocessors_field(const Json& entry) {
  const auto value = field<std::int64_t>(entry, "multiprocessors", &Json::is_number_integer, "a whole number");
  if (value < 1 || value > most_multiprocessors)
    fail(ErrorCode::usage, "multiprocessors = {}; valid: 1 to {}", shown(entry["multiprocessors"]),
         most_multiprocessors);
  return static_cast<int>(value);
}

double time_field(const Json& entry) {
  const auto value = field<double>(entry, "measured_ms", &Json::is_number, "a positive number");
  if (!std::isfinite(value) || value <= 0) fail(ErrorCode::usage, "measured_ms = {}; valid: a positive number", value);
  return value;
}

std::string date_field(const Json& entry) {
  std::string date = text_field(entry, "date");
  const auto when = moment(date);
  if (!when) fail(ErrorCode::usage, "date = {}; valid: like 2026-01-31T12:34:56Z", shown(entry["date"]));
  // It would win over every plan that is measured until then. In seconds: nanoseconds end in 2262.
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (*when > now + std::chrono::years(1))
    fail(ErrorCode::usage, "date = {}; valid: at most a year after this machine's clock", date);
  return date;
}

/// Throws Error{usage} for a field that is missing or wrong.
StoredPlan parse_plan(const Json& entry) {
  return {.problem = text_field(entry, "problem"),
          .input_dtype = text_field(entry, "input_dtype"),
          .strided = flag_field(entry, "strided"),
          .packed = flag_field(entry, "packed"),
          .device_name = text_field(entry, "device_name"),
          .multiprocessors = multiprocessors_field(entry),
          .version = text_field(entry, "version"),
          .solver = text_field(entry, "solver"),
          .configuration = text_field(entry, "configuration"),
          .measured_ms = time_field(entry),
          .alone = flag_field(entry, "alone"),
          .date = date_field(entry)};
}

/// Of those that can be used; one warning tells of all others.
Plans parse_entries(const Json& entries, const std::filesystem::path& file) {
  Plans plans;
  std::size_t index = 0, ignored = 0;
  std::string first;
  for (const Json& entry : entries) {
    try {
      merge_plan(plans, parse_plan(entry));
    } catch (const Error& problem) {
      if (ignored++ == 0) first = fmt::format("plans[{}]: {}", index, problem.what());
    }
    ++index;
  }
  if (ignored > 0)
    log(LogLevel::warning, "{}: {} of {} plans ignored; the first is {}", file.string(), ignored, index, first);
  return plans;
}

std::string content_of(const std::filesystem::path& path) {
  const io::InputFile file(path);
  if (file.bytes() > most_bytes) fail(ErrorCode::usage, "it has {} bytes; valid: at most {}", file.bytes(), most_bytes);
  std::string text(file.bytes(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// Up to the first error of a text that is no JSON, brackets are counted as the parser does.
void expect_shallow(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == '[' || c == '{') && ++depth > deepest)
      fail(ErrorCode::usage, "brackets are nested more than {} deep", deepest);
    else if (!in_string && (c == ']' || c == '}'))
      --depth;
  }
}

}  // namespace

PlanKey plan_key(const StoredPlan& plan) {
  return {plan.problem,     plan.input_dtype,     plan.strided, plan.packed,
          plan.device_name, plan.multiprocessors, plan.version};
}

StoredPlan stored_plan(const Task& task, const DeviceModel& device) {
  return {.problem = spell(task.problem),
          .input_dtype = std::string(name(task.input_dtype)),
          .strided = task.strided,
          .packed = task.packed,
          .device_name = device.facts.name,
          .multiprocessors = device.facts.multiprocessors,
          .version = TAPCONV_VERSION,
          .solver = {},
          .configuration = {},
          .measured_ms = 0,
          .alone = true,
          .date = {}};
}

PlanKey plan_key(const Task& task, const DeviceModel& device) { return plan_key(stored_plan(task, device)); }

bool merge_plan(Plans& plans, const StoredPlan& plan) {
  const auto [place, added] = plans.try_emplace(plan_key(plan), plan);
  if (added) return true;
  if (plan.date < place->second.date || plan == place->second) return false;
  place->second = plan;
  return true;
}

Plans read_plans(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return {};
  try {
    const std::string text = content_of(file);
    expect_shallow(text);
    const Json content = Json::parse(text);
    if (content.at("format") != format_name)
      fail(ErrorCode::usage, "format = {}; valid: \"{}\"", shown(content.at("format")), format_name);
    if (!content.at("plans").is_array()) fail(ErrorCode::usage, "plans is no array");
    return parse_entries(content.at("plans"), file);
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorCode::usage, "{} is no plan database: {}", file.string(), shortened(problem.what()));
  } catch (const Error& problem) {
    if (problem.code() != ErrorCode::usage) throw;
    fail(ErrorCode::usage, "{} is no plan database: {}", file.string(), problem.what());
  }
}

void write_plans(const std::filesystem::path& file, const Plans& plans) {
  // A plan a line, so that two versions of a file can be compared line by line.
  std::string text = fmt::format("{{\"format\": \"{}\", \"plans\": [", format_name);
  const char* separator = "\n";
  for (const auto& [key, plan] : plans) {
    text += separator + to_json(plan).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    separator = ",\n";
  }
  text += "\n]}\n";
  if (text.size() > most_bytes)
    fail(ErrorCode::environment, "{} would have {} bytes with {} plans; valid: at most {}", file.string(), text.size(),
         plans.size(), most_bytes);
  io::AtomicFile target(file);
  target.write(std::as_bytes(std::span(text)));
  target.commit();
}

}  // namespace tapconv
