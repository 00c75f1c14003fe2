#include "save_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "options.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

/// The file of a target like y.safetensors:name.
std::filesystem::path file_of(const std::string& target) {
  constexpr std::string_view suffix = ".safetensors";
  const std::size_t at = target.find(std::string(suffix) + ":");
  return std::filesystem::path(at == std::string::npos ? target : target.substr(0, at + suffix.size()))
      .lexically_normal();
}

void write_one(const std::string& target, const std::optional<Tensor>& tensor, const char* what) {
  if (target.empty()) return;
  if (!tensor) throw Error(ErrorCode::usage, fmt::format("save-{} = {}; the problem has no {}", what, target, what));
  write_tensor(target, tensor->view());
}

}  // namespace

void SaveOptions::add(CLI::App& command) {
  command.add_option("--out", output)->check(expect_value);
  command.add_option("--save-input", input)->check(expect_value);
  command.add_option("--save-weight", weight)->check(expect_value);
  command.add_option("--save-bias", bias)->check(expect_value);
  command.add_option("--save-pointwise-weight", pointwise_weight)->check(expect_value);
  command.add_option("--save-pointwise-bias", pointwise_bias)->check(expect_value);
  command.add_option("--save-residual", residual)->check(expect_value);
}

void SaveOptions::check() const {
  std::set<std::filesystem::path> files;
  for (const std::string& target : {output, input, weight, bias, pointwise_weight, pointwise_bias, residual}) {
    if (target.empty()) continue;
    const std::filesystem::path file = file_of(target), folder = file.parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder))
      throw Error(ErrorCode::environment, fmt::format("cannot write {}: its folder does not exist", target));
    if (!files.insert(file).second)
      throw Error(ErrorCode::usage,
                  fmt::format("{} is named twice; a file that is written holds one tensor", file.string()));
  }
}

bool SaveOptions::any_operand() const {
  return !(input + weight + bias + pointwise_weight + pointwise_bias + residual).empty();
}

void SaveOptions::write(const TensorSource& tensors) const {
  write_one(input, tensors.input, "input");
  write_one(weight, tensors.weight, "weight");
  write_one(bias, tensors.bias, "bias");
  write_one(pointwise_weight, tensors.pointwise_weight, "pointwise-weight");
  write_one(pointwise_bias, tensors.pointwise_bias, "pointwise-bias");
  write_one(residual, tensors.residual, "residual");
}

}  // namespace tapconv::cli
