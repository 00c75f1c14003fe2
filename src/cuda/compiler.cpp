#include "cuda/compiler.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "cuda/dynamic_library.hpp"
#include "problem/embedded.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

/// The part of NVRTC's C interface that is used, under its own names less the prefix "nvrtc".
struct NvrtcApi {
  using Program = void*;
  int (*Version)(int*, int*);
  const char* (*GetErrorString)(int);
  int (*CreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*DestroyProgram)(Program*);
  int (*CompileProgram)(Program, int, const char* const*);
  int (*GetCUBINSize)(Program, std::size_t*);
  int (*GetCUBIN)(Program, char*);
  int (*GetProgramLogSize)(Program, std::size_t*);
  int (*GetProgramLog)(Program, char*);

  static const NvrtcApi& get() {
    static const NvrtcApi api;
    return api;
  }

  void check(int result, const char* doing) const {
    if (result != 0) fail(ErrorCode::compile, "{} failed: {}", doing, GetErrorString(result));
  }

 private:
  NvrtcApi() : library_({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    library_.load(Version, "nvrtcVersion");
    library_.load(GetErrorString, "nvrtcGetErrorString");
    library_.load(CreateProgram, "nvrtcCreateProgram");
    library_.load(DestroyProgram, "nvrtcDestroyProgram");
    library_.load(CompileProgram, "nvrtcCompileProgram");
    library_.load(GetCUBINSize, "nvrtcGetCUBINSize");
    library_.load(GetCUBIN, "nvrtcGetCUBIN");
    library_.load(GetProgramLogSize, "nvrtcGetProgramLogSize");
    library_.load(GetProgramLog, "nvrtcGetProgramLog");
  }
  DynamicLibrary library_;
};

class Program {
 public:
  explicit Program(const KernelSource& source) : api_(NvrtcApi::get()) {
    std::vector<std::string> names, texts;
    for (const EmbeddedFile& file : kernel_files()) {
      names.emplace_back(file.path);
      texts.emplace_back(file.text);
    }
    std::vector<const char*> name_pointers, text_pointers;
    for (std::size_t i = 0; i < names.size(); ++i) {
      name_pointers.push_back(names[i].c_str());
      text_pointers.push_back(texts[i].c_str());
    }
    api_.check(api_.CreateProgram(&program_, source.text.c_str(), (source.entry + ".cu").c_str(),
                                  static_cast<int>(names.size()), text_pointers.data(), name_pointers.data()),
               "preparing a compilation");
  }
  ~Program() { api_.DestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Compiled compile(const std::string& architecture) {
    const std::string target = "--gpu-architecture=sm_" + architecture;
    const char* options[] = {target.c_str(), "--std=c++20", "--device-as-default-execution-space",
                             "--ptxas-options=-v"};
    const int result = api_.CompileProgram(program_, static_cast<int>(std::size(options)), options);
    Compiled compiled;
    std::size_t size = 0;
    api_.check(api_.GetProgramLogSize(program_, &size), "reading the compiler's output");
    compiled.log.resize(size);
    api_.check(api_.GetProgramLog(program_, compiled.log.data()), "reading the compiler's output");
    compiled.log.resize(compiled.log.find_last_not_of('\0') + 1);
    if (result != 0) fail(ErrorCode::compile, "{} for {}:\n{}", api_.GetErrorString(result), target, compiled.log);
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
  const auto start = std::chrono::steady_clock::now();
  Compiled compiled = Program(source).compile(architecture);
  compiled.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  NvrtcApi::get().check(NvrtcApi::get().Version(&major, &minor), "asking for NVRTC's version");
  return fmt::format("{}.{}", major, minor);
}

std::string architecture(const DeviceFacts& device) {
  return fmt::format("{}{}{}", device.compute_major, device.compute_minor, device.compute_major >= 9 ? "a" : "");
}

const Kernel* load(const Context& context, const KernelSource& source) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, Kernel> kernels;
  const std::lock_guard lock(mutex);
  const std::pair key(context.device(), source.text);
  const auto found = kernels.find(key);
  if (found != kernels.end()) return &found->second;
  const Compiled compiled = compile(source, architecture(context.facts()));
  return &kernels.try_emplace(key, context, compiled.image, source.entry.c_str()).first->second;
}

}  // namespace tapconv::cuda
