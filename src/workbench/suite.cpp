#include <chrono>
#include <ctime>
#include <new>

#include "problem/text.hpp"
#include "workbench/bench.hpp"

namespace tapconv {
namespace {

std::string now() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}+00:00", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace

void bench_suite(const std::vector<NamedProblem>& problems, const BenchRequest& request,
                 const std::function<void(const SuiteRow&)>& done) {
  expect_protocol(request);
  std::vector<TorchReference> frameworks = torch_references(request);
  BenchRequest one = request;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    one.problem = problems[i].problem;
    one.progress = [&](double fraction, std::string_view doing) {
      if (request.progress)
        request.progress((static_cast<double>(i) + fraction) / static_cast<double>(problems.size()),
                         fmt::format("{}: {}", problems[i].name, doing));
    };
    SuiteRow row{.named = problems[i], .date = now(), .report = {}, .reason = {}};
    try {
      row.report = bench(one, frameworks, Refusal::noted);
    } catch (const Error& error) {
      row.reason = error.what();
    } catch (const std::bad_alloc&) {
      row.reason = "not enough memory on the host for these tensors";
    }
    done(row);
  }
}

}  // namespace tapconv
