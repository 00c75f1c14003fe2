#pragma once

#include <chrono>
#include <functional>
#include <new>
#include <string_view>
#include <vector>

#include "problem/text.hpp"
#include "tapconv/engine.hpp"
#include "workbench/utc_now.hpp"

namespace tapconv {

/// Calls measure(one), `one` being `request` with its problem and a progress of its own, for each of `problems`, and
/// hands each row to `done`: the problem, the date, how long it took, and the report, or by what Error it failed.
template <class Row, class Request, class Measure>
void for_each_problem(const std::vector<NamedProblem>& problems, const Request& request, const Measure& measure,
                      const std::function<void(const Row&)>& done) {
  Request one = request;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    one.problem = problems[i].problem;
    one.progress = [&](double fraction, std::string_view doing) {
      if (request.progress)
        request.progress((static_cast<double>(i) + fraction) / static_cast<double>(problems.size()),
                         fmt::format("{}: {}", problems[i].name, doing));
    };
    Row row{.named = problems[i], .date = utc_now(), .report = {}, .reason = {}};
    const auto start = std::chrono::steady_clock::now();
    try {
      row.report = measure(one);
    } catch (const Error& error) {
      row.reason = error.what();
    } catch (const std::bad_alloc&) {
      row.reason = "not enough memory on the host for these tensors";
    }
    row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    done(row);
  }
}

}  // namespace tapconv
