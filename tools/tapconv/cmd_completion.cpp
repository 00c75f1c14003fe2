#include <fmt/format.h>

#include "commands.hpp"
#include "completion.hpp"

namespace tapconv::cli {

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion");
  command->add_option("shell", *shell)->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell, &exit_code] {
    const std::vector<CompletedCommand> commands = completed_commands(app);
    const auto script = *shell == "bash" ? bash_completion : *shell == "zsh" ? zsh_completion : fish_completion;
    fmt::print("{}", script(commands));
    exit_code = exit_pass;
  });
}

}  // namespace tapconv::cli
