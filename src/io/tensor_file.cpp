#include <filesystem>
#include <optional>
#include <string_view>

#include "io/npy.hpp"
#include "io/safetensors.hpp"
#include "problem/excerpt.hpp"
#include "problem/text.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {
namespace {

enum class Format { npy, safetensors };

/// Which tensor of which file.
struct Place {
  Format format;
  std::filesystem::path path;
  std::optional<std::string_view> name;
};

/// File names may hold colons too, so it is the suffix before one that makes it a separator.
Place parse_place(std::string_view text) {
  constexpr std::string_view suffix = ".safetensors", separator = ".safetensors:";
  if (const std::size_t at = text.find(separator); at != std::string_view::npos)
    return {Format::safetensors, text.substr(0, at + suffix.size()), text.substr(at + separator.size())};
  if (text.ends_with(suffix)) return {Format::safetensors, text, std::nullopt};
  if (text.ends_with(".npy")) return {Format::npy, text, std::nullopt};
  fail(ErrorCode::usage, "'{}' is not a file of tensors; x.npy, x.safetensors and x.safetensors:name are valid",
       printable(text));
}

}  // namespace

Tensor read_tensor(std::string_view source) {
  const Place place = parse_place(source);
  return place.format == Format::npy ? io::read_npy(place.path) : io::read_safetensors(place.path, place.name);
}

void write_tensor(std::string_view target, const TensorView& tensor) {
  const Place place = parse_place(target);
  if (place.format == Format::npy) {
    io::write_npy(place.path, tensor);
  } else {
    io::write_safetensors(place.path, place.name.value_or("tensor"), tensor);
  }
}

}  // namespace tapconv
