#include "json.hpp"
#include "problem_filter.hpp"

namespace tapconv::cli {
namespace {

Json problem_json(const NamedProblem& named) {
  const Problem& problem = named.problem;
  const Work required = work(problem);
  Json json{{"name", named.name},
            {"count", named.count},
            {"problem", spell(problem)},
            {"kind", kind_name(problem.kind)},
            {"rank", problem.rank},
            {"dtype", name(problem.dtype)},
            {"math", name(problem.contract)},
            {"input_shape", input_shape(problem)},
            {"weight_shape", weight_shape(problem)},
            {"output_shape", output_shape(problem)},
            {"flop", required.flop},
            {"byte", required.byte}};
  if (problem.kind == Kind::depthwise_separable) json["pointwise_weight_shape"] = pointwise_weight_shape(problem);
  Json reasons = Json::object();
  const auto add = [&](const char* language, const Translation& translation) {
    json[language] = translation.text ? Json(*translation.text) : Json(nullptr);
    if (!translation.text) reasons[language] = translation.reason;
  };
  add("pytorch", pytorch_call(problem));
  add("benchdnn", benchdnn_descriptor(problem));
  add("miopen", miopen_command(problem));
  json["reasons"] = std::move(reasons);
  return json;
}

}  // namespace

Json to_json(const std::vector<ProblemList>& lists) {
  Json json{{"lists", Json::array()}};
  for (const ProblemList& list : lists)
    json["lists"].push_back({{"name", list.name}, {"about", list.about}, {"count", list.problems.size()}});
  return json;
}

Json to_json(const std::vector<NamedProblem>& problems) {
  Json json{{"problems", Json::array()}};
  for (const NamedProblem& named : problems) json["problems"].push_back(problem_json(named));
  return json;
}

}  // namespace tapconv::cli
