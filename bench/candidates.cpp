// Times the candidates of solvers on problems given by name, beside what their cost models predict, and judges what
// they left. Run by candidates.py.
//
//     candidates DEVICE SOLVER MOST PROBLEM...       one JSON line for each problem; at most MOST of each solver and
//                                                    the best of each form, all solvers if SOLVER is "all"; MOST
//                                                    random tiles of warpgroup if it is "random"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "engine/cuda_tensors.hpp"
#include "oracle/statistics.hpp"
#include "problem/parallel.hpp"
#include "solver/warpgroup.hpp"
#include "solver/warpgroup_model.hpp"
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

/// Largest |error| / bound of some outputs.
double bound_ratio(CudaTensors& tensors, const Problem& problem) {
  const std::vector<std::int64_t> outputs = sample_outputs(problem, 512, 1);
  ErrorStatistics statistics(problem);
  statistics.add(outputs, tensors.gather(outputs).values,
                 tensors.evaluate(outputs, operand_rounding(problem.contract, problem.tie_rule)));
  return statistics.worst_ratio();
}

nlohmann::json measure(const Problem& problem, const cuda::Context& context, std::string_view wanted,
                       std::size_t most) {
  const DeviceModel model = device_model(context.facts());
  CudaTensors tensors(problem, context);
  tensors.fill(uniform_recipes(problem, 1));
  Task task = tasks_of(problem).front();
  task.packed = true;
  const shared::Sizes sizes = sizes_of(task.problem, task.strided);
  const DeviceTensors pointers = tensors.pointers();
  struct Row {
    std::string_view solver;
    Candidate candidate;
    KernelPlan plan;
    std::vector<char> image{}, packing_image{};
  };
  std::vector<Row> rows;
  if (wanted == "random" && WarpgroupSolver().supports(task, model).ok) {
    std::vector<shared::WarpgroupTile> tiles = warpgroup_tiles(task, model);
    std::ranges::shuffle(tiles, std::mt19937_64(1));
    tiles.resize(std::min(tiles.size(), most));
    for (const shared::WarpgroupTile& tile : tiles)
      rows.push_back({"warpgroup", warpgroup_estimate(task, tile, model), warpgroup_plan(task, tile, model)});
  }
  for (const Solver* solver : solvers()) {
    if ((wanted != "all" && wanted != solver->name()) || !solver->supports(task, model).ok) continue;
    // Of warpgroup's forms ("rows=...") the best at least, for the model may be wrong about a whole form.
    std::set<std::string> forms;
    std::size_t count = 0;
    for (const Candidate& candidate : solver->candidates(task, model)) {
      const std::string form = candidate.configuration.substr(0, candidate.configuration.find(' '));
      const bool first_of_form = form.starts_with("rows=") && forms.insert(form).second;
      if (count++ >= most && !first_of_form) continue;
      rows.push_back({solver->name(), candidate, solver->plan(task, candidate.configuration, model)});
    }
  }
  std::atomic<std::size_t> next = 0;
  parallel_for(static_cast<std::int64_t>(rows.size()), [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < rows.size(); i = next++) {
      const auto compiled = [&](const cuda::KernelSource& source) {
        return cuda::compile(source, cuda::architecture(context.facts())).image;
      };
      rows[i].image = compiled(rows[i].plan.source);
      rows[i].packing_image = compiled(rows[i].plan.packing->source);
    }
  });
  nlohmann::json found = nlohmann::json::array();
  for (const Row& row : rows) {
    const KernelPlan::Packing& packing = *row.plan.packing;
    const cuda::Buffer packed(context, packing.bytes);
    const cuda::Kernel pack(context, row.packing_image, packing.source.entry.c_str());
    pack.launch(packing.launch, tensors.stream().handle(),
                shared::Arguments{.tensors = {.input = nullptr,
                                              .weight = pointers.weight,
                                              .bias = nullptr,
                                              .residual = nullptr,
                                              .output = packed.as()},
                                  .sizes = sizes});
    const shared::Arguments arguments{.tensors = {.input = pointers.input,
                                                  .weight = packed.as(),
                                                  .bias = pointers.bias,
                                                  .residual = pointers.residual,
                                                  .output = pointers.output},
                                      .sizes = sizes};
    tensors.fill_output(0xff);
    const cuda::Kernel kernel(context, row.image, row.plan.source.entry.c_str());
    const double ms = time_ms(tensors, kernel, row.plan.launch(sizes), arguments);
    found.push_back({{"solver", row.solver},
                     {"configuration", row.candidate.configuration},
                     {"predicted_ms", row.candidate.predicted_ms},
                     {"waves", row.candidate.waves},
                     {"registers", kernel.facts().registers},
                     {"local_bytes", kernel.facts().local_bytes},
                     {"max_bound_ratio", bound_ratio(tensors, task.problem)},
                     {"ms", ms}});
  }
  return {{"problem", spell(problem)}, {"candidates", found}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const cuda::Context& context = cuda::Context::get(parse_device(argc > 1 ? argv[1] : "cuda:0").index);
    if (argc < 4) throw Error(ErrorCode::usage, "usage: candidates DEVICE SOLVER MOST PROBLEM...");
    for (int i = 4; i < argc; ++i)
      std::cout << measure(parse_problem(argv[i]), context, argv[2], std::stoul(argv[3])).dump() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
