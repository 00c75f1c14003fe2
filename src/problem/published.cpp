#include "tapconv/problem.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "problem/data.hpp"
#include "problem/text.hpp"
#include "tapconv/numerics.hpp"

namespace tapconv {
namespace {

Contract contract_of(const std::string& text) {
  for (const Contract contract : {Contract::ieee, Contract::fp32, Contract::tf32}) {
    if (name(contract) == text) return contract;
  }
  fail(ErrorCode::internal, "published.json: own_contract = {}; valid: ieee, fp32 or tf32", text);
}

Kind kind_of(const std::string& text) {
  if (text == "conv") return Kind::convolution;
  if (text == "conv_transpose") return Kind::transposed;
  if (text == "depthwise_separable") return Kind::depthwise_separable;
  fail(ErrorCode::internal, "published.json: kind = {}; valid: conv, conv_transpose or depthwise_separable", text);
}

Extent extent_of(const nlohmann::json& values, std::int64_t neutral) {
  Extent extent{neutral, neutral, neutral};
  for (std::size_t axis = 0; axis < values.size(); ++axis) extent.at(axis) = values[axis];
  return extent;
}

PublishedProblem read_problem(const nlohmann::json& entry) {
  PublishedProblem published{entry.at("id"), {}, entry.at("reference_arithmetic")};
  Problem& problem = published.problem;
  problem.kind = kind_of(entry.at("kind"));
  problem.rank = static_cast<int>(entry.at("input").size());
  problem.batch = entry.at("batch");
  problem.in_channels = entry.at("in_channels");
  problem.out_channels = entry.at("out_channels");
  problem.input = extent_of(entry.at("input"), 1);
  problem.kernel = extent_of(entry.at("kernel"), 1);
  problem.stride = extent_of(entry.at("stride"), 1);
  problem.padding_lo = problem.padding_hi = extent_of(entry.at("padding"), 0);
  problem.dilation = extent_of(entry.at("dilation"), 1);
  problem.output_padding = extent_of(entry.at("output_padding"), 0);
  problem.groups = entry.at("groups");
  problem.bias = entry.at("bias");
  problem.contract = contract_of(entry.at("own_contract"));
  problem.tie_rule = published.reference_arithmetic == "tf32-rn" ? TieRule::even : TieRule::away;
  validate(problem);
  return published;
}

std::vector<PublishedProblem> read_published() {
  std::vector<PublishedProblem> problems;
  const nlohmann::json data = read_data("published.json");
  for (const nlohmann::json& entry : data.at("problems")) problems.push_back(read_problem(entry));
  std::ranges::sort(problems, {}, &PublishedProblem::name);
  return problems;
}

}  // namespace

const std::vector<PublishedProblem>& published_problems() {
  static const std::vector<PublishedProblem> cached = read_published();
  return cached;
}

}  // namespace tapconv
