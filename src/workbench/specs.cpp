#include <thread>

#include "cuda/compiler.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/nvml.hpp"
#include "engine/cpu_engine.hpp"
#include "engine/device.hpp"
#include "engine/processor.hpp"
#include "problem/text.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/measured_ceilings.hpp"

namespace tapconv {
namespace {

/// The value of `what()`, or why there is none.
template <class What>
std::string or_reason(const What& what) {
  try {
    return what();
  } catch (const Error& error) {
    return fmt::format("not available: {}", error.what());
  }
}

void describe_cuda_device(SpecsReport& report, const cuda::Context& context) {
  const cuda::DeviceFacts& facts = context.facts();
  report.device_name = facts.name;
  report.facts = {
      {"compute capability", fmt::format("{}.{}", facts.compute_major, facts.compute_minor)},
      {"multiprocessors", fmt::format("{}", facts.multiprocessors)},
      {"clock, highest", fmt::format("{} MHz", facts.sm_clock_khz / 1000)},
      {"memory", fmt::format("{:.1f} GiB", static_cast<double>(facts.memory_bytes) * 0x1p-30)},
      {"memory interface", fmt::format("{} bits at {} MHz", facts.memory_bus_bits, facts.memory_clock_khz / 1000)},
      {"L2 cache", fmt::format("{:.1f} MiB", facts.l2_bytes * 0x1p-20)},
      {"shared memory a block",
       fmt::format("{} bytes; {} by opt-in", facts.shared_per_block, facts.shared_per_block_opt_in)},
      {"shared memory a multiprocessor", fmt::format("{} bytes", facts.shared_per_multiprocessor)},
      {"registers a block", fmt::format("{}", facts.registers_per_block)},
      {"threads a block", fmt::format("at most {}", facts.max_threads_per_block)},
      {"grid", fmt::format("at most {}", fmt::join(facts.max_grid, " x "))},
  };
  report.versions = {
      {"CUDA driver", fmt::format("{}.{}", facts.driver_version / 1000, facts.driver_version % 1000 / 10)},
      {"display driver", cuda::display_driver_version()},
      {"NVRTC", or_reason(cuda::compiler_version)},
      {"cuDNN", or_reason([&] { return cuda::Cudnn(context).version(); })},
  };
}

void describe_cpu_device(SpecsReport& report) {
  report.device_name = processor_info("model name");
  report.facts = {{"cores", fmt::format("{}", std::thread::hardware_concurrency())}};
  const std::string flags = " " + processor_info("flags") + " ";
  std::vector<std::string> known;
  for (const char* flag : {"avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16"}) {
    if (flags.find(fmt::format(" {} ", flag)) != std::string::npos) known.emplace_back(flag);
  }
  report.facts["instructions"] = fmt::format("{}", fmt::join(known, ", "));
  report.versions = {{"oneDNN", cpu_engine_available() ? cpu_engine_version() : "not built in"}};
}

}  // namespace

SpecsReport describe(const Device& device) {
  expect_hardware(device, "measure");
  SpecsReport report;
  report.device = device;
  if (device.kind == Device::Kind::cuda)
    describe_cuda_device(report, cuda::Context::get(device.index));
  else
    describe_cpu_device(report);
  return report;
}

SpecsReport specs(const Device& device, const Progress& progress) {
  SpecsReport report = describe(device);
  report.measured = device.kind == Device::Kind::cuda ? measure_cuda(cuda::Context::get(device.index), progress)
                                                      : measure_cpu(progress);
  if (progress) progress(1, "done");
  return report;
}

}  // namespace tapconv
