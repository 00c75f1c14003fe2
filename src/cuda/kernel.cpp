#include "cuda/driver.hpp"
#include "cuda/driver_api.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

const DriverApi& api() { return DriverApi::get(); }

}  // namespace

Kernel::Kernel(const Context& context, std::span<const char> image, const char* entry)
    : context_(&context), entry_(entry) {
  const CurrentContext current(context);
  api().check(api().ModuleLoadData(&module_, image.data()), "loading a kernel", ErrorCode::launch);
  api().check(api().ModuleGetFunction(&function_, module_, entry), "finding a kernel's entry", ErrorCode::launch);
  const auto attribute = [&](int which) {
    int value = 0;
    api().check(api().FuncGetAttribute(&value, which, function_), "reading a kernel attribute", ErrorCode::launch);
    return value;
  };
  facts_ = {.registers = attribute(driver::function_registers),
            .local_bytes = attribute(driver::function_local_bytes),
            .static_shared_bytes = attribute(driver::function_shared_bytes),
            .max_threads_per_block = attribute(driver::function_max_threads)};
  // Beyond the default limit a kernel has to ask; asking for less than it has changes nothing.
  const int most = context.facts().shared_per_block_opt_in - facts_.static_shared_bytes;
  api().check(api().FuncSetAttribute(function_, driver::function_max_dynamic_shared, most), "asking for shared memory",
              ErrorCode::launch);
}

Kernel::~Kernel() {
  if (module_) release_in(*context_, [&] { api().ModuleUnload(module_); });
}

Kernel::Kernel(Kernel&& other) noexcept
    : context_(other.context_),
      entry_(std::move(other.entry_)),
      module_(std::exchange(other.module_, nullptr)),
      function_(other.function_),
      facts_(other.facts_) {}

void Kernel::launch_raw(const LaunchShape& shape, void* stream, const void* arguments) const {
  if (const std::string problem = launch_problem(shape, facts_, context_->facts()); !problem.empty())
    fail(ErrorCode::launch, "{} cannot be launched: {}", entry_, problem);
  const CurrentContext current(*context_);
  void* parameters[] = {const_cast<void*>(arguments)};
  const auto grid = [&](int axis) { return static_cast<unsigned>(shape.grid[axis]); };
  const auto block = [&](int axis) { return static_cast<unsigned>(shape.block[axis]); };
  const int result = api().LaunchKernel(function_, grid(0), grid(1), grid(2), block(0), block(1), block(2),
                                        static_cast<unsigned>(shape.dynamic_shared_bytes), stream, parameters, nullptr);
  if (result == 0) return;
  const std::string doing =
      fmt::format("launching {} on {} x {} x {} blocks of {} x {} x {} threads with {} bytes of dynamic shared memory",
                  entry_, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2],
                  shape.dynamic_shared_bytes);
  api().check(result, doing.c_str(), ErrorCode::launch);
}

std::string launch_problem(const LaunchShape& shape, const KernelFacts& kernel, const DeviceFacts& device) {
  constexpr const char* axes = "xyz";
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] < 1 || shape.grid[i] > device.max_grid[i])
      return fmt::format("grid.{} = {}; valid on {}: 1 to {}", axes[i], shape.grid[i], device.name, device.max_grid[i]);
    if (shape.block[i] < 1) return fmt::format("block.{} = {}; valid: at least 1", axes[i], shape.block[i]);
  }
  if (shape.cluster < 1 || shape.grid[0] % shape.cluster != 0)
    return fmt::format("grid.x = {}; valid: a multiple of the {} blocks of a cluster", shape.grid[0], shape.cluster);
  const std::int64_t threads = std::int64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (threads > device.max_threads_per_block)
    return fmt::format("block has {} threads; valid on {}: at most {}", threads, device.name,
                       device.max_threads_per_block);
  // Registers are given to warps of 32 threads, 8 a thread at a time.
  const std::int64_t registers = (threads + 31) / 32 * 32 * ((kernel.registers + 7) / 8 * 8);
  if (registers > device.registers_per_block)
    return fmt::format("{} threads of {} registers need {}; a block on {} has {}", threads, kernel.registers, registers,
                       device.name, device.registers_per_block);
  if (threads > kernel.max_threads_per_block)
    return fmt::format("block has {} threads; the kernel was compiled for at most {}", threads,
                       kernel.max_threads_per_block);
  const std::int64_t shared = std::int64_t{shape.dynamic_shared_bytes} + kernel.static_shared_bytes;
  if (shape.dynamic_shared_bytes < 0 || shared > device.shared_per_block_opt_in)
    return fmt::format("shared memory: {} bytes dynamic and {} static; valid on {}: at most {} in all",
                       shape.dynamic_shared_bytes, kernel.static_shared_bytes, device.name,
                       device.shared_per_block_opt_in);
  return {};
}

}  // namespace tapconv::cuda
