#include "workbench/judge.hpp"

#include <algorithm>

#include "engine/device.hpp"
#include "problem/text.hpp"

namespace tapconv {

void expect_reference(const std::string& against, const Device& device) {
  expect_hardware(device, "compute");
  const std::string_view valid = library_of(device);
  if (!against.empty() && against != valid)
    fail(ErrorCode::usage, "against = {}; valid on {}: {}", against, name(device), valid);
}

std::string_view library_of(const Device& device) { return device.kind == Device::Kind::cuda ? "cudnn" : "onednn"; }

std::int64_t default_samples(const Problem& problem, const Device& device) {
  // Multiply-adds in fp64 that take about a second, six roundings and three sets of tensors considered.
  const double budget = device.kind == Device::Kind::cuda ? 2e9 : 2e7;
  double reduction = 0;
  for (const Problem& stage : stages(problem)) {
    // The oracle evaluates one output at a time, and with it every input of a second stage.
    const double products =
        static_cast<double>(element_count(weight_shape(stage))) /
        static_cast<double>(stage.kind == Kind::transposed ? stage.in_channels : stage.out_channels);
    reduction = stage.kind == Kind::transposed ? products / static_cast<double>(stage.out_channels / stage.groups) *
                                                     static_cast<double>(stage.in_channels / stage.groups)
                                               : (reduction + 1) * products;
  }
  return static_cast<std::int64_t>(std::clamp(budget / reduction, 256.0, 1048576.0));
}

void execute(Session& session, Executable& executable) {
  session.poison();
  compute_over_output(session, executable);
}

void compute_over_output(Session& session, Executable& executable) {
  executable.prepare();
  executable.run();
  executable.finish();
  session.synchronize();
}

std::vector<std::int64_t> fingerprint_samples(const Problem& problem, std::uint64_t seed) {
  return sample_outputs(problem, std::min<std::int64_t>(4096, default_samples(problem, {})), seed);
}

Fingerprint fingerprint_output(Session& session, std::uint64_t seed) {
  const std::vector<std::int64_t> outputs = fingerprint_samples(session.problem(), seed);
  return fingerprint_of(session, outputs, session.gather(outputs).values);
}

Fingerprint fingerprint_of(Session& session, std::span<const std::int64_t> outputs, std::span<const double> result) {
  return fingerprint(session.problem(), result, hypotheses_of(session, outputs));
}

std::vector<std::int64_t> output_place(const Problem& problem, std::int64_t output) {
  std::vector<std::int64_t> place = output_shape(problem);
  for (std::size_t i = place.size(); i-- > 0;) {
    const std::int64_t size = place[i];
    place[i] = output % size;
    output /= size;
  }
  return place;
}

std::int64_t output_index(const Problem& problem, const std::vector<std::int64_t>& place) {
  const std::vector<std::int64_t> shape = output_shape(problem);
  std::int64_t index = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + place[i];
  return index;
}

}  // namespace tapconv
