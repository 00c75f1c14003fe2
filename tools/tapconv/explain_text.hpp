#pragma once

#include "tapconv/explain.hpp"

namespace tapconv::cli {

void print_text(const ExplainReport& report);

}  // namespace tapconv::cli
