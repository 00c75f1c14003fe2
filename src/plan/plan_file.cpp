#include "plan/plan_file.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/file.hpp"
#include "problem/text.hpp"
#include "tapconv/tapconv.h"

namespace tapconv {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format_name = "tapconv plans 1";

Json to_json(const StoredPlan& plan) {
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

/// "2026-01-31T12:34:56Z", so that dates compare as texts.
bool is_date(std::string_view text) {
  constexpr std::string_view pattern = "0000-00-00T00:00:00Z";
  if (text.size() != pattern.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) return false;
  }
  return true;
}

/// Throws nlohmann::json::exception for a field that is missing or of another type.
StoredPlan parse_plan(const Json& entry) {
  StoredPlan plan{.problem = entry.at("problem").get<std::string>(),
                  .input_dtype = entry.at("input_dtype").get<std::string>(),
                  .strided = entry.at("strided").get<bool>(),
                  .packed = entry.at("packed").get<bool>(),
                  .device_name = entry.at("device_name").get<std::string>(),
                  .multiprocessors = entry.at("multiprocessors").get<int>(),
                  .version = entry.at("version").get<std::string>(),
                  .solver = entry.at("solver").get<std::string>(),
                  .configuration = entry.at("configuration").get<std::string>(),
                  .measured_ms = entry.at("measured_ms").get<double>(),
                  .alone = entry.at("alone").get<bool>(),
                  .date = entry.at("date").get<std::string>()};
  if (!std::isfinite(plan.measured_ms) || plan.measured_ms <= 0)
    fail(ErrorCode::usage, "measured_ms = {}; valid: a positive number", plan.measured_ms);
  if (!is_date(plan.date)) fail(ErrorCode::usage, "date = {}; valid: like 2026-01-31T12:34:56Z", plan.date);
  return plan;
}

std::string content_of(const std::filesystem::path& path) {
  const io::InputFile file(path);
  std::string text(file.bytes(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
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
  Plans plans;
  try {
    const Json content = Json::parse(content_of(file));
    if (content.at("format") != format_name)
      fail(ErrorCode::usage, "format = {}; valid: \"{}\"", content.at("format").dump(), format_name);
    if (!content.at("plans").is_array()) fail(ErrorCode::usage, "plans is no array");
    for (const Json& entry : content.at("plans")) merge_plan(plans, parse_plan(entry));
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorCode::usage, "{} is no plan database: {}", file.string(), problem.what());
  } catch (const Error& problem) {
    if (problem.code() != ErrorCode::usage) throw;
    fail(ErrorCode::usage, "{} is no plan database: {}", file.string(), problem.what());
  }
  return plans;
}

void write_plans(const std::filesystem::path& file, const Plans& plans) {
  // A plan a line, so that two versions of a file can be compared line by line.
  std::string text = fmt::format("{{\"format\": \"{}\", \"plans\": [", format_name);
  const char* separator = "\n";
  for (const auto& [key, plan] : plans) {
    text += separator + to_json(plan).dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  text += "\n]}\n";
  io::AtomicFile target(file);
  target.write(std::as_bytes(std::span(text)));
  target.commit();
}

}  // namespace tapconv
