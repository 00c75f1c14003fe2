#include "json.hpp"

namespace tapconv::cli {
namespace {

Json kernels_json(const std::vector<CachedKernel>& kernels) {
  Json json = Json::array();
  for (const CachedKernel& kernel : kernels)
    json.push_back({{"path", kernel.path},
                    {"key", kernel.key},
                    {"architecture", kernel.architecture},
                    {"entry", kernel.entry},
                    {"byte", kernel.bytes},
                    {"unused_s", kernel.unused_s},
                    {"fault", kernel.fault.empty() ? Json(nullptr) : Json(kernel.fault)}});
  return json;
}

}  // namespace

Json to_json(const CacheReport& report) {
  Json json{{"folders", Json::array()}, {"max_byte", report.max_bytes}};
  for (const CacheFolder& folder : report.folders)
    json["folders"].push_back(
        {{"path", folder.path}, {"written", folder.written}, {"kernels", kernels_json(folder.kernels)}});
  return json;
}

Json to_json(const CachePruning& pruning) {
  return {{"removed", pruning.removed},
          {"removed_byte", pruning.removed_bytes},
          {"kept", pruning.kept},
          {"kept_byte", pruning.kept_bytes}};
}

Json to_json(const CacheExport& result) {
  return {{"copied", result.copied},
          {"copied_byte", result.copied_bytes},
          {"present", result.present},
          {"bad", kernels_json(result.bad)}};
}

}  // namespace tapconv::cli
