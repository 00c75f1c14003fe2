#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"

namespace tapconv::cli {
namespace {

/// A shell command that fills COMPREPLY with what fits; empty if nothing can be offered.
std::string reply(const Completion& value) {
  if (value.files)
    return fmt::format(R"sh(COMPREPLY=($(compgen -f -W "{}" -- "$word")); compopt -o filenames 2>/dev/null)sh",
                       fmt::join(value.words, " "));
  if (value.problems) return R"sh(COMPREPLY=($(compgen -W "$(tapconv problems --names 2>/dev/null)" -- "$word")))sh";
  if (!value.words.empty())
    return fmt::format(R"sh(COMPREPLY=($(compgen -W "{}" -- "$word")))sh", fmt::join(value.words, " "));
  return "";
}

std::string names_of(const CompletedCommand& command) {
  std::string names;
  for (const CompletedOption& option : command.options) names += (names.empty() ? "" : " ") + option.name;
  return names;
}

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  std::string values, options, operands, names;
  for (const CompletedCommand& command : commands) {
    if (command.name.empty()) continue;
    names += command.name + " ";
    for (const CompletedOption& option : command.options) {
      if (option.has_value)
        values += fmt::format("    {}:{}) {}; return ;;\n", command.name, option.name,
                              reply(option.value).empty() ? ":" : reply(option.value));
    }
    options +=
        fmt::format("      {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")) ;;\n", command.name, names_of(command));
    if (!reply(command.operand).empty())
      operands += fmt::format("      {}) {} ;;\n", command.name, reply(command.operand));
  }
  return fmt::format(R"sh(# bash completion for tapconv, printed by 'tapconv completion bash'
_tapconv() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{}{}" -- "$word"))
    return
  fi
  case $command:$previous in
{}  esac
  if [[ $word == -* ]]; then
    case $command in
{}    esac
  else
    case $command in
{}    esac
  fi
}}
complete -F _tapconv tapconv
)sh",
                     names, names_of(commands.front()), values, options, operands);
}

}  // namespace tapconv::cli
