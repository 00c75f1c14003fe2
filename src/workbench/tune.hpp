#pragma once

#include "plan/database.hpp"
#include "tapconv/tune.hpp"

namespace tapconv {

/// tune() with a database other than the process's own.
[[nodiscard]] TuneReport tune(const TuneRequest& request, PlanDatabase& database);

}  // namespace tapconv
