#include "spelling/benchdnn.hpp"

#include <fmt/format.h>

#include "problem/excerpt.hpp"
#include "spelling/benchdnn_descriptor.hpp"

namespace tapconv {
namespace {

constexpr std::string_view batch_knob = "--batch=";

}  // namespace

bool looks_like_benchdnn(std::string_view text) {
  Tokens tokens(text);
  const auto first = tokens.next();
  if (!first) return false;
  if (file_part(first->text) == "benchdnn" || first->text.starts_with('-')) return true;
  if (first->text != "conv" && first->text != "deconv") return begins_descriptor(first->text);
  const auto second = tokens.next();
  if (!second) return false;
  // MIOpenDriver has a "conv" too, but its flags are letters, or words without '='.
  const bool knob = second->text.starts_with("--")
                        ? second->text == "--reset" || second->text.find('=') != std::string_view::npos
                        : second->text.starts_with("-v") && second->text.size() > 2;
  return first->text == "deconv" || knob || begins_descriptor(second->text);
}

std::optional<BenchdnnItem> next_benchdnn_item(Tokens& tokens, BenchdnnKnobs& knobs) {
  while (const auto token = tokens.next()) {
    if (token->text.starts_with(batch_knob))
      return Token{token->text.substr(batch_knob.size()), token->position + batch_knob.size()};
    if (apply_knob(tokens, *token, knobs)) continue;
    NamedProblem found = read_descriptor(tokens, *token, knobs.kind);
    found.problem = with_knobs(tokens, token->position, found.problem, knobs);
    return found;
  }
  return std::nullopt;
}

Problem parse_benchdnn(std::string_view text) {
  Tokens tokens(text);
  BenchdnnKnobs knobs;
  const auto item = next_benchdnn_item(tokens, knobs);
  if (!item) tokens.fail_at(tokens.end(), "a descriptor is missing; valid: for example mb8ic64ih56oc64kh3ph1");
  if (const Token* const file = std::get_if<Token>(&*item)) {
    tokens.fail_at(file->position, fmt::format("--batch = {} stands for many problems; valid: one descriptor here",
                                               excerpt(file->text)));
  }
  if (const auto rest = tokens.next()) {
    tokens.fail_at(rest->position,
                   fmt::format("unexpected {} after the descriptor; valid: the end of the text", excerpt(rest->text)));
  }
  return std::get<NamedProblem>(*item).problem;
}

}  // namespace tapconv
