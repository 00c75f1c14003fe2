#include "suite_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

/// What decides whether rows of two runs can stand in one file.
constexpr std::array identity{"suite",  "against", "protocol",          "device", "device_name", "versions",
                              "commit", "tapconv", "device_code_sha256"};

}  // namespace

Json SuiteHeader::json() const {
  const SpecsReport device = describe(request.device);
  Json header{{"script", fmt::format("tapconv bench --suite {}{}{}", suite,
                                     request.against.empty() ? "" : " --against ", fmt::join(request.against, ","))},
              {"date", ""},
              {"suite", suite},
              {"against", request.against},
              {"protocol",
               {{"seed", request.seed},
                {"rounds", request.rounds},
                {"idle_ms", request.idle_ms},
                {"sustained_s", request.sustained_s},
                {"finalists", request.finalists}}},
              {"device", name(request.device)},
              {"threads", request.device.threads},
              {"device_name", device.device_name},
              {"versions", device.versions},
              {"commit", commit},
              {"tapconv", TAPCONV_VERSION},
              {"device_code_sha256", device_code_sha256()}};
  if (request.device.kind == Device::Kind::cuda) {
    header["gpu"] = device.device_name;
    header["driver"] = device.versions.at("display driver");
  }
  return header;
}

SuiteResults::SuiteResults(const SuiteHeader& header, const std::vector<NamedProblem>& problems)
    : document_(header.json()) {
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
    for (const char* const field : identity) {
      if (earlier.at(field) != document_.at(field)) others.emplace_back(field);
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

void SuiteResults::add(const SuiteRow& row) {
  rows_.insert_or_assign(key(row.named.name, spell(row.named.problem)), to_json(row));
  document_["date"] = row.date;
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
