// How long kernels take to be ready: compiled by NVRTC, and read from the cache on the disk. Run by jit_times.py.
//
//     jit_times ARCHITECTURE PROBLEM...       one JSON line for each kernel; uses and fills the cache of the
//     environment

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cuda/compiler.hpp"
#include "plan/planner.hpp"

namespace {

using namespace tapconv;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void measure(const Problem& problem, const std::string& architecture, const DeviceModel& device) {
  for (const Task& task : tasks_of(problem)) {
    for (const KernelPlan& plan : kernels_of(task, choose(task, device), device)) {
      auto start = Clock::now();
      const cuda::Compiled cold = cuda::compile(plan.source, architecture);
      const double compile_ms = milliseconds_since(start);
      (void)cuda::compiled(plan.source, architecture);  // into the cache
      start = Clock::now();
      const cuda::Compiled warm = cuda::compiled(plan.source, architecture);
      const double cache_ms = milliseconds_since(start);
      std::cout << nlohmann::json{{"problem", spell(problem)},     {"entry", plan.source.entry},
                                  {"compile_ms", compile_ms},      {"cache_ms", cache_ms},
                                  {"from_cache", warm.from_cache}, {"image_byte", cold.image.size()}}
                       .dump()
                << std::endl;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const DeviceModel device = device_model(cuda::Context::get(0).facts());
    for (int i = 2; i < argc; ++i) measure(parse_problem(argv[i]), argv[1], device);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
