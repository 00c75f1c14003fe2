#include <atomic>
#include <functional>
#include <string_view>

#include "cuda/compiler.hpp"
#include "cuda/once_map.hpp"
#include "problem/parallel.hpp"

namespace tapconv::cuda {
namespace {

/// What a loaded kernel is looked up by. (The headers that its text includes are part of the program.)
struct KernelView {
  int device;
  std::string_view entry, text;

  friend bool operator==(const KernelView&, const KernelView&) = default;
};

struct KernelKey {
  int device;
  std::string entry, text;

  explicit KernelKey(const KernelView& view) : device(view.device), entry(view.entry), text(view.text) {}
  operator KernelView() const noexcept { return {device, entry, text}; }
};

struct KernelHash {
  using is_transparent = void;
  std::size_t operator()(const KernelView& view) const noexcept {
    return std::hash<std::string_view>()(view.text) + static_cast<std::size_t>(view.device);
  }
};

struct KernelEqual {
  using is_transparent = void;
  bool operator()(const KernelView& a, const KernelView& b) const noexcept { return a == b; }
};

using Kernels = OnceMap<KernelKey, Kernel, KernelHash, KernelEqual>;

}  // namespace

const Kernel* load(const Context& context, const KernelSource& source) {
  static Kernels kernels(Kernels::Keeps::always);
  const KernelView view{.device = context.device(), .entry = source.entry, .text = source.text};
  return &kernels
              .get(view,
                   [&] {
                     const Compiled cubin = compiled(source, architecture(context.facts()));
                     return Kernel(context, cubin.image, source.entry.c_str());
                   })
              .get();
}

std::vector<const Kernel*> load_all(const Context& context, std::span<const KernelSource> sources) {
  std::vector<const Kernel*> kernels(sources.size());
  std::atomic<std::size_t> next = 0;
  // Every thread takes the next that nobody has taken: compilations differ in length.
  parallel_for(static_cast<std::int64_t>(sources.size()), [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < sources.size(); i = next++) kernels[i] = load(context, sources[i]);
  });
  return kernels;
}

}  // namespace tapconv::cuda
