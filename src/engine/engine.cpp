#include "tapconv/engine.hpp"

#include <chrono>

#include "engine/cpu_engine.hpp"
#include "engine/session.hpp"
#include "plan/cuda_plan.hpp"
#include "problem/ceilings.hpp"

namespace tapconv {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void describe_cuda(PlanReport& report) {
  const cuda::Context& context = cuda::Context::get(report.device.index);
  const CudaPlan plan(report.problem, context);
  report.device_name = context.facts().name;
  report.verdicts = plan.stages().back().choice.verdicts;
  report.solver = plan.solver();
  report.configuration = plan.configuration();
  for (const CudaStage& stage : plan.stages()) {
    for (const CudaStep& step : stage.steps) {
      const cuda::KernelFacts& facts = step.kernel->facts();
      const cuda::LaunchShape launch = step.plan.launch(sizes_of(stage.task.problem));
      report.kernels.push_back({.registers = facts.registers,
                                .local_bytes = facts.local_bytes,
                                .static_shared_bytes = facts.static_shared_bytes,
                                .blocks = launch.grid[0] * launch.grid[1] * launch.grid[2],
                                .threads = launch.block[0] * launch.block[1] * launch.block[2]});
    }
  }
}

}  // namespace

PlanReport plan(const Problem& problem, const Device& device) {
  validate(problem);
  PlanReport report{.problem = problem,
                    .device = device,
                    .device_name = {},
                    .input_shape = input_shape(problem),
                    .weight_shape = weight_shape(problem),
                    .output_shape = output_shape(problem),
                    .work = work(problem),
                    .floors = {},
                    .verdicts = {},
                    .solver = {},
                    .configuration = {},
                    .kernels = {}};
  if (device.kind == Device::Kind::cuda)
    describe_cuda(report);
  else
    describe_cpu(report);
  if (auto own = find_floor(problem, report.device_name)) {
    report.floors.push_back(*std::move(own));
  } else {
    for (const Ceilings& ceilings : known_ceilings()) report.floors.push_back(floor_time(problem, ceilings));
  }
  return report;
}

RunReport run(const Problem& problem, const Device& device, const TensorSource& tensors, const Progress& progress) {
  const auto tell = [&](double fraction, std::string_view doing) {
    if (progress) progress(fraction, doing);
  };
  tell(0, "preparing tensors");
  const std::unique_ptr<Session> session = Session::open(problem, device);
  session->fill(uniform_recipes(problem, tensors.seed));
  upload_given(*session, tensors);
  session->poison();

  tell(0.3, "planning");
  const auto start = std::chrono::steady_clock::now();
  Executable& engine = session->engine();
  engine.prepare();
  session->synchronize();
  RunReport report{.output = {},
                   .device = device,
                   .device_name = session->device_name(),
                   .solver = engine.name(),
                   .plan_ms = milliseconds_since(start),
                   .compute_ms = 0};
  tell(0.4, "computing");
  report.compute_ms = session->time(engine);
  engine.finish();
  tell(0.8, "fetching the output");
  report.output = session->download();
  return report;
}

}  // namespace tapconv
