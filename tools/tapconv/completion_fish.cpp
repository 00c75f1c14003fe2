#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"

namespace tapconv::cli {
namespace {

/// Within single quotes.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

/// The arguments of `complete` that say what can stand in a value's place.
std::string choice(const Completion& value) {
  if (value.problems) return " -a '(tapconv problems --names 2>/dev/null)'";
  std::string arguments = value.files ? " -F" : "";
  if (!value.words.empty()) arguments += fmt::format(" -a '{}'", fmt::join(value.words, " "));
  return arguments;
}

}  // namespace

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string script = "# fish completion for tapconv, printed by 'tapconv completion fish'\ncomplete -c tapconv -f\n";
  for (const CompletedCommand& command : commands) {
    const std::string condition = command.name.empty()
                                      ? "-n __fish_use_subcommand"
                                      : fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    if (!command.name.empty())
      script += fmt::format("complete -c tapconv -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                            quoted(command.summary));
    for (const CompletedOption& option : command.options)
      script += fmt::format("complete -c tapconv {} -l {}{}{} -d '{}'\n", condition, option.name.substr(2),
                            option.has_value ? " -r" : "", option.has_value ? choice(option.value) : "",
                            quoted(option.summary));
    if (const std::string operand = choice(command.operand); !operand.empty())
      script += fmt::format("complete -c tapconv {}{}\n", condition, operand);
  }
  return script;
}

}  // namespace tapconv::cli
