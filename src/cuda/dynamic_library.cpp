#include "cuda/dynamic_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

/// Folders to look in, in order; the empty one stands for the loader's own search.
std::vector<std::string> search_folders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("TAPCONV_LIBRARY_PATH")) {
    std::istringstream parts(path);
    for (std::string folder; std::getline(parts, folder, ':');) {
      if (!folder.empty()) folders.push_back(folder + "/");
    }
  }
  folders.emplace_back();
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  return folders;
}

}  // namespace

DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> names) {
  std::string reason;
  for (const std::string& folder : search_folders()) {
    for (const char* name : names) {
      name_ = folder + name;
      handle_ = dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_) return;
      reason = dlerror();
    }
  }
  fail(ErrorCode::environment, "cannot open {} (set TAPCONV_LIBRARY_PATH to the folder that holds it): {}",
       *names.begin(), reason);
}

void* DynamicLibrary::symbol(const char* symbol) const {
  void* address = dlsym(handle_, symbol);
  if (!address) fail(ErrorCode::environment, "{} has no symbol {}; a newer version is needed", name_, symbol);
  return address;
}

}  // namespace tapconv::cuda
