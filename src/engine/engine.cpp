#include "tapconv/engine.hpp"

#include <chrono>

#include "engine/session.hpp"

namespace tapconv {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

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
