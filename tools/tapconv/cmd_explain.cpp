#include "commands.hpp"
#include "explain_calculators.hpp"
#include "explain_text.hpp"
#include "json.hpp"
#include "options.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {

void add_explain(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
    Tolerance tolerance;
    CalculatorOptions calculators;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain");
  options->problem.add(*command, false);
  options->device.add(*command);
  command->get_option("--batch")->needs(command->get_option("problem"));
  options->calculators.add(*command);
  for (const auto& [name, value] :
       {std::pair{"--atol", &options->tolerance.atol}, {"--rtol", &options->tolerance.rtol}}) {
    CLI::Option* tolerance = command->add_option(name, *value);
    for (const char* calculator : {"--occupancy", "--tile", "--access"})
      tolerance->excludes(command->get_option(calculator));
  }
  command->callback([options, &exit_code] {
    exit_code = exit_pass;
    const bool json = options->device.json;
    if (options->calculators.any()) {
      const CalculatorAnswers found = answers(options->calculators, options->problem, options->device);
      return json ? print(to_json(found)) : print_text(found);
    }
    if (options->problem.text.empty())
      throw Error(ErrorCode::usage, "PROBLEM is missing; valid without one: --occupancy, --access");
    const ExplainReport report = explain(options->problem.problem(), options->device.chosen(), options->tolerance);
    return json ? print(to_json(report)) : print_text(report);
  });
}

}  // namespace tapconv::cli
