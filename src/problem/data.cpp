#include "problem/data.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "problem/embedded.hpp"
#include "problem/text.hpp"

namespace tapconv {

nlohmann::json read_data(std::string_view path) {
  const auto files = data_files();
  const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
  if (found == files.end()) fail(ErrorCode::internal, "data file {} is not embedded in the library", path);
  return nlohmann::json::parse(found->text);
}

}  // namespace tapconv
