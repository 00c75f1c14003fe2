#pragma once

#include <initializer_list>
#include <string>

namespace tapconv::cuda {

/// A shared library opened at run time, closed never: CUDA's libraries do not survive being unloaded.
class DynamicLibrary {
 public:
  /// Opens the first of `names` that loads: from the folders of the environment variable TAPCONV_LIBRARY_PATH
  /// (separated by colons), as the loader finds it, from $CUDA_HOME/lib64, or from /usr/local/cuda/lib64. Throws
  /// Error{environment} naming what was looked for and the loader's last word.
  explicit DynamicLibrary(std::initializer_list<const char*> names);

  /// The address of `symbol`. Throws Error{environment} naming the symbol and the library.
  [[nodiscard]] void* symbol(const char* symbol) const;

  template <class Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

  /// The path or name that was opened.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace tapconv::cuda
