#include "cuda/compiler.hpp"

#include <chrono>

#include "cuda/cubin_cache.hpp"
#include "cuda/cubin_key.hpp"
#include "cuda/included_files.hpp"
#include "cuda/nvrtc.hpp"
#include "problem/log.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Nothing is looked for in the working folder (--no-source-include).
std::vector<std::string> compile_options(const std::string& architecture) {
  return {"--gpu-architecture=sm_" + architecture, "--std=c++20", "--device-as-default-execution-space",
          "--no-source-include", "--ptxas-options=-v"};
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

class Program {
 public:
  /// NVRTC is given the headers that the key covers and no other: what the key misses does not compile.
  explicit Program(const KernelSource& source) : api_(NvrtcApi::get()) {
    std::vector<std::string> names, texts;
    for (const EmbeddedFile& file : included_files(source.text, kernel_files())) {
      names.emplace_back(file.path);
      texts.emplace_back(file.text);
    }
    api_.check(api_.CreateProgram(&program_, source.text.c_str(), (source.entry + ".cu").c_str(),
                                  static_cast<int>(names.size()), pointers(texts).data(), pointers(names).data()),
               "preparing a compilation");
  }
  ~Program() { api_.DestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Compiled compile(const std::string& architecture) {
    const std::vector<std::string> options = compile_options(architecture);
    const int result = api_.CompileProgram(program_, static_cast<int>(options.size()), pointers(options).data());
    Compiled compiled;
    std::size_t size = 0;
    api_.check(api_.GetProgramLogSize(program_, &size), "reading the compiler's output");
    compiled.log.resize(size);
    api_.check(api_.GetProgramLog(program_, compiled.log.data()), "reading the compiler's output");
    compiled.log.resize(compiled.log.find_last_not_of('\0') + 1);
    if (result != 0) fail(ErrorCode::compile, "{} for {}:\n{}", api_.GetErrorString(result), options[0], compiled.log);
    api_.check(api_.GetCUBINSize(program_, &size), "reading the compiled kernel");
    compiled.image.resize(size);
    api_.check(api_.GetCUBIN(program_, compiled.image.data()), "reading the compiled kernel");
    return compiled;
  }

 private:
  const NvrtcApi& api_;
  NvrtcApi::Program program_ = nullptr;
};

}  // namespace

Compiled compile(const KernelSource& source, const std::string& architecture) {
  const Clock::time_point start = Clock::now();
  Compiled compiled = Program(source).compile(architecture);
  compiled.seconds = seconds_since(start);
  log(LogLevel::debug, "{} compiled for sm_{} in {:.3f} s", source.entry, architecture, compiled.seconds);
  return compiled;
}

Compiled compiled(CubinCache& cache, const KernelSource& source, const std::string& architecture) {
  const Clock::time_point start = Clock::now();
  const std::string version = compiler_version();
  const std::vector<std::string> options = compile_options(architecture);
  const std::vector<EmbeddedFile> headers = included_files(source.text, kernel_files());
  const Digest key = cubin_key({.compiler_version = version,
                                .architecture = architecture,
                                .options = options,
                                .entry = source.entry,
                                .text = source.text,
                                .headers = headers});
  CubinCache::Obtained obtained = cache.obtain(architecture, key, [&] {
    Compiled fresh = compile(source, architecture);
    return CubinEntry{.entry = source.entry, .log = std::move(fresh.log), .image = std::move(fresh.image)};
  });
  return {.image = std::move(obtained.entry.image),
          .log = std::move(obtained.entry.log),
          .seconds = seconds_since(start),
          .from_cache = obtained.from_disk};
}

Compiled compiled(const KernelSource& source, const std::string& architecture) {
  return compiled(CubinCache::get(), source, architecture);
}

std::string compiler_version() {
  int major = 0, minor = 0;
  NvrtcApi::get().check(NvrtcApi::get().Version(&major, &minor), "asking for NVRTC's version");
  return fmt::format("{}.{}", major, minor);
}

std::string architecture(const DeviceFacts& device) {
  return fmt::format("{}{}{}", device.compute_major, device.compute_minor, device.compute_major >= 9 ? "a" : "");
}

}  // namespace tapconv::cuda
