#include "cuda/cubin_key.hpp"

#include <fmt/format.h>

namespace tapconv::cuda {
namespace {

class Writer {
 public:
  void number(std::size_t value) { hash_.update(fmt::format("{} ", value)); }
  void text(std::string_view value) {
    number(value.size());
    hash_.update(value);
  }
  [[nodiscard]] Digest finish() { return hash_.finish(); }

 private:
  Sha256 hash_;
};

}  // namespace

Digest cubin_key(const CubinIngredients& ingredients) {
  Writer writer;
  writer.number(cache_format);
  writer.text(ingredients.compiler_version);
  writer.text(ingredients.architecture);
  writer.number(ingredients.options.size());
  for (const std::string& option : ingredients.options) writer.text(option);
  writer.text(ingredients.entry);
  writer.text(ingredients.text);
  writer.number(ingredients.headers.size());
  for (const EmbeddedFile& header : ingredients.headers) {
    writer.text(header.path);
    writer.text(header.text);
  }
  return writer.finish();
}

}  // namespace tapconv::cuda
