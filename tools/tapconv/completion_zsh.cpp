#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completion.hpp"

namespace tapconv::cli {
namespace {

/// `text` within single quotes, where zsh gives `special` characters a meaning of their own.
std::string quoted(const std::string& text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += R"('\'')";
      continue;
    }
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string action(const Completion& value) {
  if (value.files && !value.words.empty()) return fmt::format("{{compadd {}; _files}}", fmt::join(value.words, " "));
  if (value.files) return "_files";
  if (value.problems) return "_tapconv_problems";
  if (!value.words.empty()) return fmt::format("({})", fmt::join(value.words, " "));
  return " ";
}

std::string arguments(const CompletedCommand& command) {
  std::string lines;
  for (const CompletedOption& option : command.options)
    lines += fmt::format(" \\\n        '{}[{}]{}'", option.name, quoted(option.summary, "\\[]:"),
                         option.has_value ? ":value:" + action(option.value) : "");
  if (action(command.operand) != " ") lines += fmt::format(" \\\n        '*:argument:{}'", action(command.operand));
  return lines;
}

}  // namespace

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string descriptions, cases;
  for (const CompletedCommand& command : commands) {
    if (command.name.empty()) continue;
    descriptions += fmt::format("    '{}:{}'\n", command.name, quoted(command.summary, "\\:"));
    cases += fmt::format("    {})\n      _arguments{}\n      ;;\n", command.name, arguments(command));
  }
  return fmt::format(R"sh(#compdef tapconv
# zsh completion for tapconv, printed by 'tapconv completion zsh'
_tapconv_problems() {{
  local -a names
  names=(${{(f)"$(tapconv problems --names 2>/dev/null)"}})
  compadd -a names
}}

_tapconv() {{
  local -a commands
  commands=(
{}  )
  if ((CURRENT == 2)); then
    _describe command commands
    _arguments{}
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{}  esac
}}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _tapconv "$@"
else
  compdef _tapconv tapconv
fi
)sh",
                     descriptions, arguments(commands.front()), cases);
}

}  // namespace tapconv::cli
