#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "solver/device_model.hpp"
#include "solver/task.hpp"
#include "tapconv/tune.hpp"

namespace tapconv {

/// What a stored plan is a plan of: all but the last five fields of StoredPlan.
using PlanKey = std::tuple<std::string, std::string, bool, bool, std::string, int, std::string>;

/// Of a task on a device, for this version of the library.
[[nodiscard]] PlanKey plan_key(const Task& task, const DeviceModel& device);
[[nodiscard]] PlanKey plan_key(const StoredPlan& plan);

/// A plan of `task` without what was found: solver, configuration, time and date are empty.
[[nodiscard]] StoredPlan stored_plan(const Task& task, const DeviceModel& device);

using Plans = std::map<PlanKey, StoredPlan>;

/// Adds `plan` unless a newer one of the same thing is there. Returns whether anything changed.
bool merge_plan(Plans& plans, const StoredPlan& plan);

/// The plans of a file; none if there is no such file. One with a field that is missing or wrong is left out, which one
/// warning tells. Throws Error{environment} if the file cannot be read, Error{usage} if it is no plan database: not of
/// the format, over 64 MiB, or nested deeper than any database is.
[[nodiscard]] Plans read_plans(const std::filesystem::path& file);

/// Replaces the file as a whole. Its folder exists. Throws Error{environment}, as for more than 64 MiB.
void write_plans(const std::filesystem::path& file, const Plans& plans);

}  // namespace tapconv
