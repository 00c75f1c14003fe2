#include "spelling/lists.hpp"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "problem/embedded.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

constexpr std::string_view published_list = "kernelbench", folder = "lists/";

NamedProblem read_named(const nlohmann::json& entry, std::string_view source) {
  const std::string name = entry.at("name");
  const std::int64_t count = entry.at("count");
  if (count < 1) fail(ErrorCode::internal, "{}: count = {} of {}; valid: 1 or more", source, count, name);
  try {
    return {.name = name, .problem = parse_problem(entry.at("problem").get<std::string>()), .count = count};
  } catch (const SpellingError& error) {
    fail(ErrorCode::internal, "{}: {}: {}", source, name, error.what());
  }
}

ProblemList published() {
  ProblemList list{.name = std::string(published_list),
                   .about =
                       "Single layers of KernelBench level 1 (Ouyang et al. 2025, arXiv 2502.10517), problems 50 "
                       "to 87, in the arithmetic that PyTorch's default has on an H200.",
                   .problems = {}};
  for (const PublishedProblem& problem : published_problems()) {
    list.problems.push_back({.name = problem.name, .problem = problem.problem});
  }
  return list;
}

std::vector<ProblemList> read_lists() {
  std::vector<ProblemList> lists{published()};
  for (const EmbeddedFile& file : data_files()) {
    if (!file.path.starts_with(folder)) continue;
    ProblemList& list = lists.emplace_back(read_list(file.text, file.path));
    for (NamedProblem& named : list.problems) named.name = list.name + "/" + named.name;
  }
  return lists;
}

using Names = std::map<std::string, const NamedProblem*, std::less<>>;

Names collect_names() {
  Names names;
  for (const ProblemList& list : problem_lists()) {
    for (const NamedProblem& named : list.problems) {
      if (!names.emplace(named.name, &named).second) {
        fail(ErrorCode::internal, "list {} has two problems named {}; valid: different names", list.name, named.name);
      }
    }
  }
  return names;
}

const Names& all_names() {
  static const Names cached = collect_names();
  return cached;
}

}  // namespace

ProblemList read_list(std::string_view json, std::string_view source) {
  try {
    const nlohmann::json data = nlohmann::json::parse(json);
    ProblemList list{.name = data.at("name"), .about = data.at("about"), .problems = {}};
    for (const nlohmann::json& entry : data.at("problems")) list.problems.push_back(read_named(entry, source));
    return list;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::internal, "{} is not a list of problems: {}", source, error.what());
  }
}

const std::vector<ProblemList>& problem_lists() {
  static const std::vector<ProblemList> cached = read_lists();
  return cached;
}

const NamedProblem* find_named(std::string_view name) {
  const auto found = all_names().find(name);
  return found == all_names().end() ? nullptr : found->second;
}

std::vector<std::string_view> problem_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, named] : all_names()) names.push_back(name);
  return names;
}

}  // namespace tapconv
