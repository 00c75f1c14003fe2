#include "cuda/driver.hpp"

#include <map>
#include <mutex>

#include "cuda/driver_api.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

const DriverApi& api() { return DriverApi::get(); }

DeviceFacts read_facts(int device) {
  const auto attribute = [&](int which) {
    int value = 0;
    api().check(api().DeviceGetAttribute(&value, which, device), "reading a device attribute", ErrorCode::environment);
    return value;
  };
  DeviceFacts facts;
  std::array<char, 256> name{};
  api().check(api().DeviceGetName(name.data(), static_cast<int>(name.size()), device), "reading the device's name",
              ErrorCode::environment);
  facts.name = name.data();
  api().check(api().DeviceGetPCIBusId(name.data(), static_cast<int>(name.size()), device), "reading the device's bus",
              ErrorCode::environment);
  facts.pci_bus_id = name.data();
  facts.compute_major = attribute(driver::device_major);
  facts.compute_minor = attribute(driver::device_minor);
  facts.multiprocessors = attribute(driver::device_multiprocessors);
  facts.max_threads_per_block = attribute(driver::device_max_threads);
  facts.shared_per_block = attribute(driver::device_shared_per_block);
  facts.shared_per_block_opt_in = attribute(driver::device_shared_opt_in);
  facts.shared_per_multiprocessor = attribute(driver::device_shared_per_multiprocessor);
  facts.registers_per_block = attribute(driver::device_registers);
  for (int i = 0; i < 3; ++i) facts.max_grid[i] = attribute(driver::device_max_grid_x + i);
  facts.l2_bytes = attribute(driver::device_l2_bytes);
  facts.sm_clock_khz = attribute(driver::device_clock_khz);
  facts.memory_clock_khz = attribute(driver::device_memory_clock_khz);
  facts.memory_bus_bits = attribute(driver::device_memory_bus_bits);
  api().check(api().DeviceTotalMem(&facts.memory_bytes, device), "reading the device's memory", ErrorCode::environment);
  api().check(api().DriverGetVersion(&facts.driver_version), "reading the driver's version", ErrorCode::environment);
  return facts;
}

}  // namespace

int device_count() noexcept {
  try {
    int count = 0;
    api().check(api().DeviceGetCount(&count), "counting devices", ErrorCode::environment);
    return count;
  } catch (const Error&) {
    return 0;
  }
}

std::string missing_reason() {
  try {
    return DriverApi::get().Init && device_count() > 0 ? "" : "the CUDA driver reports no device";
  } catch (const Error& error) {
    return error.what();
  }
}

const Context& Context::get(int device) {
  static std::mutex mutex;
  static std::map<int, Context> contexts;
  const std::lock_guard lock(mutex);
  const auto found = contexts.find(device);
  if (found != contexts.end()) return found->second;
  const int count = device_count();
  if (count == 0) fail(ErrorCode::environment, "device = cuda:{}: {}; valid: cpu", device, missing_reason());
  if (device < 0 || device >= count)
    fail(ErrorCode::environment, "device = cuda:{}; valid: cuda:0 to cuda:{}", device, count - 1);
  return contexts.try_emplace(device, device).first->second;
}

Context::Context(int device) : device_(device) {
  int handle = 0;
  api().check(api().DeviceGet(&handle, device), "opening the device", ErrorCode::environment);
  facts_ = read_facts(handle);
  api().check(api().DevicePrimaryCtxRetain(&handle_, handle), "retaining the device's primary context",
              ErrorCode::environment);
}

CurrentContext::CurrentContext(const Context& context) {
  void* before = nullptr;
  api().check(api().CtxGetCurrent(&before), "asking for the current context", ErrorCode::environment);
  if (before == context.handle()) return;
  api().check(api().CtxPushCurrent(context.handle()), "making the device current", ErrorCode::environment);
  pushed_ = true;
}

CurrentContext::~CurrentContext() {
  void* popped = nullptr;
  if (pushed_) api().CtxPopCurrent(&popped);
}

void Context::expect_reachable(const void* pointer, std::string_view field) const {
  const CurrentContext current(*this);
  // The driver writes the two numbers as unsigned and int; a flag is one byte.
  unsigned type = 0;
  int owner = 0;
  bool managed = false;
  const auto ask = [&](auto& value, int attribute) {
    return api().PointerGetAttribute(&value, attribute, reinterpret_cast<DriverApi::Pointer>(pointer)) == 0;
  };
  if (!ask(type, driver::pointer_memory_type) || type == 0)
    fail(ErrorCode::usage, "{} is at {}, which CUDA does not know; valid: device memory of cuda:{}", field, pointer,
         device_);
  if (type != driver::memory_device || (ask(managed, driver::pointer_is_managed) && managed)) return;
  if (!ask(owner, driver::pointer_device) || owner != device_)
    fail(ErrorCode::usage, "{} is in memory of cuda:{}; valid: of cuda:{}, for which this was planned", field, owner,
         device_);
}

std::size_t Context::free_bytes() const {
  const CurrentContext current(*this);
  std::size_t free = 0, total = 0;
  api().check(api().MemGetInfo(&free, &total), "asking for free memory", ErrorCode::environment);
  return free;
}

Buffer::Buffer(const Context& context, std::size_t bytes) : context_(&context), bytes_(bytes) {
  if (bytes == 0) return;
  const CurrentContext current(context);
  DriverApi::Pointer pointer = 0;
  const int result = api().MemAlloc(&pointer, bytes);
  if (result == driver::out_of_memory)
    fail(ErrorCode::memory, "{} bytes of device memory are needed; {} are free on cuda:{}", bytes, context.free_bytes(),
         context.device());
  api().check(result, "allocating device memory", ErrorCode::memory);
  data_ = reinterpret_cast<void*>(pointer);
}

Buffer::~Buffer() {
  if (data_) release_in(*context_, [&] { api().MemFree(reinterpret_cast<DriverApi::Pointer>(data_)); });
}

void Buffer::upload(std::span<const std::byte> source, std::size_t offset) {
  if (offset > bytes_ || source.size() > bytes_ - offset)
    fail(ErrorCode::internal, "upload of {} bytes at {} into a buffer of {}", source.size(), offset, bytes_);
  if (source.empty()) return;
  const CurrentContext current(*context_);
  api().check(api().MemcpyHtoD(reinterpret_cast<DriverApi::Pointer>(data_) + offset, source.data(), source.size()),
              "copying to the device", ErrorCode::launch);
  // The driver's copy returns once pageable memory has been staged; streams that do not wait for the default one could
  // read the target before the data is there.
  api().check(api().StreamSynchronize(nullptr), "waiting for a copy to the device", ErrorCode::launch);
}

void Buffer::download(std::span<std::byte> target, std::size_t offset) const {
  if (offset > bytes_ || target.size() > bytes_ - offset)
    fail(ErrorCode::internal, "download of {} bytes at {} from a buffer of {}", target.size(), offset, bytes_);
  if (target.empty()) return;
  const CurrentContext current(*context_);
  api().check(api().MemcpyDtoH(target.data(), reinterpret_cast<DriverApi::Pointer>(data_) + offset, target.size()),
              "copying from the device", ErrorCode::launch);
}

Stream::Stream(const Context& context) : context_(context) {
  const CurrentContext current(context);
  api().check(api().StreamCreate(&handle_, driver::stream_non_blocking), "creating a stream", ErrorCode::environment);
}

Stream::~Stream() {
  release_in(context_, [&] { api().StreamDestroy(handle_); });
}

void Stream::synchronize() const {
  const CurrentContext current(context_);
  api().check(api().StreamSynchronize(handle_), "waiting for the device", ErrorCode::launch);
}

void Stream::fill_bytes(void* target, unsigned char value, std::size_t bytes) const {
  if (bytes == 0) return;
  const CurrentContext current(context_);
  api().check(api().MemsetD8Async(reinterpret_cast<DriverApi::Pointer>(target), value, bytes, handle_),
              "filling memory", ErrorCode::launch);
}

void Stream::copy(void* target, const void* source, std::size_t bytes) const {
  if (bytes == 0) return;
  const CurrentContext current(context_);
  api().check(api().MemcpyDtoDAsync(reinterpret_cast<DriverApi::Pointer>(target),
                                    reinterpret_cast<DriverApi::Pointer>(source), bytes, handle_),
              "copying within the device", ErrorCode::launch);
}

Event::Event(const Context& context) : context_(context) {
  const CurrentContext current(context);
  api().check(api().EventCreate(&handle_, 0), "creating an event", ErrorCode::environment);
}

Event::~Event() {
  release_in(context_, [&] { api().EventDestroy(handle_); });
}

void Event::record(const Stream& stream) const {
  const CurrentContext current(context_);
  api().check(api().EventRecord(handle_, stream.handle()), "recording an event", ErrorCode::launch);
}

void Event::synchronize() const {
  const CurrentContext current(context_);
  api().check(api().EventSynchronize(handle_), "waiting for the device", ErrorCode::launch);
}

bool Event::has_completed() const {
  const CurrentContext current(context_);
  constexpr int not_ready = 600;  // CUDA_ERROR_NOT_READY
  const int result = api().EventQuery(handle_);
  if (result == not_ready) return false;
  api().check(result, "asking for an event", ErrorCode::launch);
  return true;
}

double Event::milliseconds_since(const Event& start) const {
  const CurrentContext current(context_);
  float milliseconds = 0;
  api().check(api().EventElapsedTime(&milliseconds, start.handle_, handle_), "reading a timer", ErrorCode::launch);
  return milliseconds;
}

}  // namespace tapconv::cuda
