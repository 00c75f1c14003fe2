#include "spelling/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "problem/excerpt.hpp"
#include "problem/text.hpp"
#include "spelling/benchdnn.hpp"
#include "spelling/file_place.hpp"
#include "spelling/json.hpp"
#include "spelling/tokens.hpp"

namespace tapconv {
namespace {

namespace fs = std::filesystem;

// Far beyond any list that a person keeps; a hostile one ends here.
constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;  // of all files together
constexpr std::size_t most_problems = 1'000'000;
constexpr std::size_t most_nested = 8;
constexpr std::size_t most_files = 10'000;

/// A line without its comment, which begins with a # at the line's start or after white space.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

class Collector {
 public:
  std::vector<NamedProblem> take() { return std::move(problems_); }

  /// Reads one line: problems, a list, an include, or knobs that stay in `knobs`.
  void read_line(std::string_view line, BenchdnnKnobs& knobs, const FilePlace& place) {
    if (line.starts_with('@')) {
      include({line.substr(1), 1}, line, knobs, place);
    } else if (looks_like_benchdnn(line)) {
      Tokens tokens(line);
      const auto next = [&] { return next_benchdnn_item(tokens, knobs); };
      while (const auto item = located(place, line, next)) {
        if (const Token* const file = std::get_if<Token>(&*item)) {
          include(*file, line, knobs, place);
        } else {
          add(std::get<NamedProblem>(*item), place);
        }
      }
    } else if (const auto list = std::ranges::find(problem_lists(), line, &ProblemList::name);
               list != problem_lists().end()) {
      for (const NamedProblem& problem : list->problems) add(problem, place);
    } else {
      const bool is_name = line.find_first_of("(@ \t") == std::string_view::npos;
      add({is_name ? std::string(line) : "", located(place, line, [&] { return parse_problem(line); })}, place);
    }
  }

  void read_content(std::string_view content, const std::string& file, const BenchdnnKnobs& knobs) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (content.starts_with(byte_order_mark)) content.remove_prefix(byte_order_mark.size());
    const std::string_view start = trimmed(content).substr(0, 1);
    if (start == "[" || start == "{") {
      read_json(content, file, knobs);
    } else {
      read_lines(content, file, knobs);
    }
  }

 private:
  void read_lines(std::string_view content, const std::string& file, BenchdnnKnobs knobs) {
    for (FilePlace place{file, content}; place.offset < content.size();) {
      const std::size_t end = std::min(content.find('\n', place.offset), content.size());
      const std::string_view line = trimmed(without_comment(content.substr(place.offset, end - place.offset)));
      if (!line.empty()) read_line(line, knobs, place);
      place.offset = end + 1;
    }
  }

  void read_json(std::string_view content, const std::string& file, const BenchdnnKnobs& knobs) {
    FilePlace place{file, content};
    const auto read_entry = [&](const JsonProblem& entry) {
      place.offset = entry.offset;
      const std::string_view text = trimmed(entry.text);
      if (entry.name.empty()) {
        BenchdnnKnobs own = knobs;
        const std::size_t first = problems_.size();
        read_line(text, own, place);
        if (problems_.size() == first && !text.starts_with('@')) {
          located(place, text, [&] {
            throw SpellingError("the entry holds no problem; valid: a problem, with its knobs in the same text", text,
                                0);
          });
        }
        if (entry.count == 1) return;  // a line may stand for many problems, with counts of their own
        for (std::size_t i = first; i < problems_.size(); ++i) problems_[i].count = entry.count;
      } else {
        add({entry.name, located(place, text, [&] { return parse_problem(text); }), entry.count}, place);
      }
    };
    read_problem_json(FilePlace{file, content}, read_entry);
  }

  void add(NamedProblem problem, const FilePlace& place) {
    if (problems_.size() == most_problems)
      fail(ErrorCode::usage, "{}too many problems; valid: at most {}", place.prefix(), most_problems);
    if (problem.name.empty()) problem.name = spell(problem.problem);
    problems_.push_back(std::move(problem));
  }

  /// Reads the file that `name`, a word of `line`, stands for; relative to the file that the line is in.
  void include(Token name, std::string_view line, const BenchdnnKnobs& knobs, const FilePlace& place) {
    const auto refuse = [&](const std::string& message) {
      located(place, line, [&] { throw SpellingError(message, line, name.position); });
    };
    if (name.text.empty()) refuse("the name of a file is missing; valid: for example @problems.txt");
    const fs::path path = fs::path(place.file).parent_path() / fs::path(name.text);
    std::error_code error;
    const fs::path whole = fs::canonical(path, error);
    if (error) cannot_read(path, place, error.message());
    if (!fs::is_regular_file(whole, error)) cannot_read(path, place, "it is not a regular file");
    const std::uintmax_t bytes = fs::file_size(whole, error);
    if (error) cannot_read(path, place, error.message());
    if (std::ranges::find(open_, whole) != open_.end())
      refuse(fmt::format("{} includes itself; valid: files that do not", path.string()));
    if (open_.size() == most_nested)
      refuse(fmt::format("{} is nested too deeply; valid: at most {} files in each other", path.string(), most_nested));
    if (++files_ > most_files) refuse(fmt::format("too many files; valid: at most {}", most_files));
    if (bytes > most_bytes - bytes_)
      refuse(fmt::format("{} is too large; valid: at most {} bytes in all files", path.string(), most_bytes));
    bytes_ += bytes;

    std::string content(bytes, '\0');
    std::ifstream stream(whole, std::ios::binary);
    if (!stream.read(content.data(), static_cast<std::streamsize>(bytes)))
      cannot_read(path, place, "it cannot be opened, or has become shorter");
    open_.push_back(whole);
    read_content(content, path.string(), knobs);
    open_.pop_back();
  }

  [[noreturn]] static void cannot_read(const fs::path& path, const FilePlace& place, const std::string& why) {
    fail(ErrorCode::environment, "{}cannot read {}: {}", place.prefix(), path.string(), why);
  }

  std::vector<NamedProblem> problems_;
  std::vector<fs::path> open_;  // the files that are being read, each in the one before
  std::uintmax_t bytes_ = 0;
  std::size_t files_ = 0;
};

}  // namespace

std::vector<NamedProblem> parse_problem_file(std::string_view content, const std::string& file) {
  Collector collector;
  collector.read_content(content, file, {});
  return collector.take();
}

std::vector<NamedProblem> parse_problems(std::string_view text) {
  Collector collector;
  BenchdnnKnobs knobs;
  collector.read_line(trimmed(text), knobs, {});
  std::vector<NamedProblem> problems = collector.take();
  if (problems.empty()) throw SpellingError("no problem is given; valid: at least one", text, text.size());
  return problems;
}

}  // namespace tapconv
