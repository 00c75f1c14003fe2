#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tapconv/error.hpp"

namespace tapconv::cuda {

/// Facts of a device, as the driver reports them.
struct DeviceFacts {
  std::string name;
  std::string pci_bus_id;  ///< like "0000:06:00.0"
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  int max_threads_per_block = 0;
  int shared_per_block = 0;           ///< bytes, without opting in
  int shared_per_block_opt_in = 0;    ///< bytes, with the kernel attribute set
  int shared_per_multiprocessor = 0;  ///< bytes
  int registers_per_block = 0;
  std::array<std::int64_t, 3> max_grid{};
  int l2_bytes = 0;
  int sm_clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  std::size_t memory_bytes = 0;  ///< in all
  int driver_version = 0;        ///< 1000 * major + 10 * minor, of CUDA
};

/// Number of CUDA devices; 0 where there is no driver. Never throws.
[[nodiscard]] int device_count() noexcept;

/// Why device_count() is 0, as a sentence; empty if it is not.
[[nodiscard]] std::string missing_reason();

/// A device's primary context (the one that PyTorch uses), retained for the life of the process.
class Context {
 public:
  /// Throws Error{environment} if there is no such device.
  static const Context& get(int device);

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] void* handle() const noexcept { return handle_; }  ///< a CUcontext
  [[nodiscard]] const DeviceFacts& facts() const noexcept { return facts_; }
  /// Bytes of device memory that are free now.
  [[nodiscard]] std::size_t free_bytes() const;
  /// Throws Error{usage} naming `field` unless `pointer` is in memory that CUDA knows and that, if it is device memory,
  /// belongs to this device. Asks the driver every time.
  void expect_reachable(const void* pointer, std::string_view field) const;

  explicit Context(int device);  ///< use get()

 private:
  int device_;
  void* handle_ = nullptr;
  DeviceFacts facts_;
};

/// Makes a context current to the calling thread, and at the end the one that was so before. Everything here that needs
/// a current context does this itself, so that callers find theirs as they left it.
class CurrentContext {
 public:
  /// Throws Error{environment}.
  explicit CurrentContext(const Context& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  bool pushed_ = false;
};

/// Of destructors: calls body() with the context current, or does nothing where that is not possible any more, because
/// the process ends and the driver has gone.
template <class Body>
void release_in(const Context& context, const Body& body) noexcept {
  try {
    const CurrentContext current(context);
    body();
  } catch (const Error&) {
  }
}

/// Owns `bytes` of device memory.
class Buffer {
 public:
  Buffer() = default;
  /// Throws Error{memory} saying how much was asked for and how much is free.
  Buffer(const Context& context, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : context_(other.context_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  template <class T = void>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Copies that are complete on return, for every stream; `offset` and the span's size are checked against the buffer.
  /// A download does not wait for streams.
  void upload(std::span<const std::byte> source, std::size_t offset = 0);
  void download(std::span<std::byte> target, std::size_t offset = 0) const;

 private:
  const Context* context_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Owns a stream that does not synchronise with the legacy default stream.
class Stream {
 public:
  explicit Stream(const Context& context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void synchronize() const;
  /// Sets `bytes` bytes at `target` to `value`, in stream order.
  void fill_bytes(void* target, unsigned char value, std::size_t bytes) const;
  /// Copies `bytes` bytes of device memory, in stream order.
  void copy(void* target, const void* source, std::size_t bytes) const;
  [[nodiscard]] void* handle() const noexcept { return handle_; }  ///< a CUstream, alias cudaStream_t

 private:
  const Context& context_;
  void* handle_ = nullptr;
};

/// Owns a timing event.
class Event {
 public:
  explicit Event(const Context& context);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) const;
  void synchronize() const;
  /// Whether all work before it is done.
  [[nodiscard]] bool has_completed() const;
  /// Milliseconds from `start` to this event; both must have completed.
  [[nodiscard]] double milliseconds_since(const Event& start) const;

 private:
  const Context& context_;
  void* handle_ = nullptr;
};

/// Grid, block and dynamic shared memory of one launch.
struct LaunchShape {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<int, 3> block{1, 1, 1};
  int dynamic_shared_bytes = 0;
  int cluster = 1;  ///< blocks along x that the kernel was compiled to run together
};

/// What the compiler made of a kernel.
struct KernelFacts {
  int registers = 0;    ///< a thread
  int local_bytes = 0;  ///< a thread; not 0 means spills or a local array
  int static_shared_bytes = 0;
  int max_threads_per_block = 0;
};

/// A loaded module's one kernel. Move-only.
class Kernel {
 public:
  /// Loads `image` (a cubin) into `context` and finds `entry`. Throws Error{launch}.
  Kernel(const Context& context, std::span<const char> image, const char* entry);
  ~Kernel();
  Kernel(Kernel&& other) noexcept;
  Kernel& operator=(Kernel&&) = delete;

  [[nodiscard]] const KernelFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] void* function() const noexcept { return function_; }  ///< a CUfunction

  /// Validates `shape` against the device and the kernel (see launch_problem), then launches on `stream` with one
  /// parameter, a plain struct. Neither waits nor allocates. Throws Error{launch} naming the kernel and the shape.
  template <class Arguments>
  void launch(const LaunchShape& shape, void* stream, const Arguments& arguments) const {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    launch_raw(shape, stream, &arguments);
  }

 private:
  void launch_raw(const LaunchShape& shape, void* stream, const void* arguments) const;

  const Context* context_;
  std::string entry_;
  void* module_ = nullptr;
  void* function_ = nullptr;
  KernelFacts facts_;
};

/// The limit that a launch would break, as a sentence with the value and the limit; empty if it is legal.
[[nodiscard]] std::string launch_problem(const LaunchShape& shape, const KernelFacts& kernel,
                                         const DeviceFacts& device);

}  // namespace tapconv::cuda
