#include "spelling/benchdnn_knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "problem/excerpt.hpp"
#include "problem/validity.hpp"

namespace tapconv {
namespace {

constexpr std::pair<std::string_view, DType> types[] = {
    {"f32", DType::float32}, {"f16", DType::float16}, {"bf16", DType::bfloat16}, {"f64", DType::float64}};
constexpr std::string_view type_names = "f32, f16, bf16, f64";

// They choose how benchdnn runs and what it prints, or belong to other devices.
constexpr std::string_view idle_knobs[] = {"mode",
                                           "mode-modifier",
                                           "alg",
                                           "skip-impl",
                                           "impl",
                                           "allow-enum-tags-only",
                                           "verbose",
                                           "canonical",
                                           "summary",
                                           "mem-check",
                                           "engine",
                                           "cpu-isa-hints",
                                           "ctx-init",
                                           "ctx-exe",
                                           "cold-cache",
                                           "memory-kind",
                                           "stream-kind",
                                           "repeats-per-prb",
                                           "perf-template",
                                           "max-ms-per-prb",
                                           "fix-times-per-prb",
                                           "fast-ref",
                                           "attr-scratchpad",
                                           "attr-deterministic"};

class KnobReader;
using Apply = void (KnobReader::*)(BenchdnnKnobs&);

/// One knob with its value.
class KnobReader {
 public:
  KnobReader(const Tokens& source, std::string_view key, Token value) : source_(source), key_(key), value_(value) {}

  void direction(BenchdnnKnobs& knobs) {
    std::string upper(value_.text);
    std::ranges::transform(upper, upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
    if (upper.starts_with("BWD")) refuse("computes gradients", "FWD_B, FWD_D, FWD_I");
    if (upper != "FWD_B" && upper != "FWD_D" && upper != "FWD_I") refuse("is not known", "FWD_B, FWD_D, FWD_I");
    knobs.direction_has_bias = upper == "FWD_B";
  }

  void types_of_tensors(BenchdnnKnobs& knobs) { set_types(knobs, split(value_.text, ':')); }

  /// The older spelling: one type, or three with nothing in between.
  void configuration(BenchdnnKnobs& knobs) {
    std::string_view rest = value_.text;
    if (rest.ends_with("_wino")) rest.remove_suffix(5);
    std::vector<std::string_view> words;
    while (!rest.empty()) {
      const auto type = std::ranges::find_if(types, [&](const auto& entry) { return rest.starts_with(entry.first); });
      if (type == std::end(types)) refuse("is not supported", fmt::format("one or three of {}", type_names));
      words.push_back(type->first);
      rest.remove_prefix(type->first.size());
    }
    set_types(knobs, words);
  }

  void bias_type(BenchdnnKnobs& knobs) {
    knobs.bias_dtype.reset();
    if (value_.text != "undef") knobs.bias_dtype = type_of(value_.text, "undef, ");
  }

  void source_layout(BenchdnnKnobs& knobs) { knobs.layouts[0] = layout(); }
  void weight_layout(BenchdnnKnobs& knobs) { knobs.layouts[1] = layout(); }
  void output_layout(BenchdnnKnobs& knobs) { knobs.layouts[2] = layout(); }

  void batch(BenchdnnKnobs& knobs) { knobs.batch = source_.integer(value_, "--mb", 0); }

  void math(BenchdnnKnobs& knobs) {
    if (value_.text != "strict" && value_.text != "tf32") refuse("is not supported", "strict, tf32");
    knobs.tf32 = value_.text == "tf32";
  }

  void accumulation(BenchdnnKnobs&) {
    if (value_.text != "strict" && value_.text != "f32") refuse("is not supported", "strict, f32");
  }

  /// A knob whose only supported value is none.
  void empty(BenchdnnKnobs&) {
    if (!value_.text.empty()) refuse("is not supported", "nothing");
  }

  void post_operations(BenchdnnKnobs& knobs) {
    knobs.residual = false;
    knobs.activation = Activation::none;
    knobs.negative_slope = Problem{}.negative_slope;
    if (value_.text.empty()) return;
    const std::vector<std::string_view> operations = split(value_.text, '+');
    auto operation = operations.begin();
    if (*operation == "sum" || *operation == "sum:1") {
      knobs.residual = true;
      ++operation;
    }
    if (operation != operations.end()) activation(knobs, *operation++);
    if (operation != operations.end()) refuse_operations();
  }

 private:
  [[noreturn]] void refuse(std::string_view why, std::string_view valid) const {
    source_.fail_at(value_.position, fmt::format("--{} = {} {}; valid: {}", key_, excerpt(value_.text), why, valid));
  }

  [[noreturn]] void refuse_operations() const {
    refuse("is not supported", "'sum' or nothing, then one of relu, relu:SLOPE, swish:1, gelu_erf, gelu_tanh");
  }

  static std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t end = 0; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1))
      parts.push_back(text.substr(0, end));
    parts.push_back(text);
    return parts;
  }

  DType type_of(std::string_view word, std::string_view also = "") const {
    const auto type = std::ranges::find(types, word, &std::pair<std::string_view, DType>::first);
    if (type == std::end(types)) refuse("is not supported", fmt::format("{}{}", also, type_names));
    return type->second;
  }

  void set_types(BenchdnnKnobs& knobs, const std::vector<std::string_view>& words) const {
    if (words.size() != 1 && words.size() != 3)
      refuse("is not understood", fmt::format("one or three (source, weights, destination) of {}", type_names));
    if (type_of(words.front()) != type_of(words[words.size() / 2]))
      refuse("has different types of source and weights", "the same type for both");
    knobs.dtype = type_of(words.front());
    knobs.out_dtype = type_of(words.back());
  }

  std::optional<Layout> layout() const {
    if (value_.text == "any") return std::nullopt;
    if (value_.text == "abx") return Layout::contiguous;
    if (value_.text == "axb") return Layout::channels_last;
    refuse("is not supported", "any, abx (contiguous), axb (channels last)");
  }

  void activation(BenchdnnKnobs& knobs, std::string_view operation) const {
    const std::size_t colon = std::min(operation.find(':'), operation.size());
    const std::string_view word = operation.substr(0, colon);
    const std::string_view parameter = operation.substr(std::min(colon + 1, operation.size()));
    if (word == "relu") {
      const double slope = colon == operation.size() ? 0 : number(parameter);
      knobs.activation = slope == 0 ? Activation::relu : Activation::leaky_relu;
      if (slope != 0) knobs.negative_slope = slope;
    } else if (word == "swish") {
      // benchdnn's default is not 1.
      if (colon == operation.size() || number(parameter) != 1) refuse_operations();
      knobs.activation = Activation::silu;
    } else if (operation == "gelu_erf") {
      knobs.activation = Activation::gelu;
    } else if (operation == "gelu_tanh") {
      knobs.activation = Activation::gelu_tanh;
    } else {
      refuse_operations();
    }
  }

  double number(std::string_view text) const {
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value)) refuse_operations();
    return value;
  }

  const Tokens& source_;
  std::string_view key_;
  Token value_;
};

constexpr std::pair<std::string_view, Apply> knob_readers[] = {{"dir", &KnobReader::direction},
                                                               {"dt", &KnobReader::types_of_tensors},
                                                               {"cfg", &KnobReader::configuration},
                                                               {"bia-dt", &KnobReader::bias_type},
                                                               {"stag", &KnobReader::source_layout},
                                                               {"wtag", &KnobReader::weight_layout},
                                                               {"dtag", &KnobReader::output_layout},
                                                               {"mb", &KnobReader::batch},
                                                               {"attr-fpmath", &KnobReader::math},
                                                               {"attr-acc-mode", &KnobReader::accumulation},
                                                               {"attr-post-ops", &KnobReader::post_operations},
                                                               {"attr-scales", &KnobReader::empty},
                                                               {"attr-zero-points", &KnobReader::empty}};

[[noreturn]] void refuse_knob(const Tokens& source, Token token, std::string_view key) {
  std::vector<std::string_view> valid;
  for (const auto& [name, apply] : knob_readers) valid.push_back(name);
  source.fail_at(token.position,
                 fmt::format("{} is not a supported knob{}; valid: --reset, --batch=FILE, and --KNOB=VALUE for {}",
                             excerpt(token.text), suggestion(key, valid), fmt::join(valid, ", ")));
}

}  // namespace

bool apply_knob(const Tokens& source, Token token, BenchdnnKnobs& knobs) {
  const std::string_view text = token.text;
  if (file_part(text) == "benchdnn") return true;
  if (text == "--conv" || text == "conv") {
    knobs.kind = Kind::convolution;
  } else if (text == "--deconv" || text == "deconv") {
    knobs.kind = Kind::transposed;
  } else if (text == "--reset") {
    const Kind kind = knobs.kind;
    knobs = {};
    knobs.kind = kind;
  } else if (text.starts_with("-v")) {
    (void)source.integer({text.substr(2), token.position + 2}, "-v", 0);
  } else if (text.starts_with('-')) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view key =
        text.substr(std::min<std::size_t>(2, equals), equals - std::min<std::size_t>(2, equals));
    if (!text.starts_with("--") || equals == text.size()) refuse_knob(source, token, key);
    const Token value{text.substr(equals + 1), token.position + equals + 1};
    if (std::ranges::find(idle_knobs, key) != std::end(idle_knobs)) return true;
    const auto known = std::ranges::find(knob_readers, key, &std::pair<std::string_view, Apply>::first);
    if (known == std::end(knob_readers)) refuse_knob(source, token, key);
    if (value.text.find(',') != std::string_view::npos) {
      source.fail_at(value.position, fmt::format("--{} = {} is a list; valid: one value, or a line for each", key,
                                                 excerpt(value.text)));
    }
    KnobReader reader(source, key, value);
    (reader.*known->second)(knobs);
  } else {
    return false;
  }
  return true;
}

Problem with_knobs(const Tokens& source, std::size_t position, Problem sizes, const BenchdnnKnobs& knobs) {
  if (knobs.batch > 0) sizes.batch = knobs.batch;
  sizes.dtype = knobs.dtype;
  sizes.out_dtype = knobs.out_dtype;
  sizes.contract = knobs.tf32 ? Contract::tf32 : default_contract(knobs.dtype);
  sizes.bias = knobs.direction_has_bias || knobs.bias_dtype;
  if (knobs.bias_dtype && *knobs.bias_dtype != knobs.dtype) {
    source.fail_at(position, fmt::format("--bia-dt = {} with a source of {}; valid: undef, or the type of the source",
                                         name(*knobs.bias_dtype), name(knobs.dtype)));
  }
  std::optional<Layout> layout;
  for (const std::optional<Layout>& own : knobs.layouts) {
    if (!own) continue;
    if (layout && layout != own)
      source.fail_at(position, "--stag, --wtag and --dtag differ; valid: abx for all, or axb for all ('any' agrees)");
    layout = own;
  }
  sizes.layout = layout.value_or(Layout::contiguous);
  sizes.residual = knobs.residual;
  sizes.activation = knobs.activation;
  sizes.negative_slope = knobs.negative_slope;
  if (const auto violation = find_violation(sizes)) source.fail_at(position, violation->message);
  return sizes;
}

}  // namespace tapconv
