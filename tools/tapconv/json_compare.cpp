#include "json.hpp"

namespace tapconv::cli {

Json to_json(const BenchComparison& comparison) {
  Json json{{"level", comparison_level},
            {"geometric_mean", comparison.geometric_mean ? Json(*comparison.geometric_mean) : Json(nullptr)},
            {"faster", comparison.faster},
            {"slower", comparison.slower},
            {"unclear", comparison.unclear},
            {"not_comparable", comparison.not_comparable},
            {"newly_wrong", comparison.newly_wrong},
            {"differences", comparison.differences},
            {"only_in_a", comparison.only_in_a},
            {"only_in_b", comparison.only_in_b},
            {"rows", Json::array()}};
  for (const ComparedRow& row : comparison.rows)
    json["rows"].push_back({{"name", row.name},
                            {"problem", row.problem},
                            {"a_ms", row.a_ms},
                            {"b_ms", row.b_ms},
                            {"ratio", row.ratio},
                            {"ratio_low", row.interval ? Json(row.interval->low) : Json(nullptr)},
                            {"ratio_high", row.interval ? Json(row.interval->high) : Json(nullptr)},
                            {"p_value", row.p_value ? Json(*row.p_value) : Json(nullptr)},
                            {"change", name(row.change)},
                            {"note", row.note}});
  return json;
}

}  // namespace tapconv::cli
