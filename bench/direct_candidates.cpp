// Times every candidate of a solver on problems given by name, beside what its cost model predicts. Run by
// direct_candidates.py.
//
//     direct_candidates DEVICE PROBLEM...       one JSON line for each problem

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/cuda_tensors.hpp"
#include "problem/parallel.hpp"
#include "tapconv/error.hpp"
#include "workbench/median.hpp"

namespace {

using namespace tapconv;

/// Median of some calls in milliseconds, each on cold caches.
double time_ms(CudaTensors& tensors, const cuda::Kernel& kernel, const cuda::LaunchShape& launch,
               const shared::Arguments& arguments) {
  const cuda::Event start(tensors.context()), stop(tensors.context());
  std::vector<double> times;
  for (int i = 0; i < 6; ++i) {
    tensors.flush_l2();
    start.record(tensors.stream());
    kernel.launch(launch, tensors.stream().handle(), arguments);
    stop.record(tensors.stream());
    stop.synchronize();
    if (i > 0) times.push_back(stop.milliseconds_since(start));
  }
  return median(std::move(times));
}

nlohmann::json measure(const Problem& problem, const cuda::Context& context) {
  const DeviceModel model = device_model(context.facts());
  CudaTensors tensors(problem, context);
  tensors.fill(uniform_recipes(problem, 1));
  const Task task = tasks_of(problem).front();
  const shared::Sizes sizes = sizes_of(task.problem);
  const DeviceTensors pointers = tensors.pointers();
  const shared::Arguments arguments{.tensors = {.input = pointers.input,
                                                .weight = pointers.weight,
                                                .bias = pointers.bias,
                                                .residual = pointers.residual,
                                                .output = pointers.output},
                                    .sizes = sizes};
  struct Row {
    std::string_view solver;
    Candidate candidate;
    KernelPlan plan;
    std::vector<char> image{};
  };
  std::vector<Row> rows;
  for (const Solver* solver : solvers()) {
    if (!solver->supports(task, model).ok) continue;
    for (const Candidate& candidate : solver->candidates(task, model))
      rows.push_back({solver->name(), candidate, solver->plan(task, candidate.configuration, model)});
  }
  parallel_for(static_cast<std::int64_t>(rows.size()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      rows[i].image = cuda::compile(rows[i].plan.source, cuda::architecture(context.facts())).image;
  });
  nlohmann::json found = nlohmann::json::array();
  for (const Row& row : rows) {
    const cuda::Kernel kernel(context, row.image, row.plan.source.entry.c_str());
    found.push_back({{"solver", row.solver},
                     {"configuration", row.candidate.configuration},
                     {"predicted_ms", row.candidate.predicted_ms},
                     {"waves", row.candidate.waves},
                     {"registers", kernel.facts().registers},
                     {"local_bytes", kernel.facts().local_bytes},
                     {"ms", time_ms(tensors, kernel, row.plan.launch(sizes), arguments)}});
  }
  return {{"problem", spell(problem)}, {"candidates", found}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const cuda::Context& context = cuda::Context::get(parse_device(argc > 1 ? argv[1] : "cuda:0").index);
    for (int i = 2; i < argc; ++i) std::cout << measure(parse_problem(argv[i]), context).dump() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
