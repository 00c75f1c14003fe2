#include "suite_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "tapconv/error.hpp"

namespace tapconv::cli {

Json header_of(const SuiteHeader& header, const Device& device, const Json& asked) {
  const SpecsReport described = describe(device);
  Json json{{"script", header.script}, {"date", ""}, {"suite", header.suite}};
  json.update(asked);
  json.update({{"device", name(device)},
               {"threads", device.threads},
               {"device_name", described.device_name},
               {"versions", described.versions},
               {"commit", header.commit},
               {"tapconv", TAPCONV_VERSION},
               {"device_code_sha256", device_code_sha256()}});
  if (device.kind == Device::Kind::cuda) {
    json["gpu"] = described.device_name;
    json["driver"] = described.versions.at("display driver");
  }
  return json;
}

SuiteResults::SuiteResults(Json header, const std::vector<NamedProblem>& problems) : document_(std::move(header)) {
  for (const NamedProblem& problem : problems) order_.push_back(key(problem.name, spell(problem.problem)));
  document_["rows"] = Json::array();
}

std::string SuiteResults::key(const std::string& name, const std::string& problem) { return name + '\n' + problem; }

void SuiteResults::resume(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return;
  try {
    const Json earlier = Json::parse(stream);
    std::vector<std::string> others;
    for (const auto& [field, value] : document_.items()) {
      const bool same_run = field == "script" || field == "date" || field == "rows";
      if (!same_run && earlier.at(field) != value) others.push_back(field);
    }
    if (!others.empty()) {
      fmt::print(stderr, "tapconv: {} is of another run ({} differ): its rows are measured again\n", file.string(),
                 fmt::join(others, ", "));
      return;
    }
    for (const Json& row : earlier.at("rows")) {
      if (row.at("report").is_null()) continue;
      rows_.emplace(key(row.at("name"), row.at("problem")), row);
      document_["date"] = std::max(document_["date"].get<std::string>(), row.at("date").get<std::string>());
    }
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::environment, fmt::format("{} is not a file of results: {}", file.string(), error.what()));
  }
  rebuild();
}

bool SuiteResults::has(const NamedProblem& problem) const {
  return rows_.contains(key(problem.name, spell(problem.problem)));
}

void SuiteResults::add(const NamedProblem& problem, const std::string& date, const Json& row) {
  rows_.insert_or_assign(key(problem.name, spell(problem.problem)), row);
  document_["date"] = date;
  rebuild();
}

void SuiteResults::rebuild() {
  Json& rows = document_["rows"] = Json::array();
  for (const std::string& one : order_) {
    if (const auto found = rows_.find(one); found != rows_.end()) rows.push_back(found->second);
  }
}

void expect_folder(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw Error(ErrorCode::environment, fmt::format("cannot write {}: its folder does not exist", file));
}

void publish(const std::string& file, const std::string& text) {
  const std::string temporary = file + ".part";
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(temporary, file, error);
  if (!stream || error) {
    std::filesystem::remove(temporary, error);
    throw Error(ErrorCode::environment, fmt::format("cannot write {}", file));
  }
}

}  // namespace tapconv::cli
