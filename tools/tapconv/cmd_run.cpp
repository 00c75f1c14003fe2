#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"
#include "save_options.hpp"

namespace tapconv::cli {

void add_run(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
    TensorOptions tensors;
    SaveOptions save;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run");
  options->problem.add(*command);
  options->device.add(*command);
  options->device.add_threads(*command);
  options->tensors.add(*command);
  options->save.add(*command);
  refuse_option(*command, "--output", "run writes its output with --out; --output names a result for check to judge");
  command->callback([options, &exit_code] {
    Problem problem = options->problem.problem();
    const std::string& target = options->save.output;
    // Before the work, not after it.
    options->save.check();
    RunReport report;
    {
      ProgressBar bar;
      const Progress progress = bar.callback();
      progress(0, "reading tensors");
      TensorSource tensors = options->tensors.source();
      problem = sized_by_input(problem, tensors);
      if (options->save.any_operand()) {
        tensors = with_drawn(problem, std::move(tensors));
        progress(0, "writing tensors");
        options->save.write(tensors);
      }
      report = run(problem, options->device.chosen(), tensors, progress);
      progress(0.9, "writing the output");
      if (!target.empty()) write_tensor(target, report.output.view());
    }
    if (options->device.json) {
      Json json = to_json(report, problem);
      json["seed"] = options->tensors.seed_number();
      print(json);
    } else {
      fmt::print("{}\n  output  {}{}\n", spell(problem), fmt::join(report.output.shape(), " x "),
                 target.empty() ? "" : fmt::format(", written to {}", target));
      fmt::print("{}", options->tensors.drawn_note(problem));
      fmt::print("  {} on {} ({}): planned in {:.1f} ms, computed in {:.3f} ms (one call, not a benchmark)\n",
                 report.solver, name(report.device), report.device_name, report.plan_ms, report.compute_ms);
    }
    exit_code = exit_pass;
  });
}

}  // namespace tapconv::cli
