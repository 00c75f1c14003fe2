#include "workbench/suite.hpp"

#include "workbench/bench.hpp"

namespace tapconv {

void bench_suite(const std::vector<NamedProblem>& problems, const BenchRequest& request,
                 const std::function<void(const SuiteRow&)>& done) {
  expect_protocol(request);
  std::vector<TorchReference> frameworks = torch_references(request.against);
  for_each_problem<SuiteRow>(
      problems, request, [&](const BenchRequest& one) { return bench(one, frameworks, Refusal::noted); }, done);
}

}  // namespace tapconv
