#pragma once

#include <charconv>
#include <regex>
#include <string>

#include "cuda/compiler.hpp"
#include "h200.hpp"
#include "solver/device_model.hpp"
#include "tapconv/error.hpp"

namespace tapconv::testing {

inline bool compiler_present() {
  try {
    return !cuda::compiler_version().empty();
  } catch (const Error&) {
    return false;
  }
}

/// A device of each architecture that kernels are compiled for; what differs from the H200 and matters to a launch.
inline std::vector<cuda::DeviceFacts> device_of_each_architecture() {
  struct Card {
    const char* name;
    int major, minor, shared_opt_in;  // bytes
  };
  std::vector<cuda::DeviceFacts> devices;
  for (const Card& card : {Card{"A100", 8, 0, 166912}, Card{"L40S", 8, 9, 101376}, Card{"H200", 9, 0, 232448},
                           Card{"B200", 10, 0, 232448}, Card{"RTX 5090", 12, 0, 101376}}) {
    cuda::DeviceFacts facts = h200();
    facts.name = card.name;
    facts.compute_major = card.major;
    facts.compute_minor = card.minor;
    facts.shared_per_block_opt_in = card.shared_opt_in;
    devices.push_back(facts);
  }
  return devices;
}

/// What the assembler's log says of a module's one kernel.
struct AssemblerReport {
  int registers = 0, stack_bytes = 0, spill_bytes = 0, shared_bytes = 0;
};

/// Throws std::runtime_error for a log that does not say.
inline AssemblerReport assembler_report(const std::string& log) {
  const auto number = [&](const char* pattern, bool optional) {
    std::smatch match;
    if (std::regex_search(log, match, std::regex(pattern))) return std::stoi(match[1]);
    if (!optional) throw std::runtime_error("the compiler's log lacks \"" + std::string(pattern) + "\":\n" + log);
    return 0;
  };
  return {.registers = number("Used (\\d+) registers", false),
          .stack_bytes = number("(\\d+) bytes stack frame", false),
          .spill_bytes = number("(\\d+) bytes spill stores", false) + number("(\\d+) bytes spill loads", false),
          .shared_bytes = number("(\\d+) bytes smem", true)};
}

/// Why a compiled kernel may not be used for a launch; empty if it may.
inline std::string kernel_problem(const cuda::Compiled& compiled, const cuda::LaunchShape& launch,
                                  const cuda::DeviceFacts& device) {
  if (compiled.log.find("warning") != std::string::npos) return "it compiles with warnings:\n" + compiled.log;
  if (compiled.log.find("injected") != std::string::npos) return "ptxas waits for instructions:\n" + compiled.log;
  const AssemblerReport report = assembler_report(compiled.log);
  if (report.stack_bytes != 0 || report.spill_bytes != 0) return "it needs local memory:\n" + compiled.log;
  return cuda::launch_problem(launch,
                              {.registers = report.registers,
                               .local_bytes = 0,
                               .static_shared_bytes = report.shared_bytes,
                               .max_threads_per_block = device.max_threads_per_block},
                              device);
}

}  // namespace tapconv::testing
