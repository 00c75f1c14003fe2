#include <fmt/format.h>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"

namespace tapconv::cli {
namespace {

void print_text(const SpecsReport& report) {
  fmt::print("{} ({})\n", name(report.device), report.device_name);
  for (const auto& [name, value] : report.facts) fmt::print("  {:<32}{}\n", name, value);
  fmt::print("measured now\n");
  for (const auto& [name, value] : report.measured) fmt::print("  {:<32}{:.4g}\n", name, value);
  fmt::print("versions\n");
  for (const auto& [name, value] : report.versions) fmt::print("  {:<32}{}\n", name, value);
}

}  // namespace

void add_specs(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DeviceOptions>();
  CLI::App* command = app.add_subcommand("specs");
  options->add(*command);
  command->callback([options, &exit_code] {
    SpecsReport report;
    {
      ProgressBar bar;
      report = specs(options->chosen(), bar.callback());
    }
    if (options->json)
      print(to_json(report));
    else
      print_text(report);
    exit_code = exit_pass;
  });
}

}  // namespace tapconv::cli
