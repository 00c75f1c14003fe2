#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "../emulation/launch.hpp"
#include "cuda/compiler.hpp"
#include "strided.hpp"

namespace tapconv::testing {

/// Kernels compiled as host code under sanitizers, by the compiler that built the tests: tests/emulation. One folder
/// for all that a process makes.
class Emulation {
 public:
  Emulation() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tapconv-emulation-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder: " + pattern);
    folder_ = pattern;
  }
  ~Emulation() { std::filesystem::remove_all(folder_); }
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  [[nodiscard]] static bool available() {
    return std::system((std::string(TAPCONV_TEST_COMPILER) + " --version > /dev/null 2>&1").c_str()) == 0;
  }

  /// Makes the program `name` of a kernel that takes shared::Arguments.
  void compile(const std::string& name, const cuda::KernelSource& source) const {
    // Beside the kernel's own source, which is used as it is.
    const std::string type = "void (*const kernel)(tapconv::shared::Arguments)";
    std::ofstream(path(name + ".cpp")) << source.text << "extern " << type << ";\n"
                                       << type << " = " << source.entry << ";\n";
    build(name);
  }

  /// Runs `body`, the statements of a main(), behind a kernel's source: what its functions compute. Throws what it
  /// prints if it ends with anything but 0.
  void evaluate(const std::string& name, const cuda::KernelSource& source, const std::string& body) const {
    std::ofstream(path(name + ".cpp")) << "#include <cstdio>\n"
                                       << source.text
                                       << "extern void (*const kernel)(tapconv::shared::Arguments);\n"
                                          "void (*const kernel)(tapconv::shared::Arguments) = nullptr;\n"
                                          "int main() {\n"
                                       << body << "}\n";
    build(name);
    command(path(name));
  }

  /// Runs the program; its tensors are read here and its output is written back. Null: a tensor that is not there.
  struct Tensors {
    const Strided *input, *weight, *bias, *residual;
    Strided* output;
  };
  void run(const std::string& name, const cuda::LaunchShape& shape, const shared::Sizes& sizes, const Tensors& tensors,
           bool reversed) const {
    emulation::Launch launch{.grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
                             .threads = shape.block[0],
                             .dynamic_shared_bytes = shape.dynamic_shared_bytes,
                             .cluster = shape.cluster,
                             .reversed = reversed,
                             .sizes = sizes,
                             .input = header(tensors.input),
                             .weight = header(tensors.weight),
                             .bias = header(tensors.bias),
                             .residual = header(tensors.residual),
                             .output = header(tensors.output)};
    {
      std::ofstream file(path(name + ".in"), std::ios::binary);
      file.write(reinterpret_cast<const char*>(&launch), sizeof launch);
      for (const Strided* tensor :
           {tensors.input, tensors.weight, tensors.bias, tensors.residual, static_cast<const Strided*>(tensors.output)})
        if (tensor) file.write(reinterpret_cast<const char*>(begin(*tensor)), header(tensor).bytes);
    }
    command("ASAN_OPTIONS=detect_leaks=0 " + path(name) + " " + path(name + ".in") + " " + path(name + ".out"));
    std::ifstream file(path(name + ".out"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (bytes.size() != static_cast<std::size_t>(launch.output.bytes)) throw std::runtime_error("output is cut off");
    std::memcpy(const_cast<std::byte*>(begin(*tensors.output)), bytes.data(), bytes.size());
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// With the library of what every program needs but its kernel, and a main() unless it has one.
  void build(const std::string& name) const {
    command(TAPCONV_TEST_COMPILER " " TAPCONV_TEST_EMULATION_OPTIONS " -I " TAPCONV_TEST_DATA
                                  "/emulation -I " TAPCONV_TEST_DATA "/../kernels -include device.hpp " +
            path(name + ".cpp") + " " TAPCONV_TEST_EMULATION " -o " + path(name));
  }

  /// Runs a shell command; throws its output if it fails.
  void command(const std::string& line) const {
    const std::string log = path(std::to_string(std::hash<std::string>{}(line)) + ".log");
    if (std::system((line + " > " + log + " 2>&1").c_str()) == 0) return;
    std::ifstream file(log);
    throw std::runtime_error(line + "\n" +
                             std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }

  /// The bytes from a tensor's lowest element to its highest.
  static emulation::Tensor header(const Strided* tensor) {
    if (!tensor) return {};
    const auto element = static_cast<std::int64_t>(element_bytes(tensor->dtype));
    std::int64_t before = 0, after = 1;
    for (std::size_t axis = 0; axis < tensor->shape.size(); ++axis)
      (tensor->strides[axis] < 0 ? before : after) += tensor->strides[axis] * (tensor->shape[axis] - 1);
    const auto address = reinterpret_cast<std::uintptr_t>(begin(*tensor));
    return {.bytes = (after - before) * element,
            .first = -before * element,
            .offset = static_cast<long long>(address % 16)};
  }

  static const std::byte* begin(const Strided& tensor) {
    std::int64_t before = 0;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis)
      before += std::min<std::int64_t>(tensor.strides[axis], 0) * (tensor.shape[axis] - 1);
    return tensor.data + before * static_cast<std::int64_t>(element_bytes(tensor.dtype));
  }

  std::filesystem::path folder_;
};

}  // namespace tapconv::testing
