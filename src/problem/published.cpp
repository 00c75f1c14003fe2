#include "problem/published.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "problem/data.hpp"
#include "problem/text.hpp"
#include "tapconv/numerics.hpp"

namespace tapconv {
namespace {

struct Catalogue {
  std::vector<PublishedProblem> computed;                  // in order of name
  std::map<std::string, std::string, std::less<>> others;  // name to kind
};

Contract contract_of(const std::string& text) {
  for (const Contract contract : {Contract::ieee, Contract::fp32, Contract::tf32}) {
    if (name(contract) == text) return contract;
  }
  fail(ErrorCode::internal, "published.json: own_contract = {}; valid: ieee, fp32 or tf32", text);
}

Extent extent_of(const nlohmann::json& values, std::int64_t neutral) {
  Extent extent{neutral, neutral, neutral};
  for (std::size_t axis = 0; axis < values.size(); ++axis) extent.at(axis) = values[axis];
  return extent;
}

PublishedProblem read_problem(const nlohmann::json& entry) {
  PublishedProblem published{entry.at("id"), {}, entry.at("reference_arithmetic")};
  Problem& problem = published.problem;
  problem.rank = static_cast<int>(entry.at("input").size());
  problem.batch = entry.at("batch");
  problem.in_channels = entry.at("in_channels");
  problem.out_channels = entry.at("out_channels");
  problem.input = extent_of(entry.at("input"), 1);
  problem.kernel = extent_of(entry.at("kernel"), 1);
  problem.stride = extent_of(entry.at("stride"), 1);
  problem.padding_lo = problem.padding_hi = extent_of(entry.at("padding"), 0);
  problem.dilation = extent_of(entry.at("dilation"), 1);
  problem.groups = entry.at("groups");
  problem.bias = entry.at("bias");
  problem.contract = contract_of(entry.at("own_contract"));
  problem.tie_rule = published.reference_arithmetic == "tf32-rn" ? TieRule::even : TieRule::away;
  validate(problem);
  return published;
}

Catalogue read_catalogue() {
  Catalogue catalogue;
  const nlohmann::json data = read_data("published.json");
  for (const nlohmann::json& entry : data.at("problems")) {
    if (entry.at("kind") == "conv") {
      catalogue.computed.push_back(read_problem(entry));
    } else {
      catalogue.others.emplace(entry.at("id"), entry.at("kind"));
    }
  }
  std::ranges::sort(catalogue.computed, {}, &PublishedProblem::name);
  return catalogue;
}

const Catalogue& catalogue() {
  static const Catalogue cached = read_catalogue();
  return cached;
}

}  // namespace

const std::vector<PublishedProblem>& published_problems() { return catalogue().computed; }

const PublishedProblem* find_published(std::string_view name) {
  const auto& problems = published_problems();
  const auto found = std::ranges::find(problems, name, &PublishedProblem::name);
  return found == problems.end() ? nullptr : &*found;
}

std::string_view uncomputed_kind(std::string_view name) {
  const auto& others = catalogue().others;
  const auto found = others.find(name);
  return found == others.end() ? std::string_view() : found->second;
}

}  // namespace tapconv
