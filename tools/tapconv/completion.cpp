#include "completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "manual.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

/// From how the manual writes a value: words to choose from are in small letters, placeholders in capitals.
Completion completion_of(const std::string& value) {
  Completion completion;
  std::size_t begin = 0;
  while (begin < value.size()) {
    const std::size_t end = std::min(value.find('|', begin), value.size());
    const std::string part = value.substr(begin, end - begin);
    begin = end + 1;
    if (part == "FILE" || part == "FOLDER" || part == "@FILE")
      completion.files = part != "@FILE";
    else if (part == "PROBLEM")
      completion.problems = true;
    else if (std::none_of(part.begin(), part.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
      completion.words.push_back(part);
  }
  return completion;
}

CompletedCommand completed(const CLI::App& app, const std::string& name) {
  const std::vector<ManualEntry> entries = manual_entries(name);
  CompletedCommand command{.name = name, .summary = manual_summary(name), .options = {}, .operand = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden: not to be used
    const std::string full = option->get_positional() ? "" : "--" + option->get_lnames().front();
    const auto entry = std::ranges::find(entries, full, &ManualEntry::name);
    const bool has_value = option->get_items_expected_max() > 0;
    if (entry == entries.end() || entry->value.empty() == has_value)
      throw Error(ErrorCode::internal,
                  fmt::format("manual: the page of '{}' does not describe '{}' as it is", name, option->get_name()));
    if (option->get_positional())
      command.operand = completion_of(entry->value);
    else
      command.options.push_back({full, entry->summary, has_value, completion_of(entry->value)});
  }
  return command;
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const CLI::App& app) {
  std::vector<CompletedCommand> commands{completed(app, "")};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(completed(*command, command->get_name()));
  return commands;
}

}  // namespace tapconv::cli
