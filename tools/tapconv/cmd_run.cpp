#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {

void add_run(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
    TensorOptions tensors;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Compute a convolution");
  options->problem.add(*command);
  options->device.add(*command);
  options->tensors.add(*command);
  command->add_option("--out", options->output, "Where to write the output, a .npy file (default: nowhere)")
      ->check(expect_value);
  command->callback([options, &exit_code] {
    const Problem problem = options->problem.problem();
    const std::filesystem::path folder = std::filesystem::path(options->output).parent_path();
    // Before the work, not after it.
    if (!folder.empty() && !std::filesystem::is_directory(folder))
      throw Error(ErrorCode::environment, fmt::format("cannot write {}: its folder does not exist", options->output));
    RunReport report;
    {
      ProgressBar bar;
      const Progress progress = bar.callback();
      progress(0, "reading tensors");
      report = run(problem, options->device.chosen(), options->tensors.source(), progress);
      progress(0.9, "writing the output");
      if (!options->output.empty()) write_tensor(options->output, report.output.view());
    }
    if (options->device.json) {
      Json json = to_json(report, problem);
      json["seed"] = options->tensors.seed_number();
      print(json);
    } else {
      fmt::print("{}\n  output  {}{}\n", spell(problem), fmt::join(report.output.shape(), " x "),
                 options->output.empty() ? "" : fmt::format(", written to {}", options->output));
      fmt::print("  {} on {} ({}): planned in {:.1f} ms, computed in {:.3f} ms (one call, not a benchmark)\n",
                 report.solver, name(report.device), report.device_name, report.plan_ms, report.compute_ms);
    }
    exit_code = exit_pass;
  });
}

}  // namespace tapconv::cli
