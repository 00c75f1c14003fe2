#include <chrono>
#include <cstring>
#include <vector>

#include "engine/cpu_engine.hpp"
#include "engine/host_session.hpp"
#include "problem/parallel.hpp"
#include "workbench/measured_ceilings.hpp"
#include "workbench/median.hpp"

namespace tapconv {

std::map<std::string, double> measure_cpu(const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  if (progress) progress(0, "measuring copies");
  std::map<std::string, double> measured;
  std::vector<char> source(std::size_t{256} << 20, 1), target(source.size());
  std::vector<double> seconds;
  for (int i = 0; i < 6; ++i) {
    const auto start = Clock::now();
    parallel_for(static_cast<std::int64_t>(source.size()), [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(target.data() + begin, source.data() + begin, static_cast<std::size_t>(end - begin));
    });
    if (i > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  measured["copy_GB_per_s"] = 2 * static_cast<double>(source.size()) / median(std::move(seconds)) * 1e-9;

  if (progress) progress(0.5, "measuring arithmetic");
  if (!cpu_engine_available()) return measured;
  const Problem problem{
      .rank = 2, .batch = 1, .in_channels = 512, .out_channels = 512, .input = {64, 64, 1}, .bias = false};
  const std::unique_ptr<Session> session = open_host_session(problem);
  session->fill(uniform_recipes(problem, 0));
  session->engine().prepare();
  std::vector<double> times;
  for (int i = 0; i < 12; ++i) {
    const double ms = session->time(session->engine());
    if (i >= 2) times.push_back(ms);
  }
  measured["convolution_GFLOP_per_s"] = work(problem).flop / median(std::move(times)) * 1e-6;
  return measured;
}

}  // namespace tapconv
