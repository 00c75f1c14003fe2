#include "spelling/json.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "problem/excerpt.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

/// Walks over the content and tells how far the parser has come.
class Counted {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Counted(const char* at, std::size_t& read) : at_(at), read_(&read) {}

  reference operator*() const { return *at_; }
  Counted& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  Counted operator++(int) {
    const Counted before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Counted& a, const Counted& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::size_t* read_;
};

/// Receives the parser's events. Anything but the documented form ends the parse at once, so that hostile nesting costs
/// nothing.
class Reader {
 public:
  using Json = nlohmann::json;

  Reader(const FilePlace& whole, const std::function<void(const JsonProblem&)>& on_problem)
      : whole_(whole), on_problem_(on_problem) {}

  void read() {
    const char* const start = whole_.content.data();
    Json::sax_parse(Counted(start, read_), Counted(start + whole_.content.size(), read_), this);
    if (!list_seen_) refuse("the object has no list; valid: an array named \"problems\"");
  }

  bool null() { refuse_value("null"); }
  bool boolean(bool) { refuse_value("a truth value"); }
  bool number_integer(Json::number_integer_t) { refuse_value("a negative number"); }

  bool number_unsigned(Json::number_unsigned_t value) {
    if (place_ != Place::entry || key_ != "count") refuse_value("a number");
    if (value < 1 || value > std::numeric_limits<std::int64_t>::max())
      refuse(fmt::format("\"count\" = {}; valid: 1 to {}", value, std::numeric_limits<std::int64_t>::max()));
    entry_.count = static_cast<std::int64_t>(value);
    return true;
  }

  bool number_float(Json::number_float_t, const Json::string_t&) { refuse_value("a number"); }
  bool binary(Json::binary_t&) { refuse_value("bytes"); }

  bool string(Json::string_t& value) {
    if (place_ == Place::list) {
      emit({.name = "", .text = std::move(value)});
    } else if (place_ == Place::entry && key_ == "problem") {
      entry_.text = std::move(value);
      has_problem_ = true;
    } else if (place_ == Place::entry && key_ == "name") {
      entry_.name = std::move(value);
    } else if (place_ != Place::object || key_ == "problems") {
      refuse_value("a string");
    }
    return true;
  }

  bool start_array(std::size_t) {
    const bool expected = place_ == Place::start || (place_ == Place::object && key_ == "problems" && !list_seen_);
    if (!expected) refuse_value("an array");
    in_object_ = place_ == Place::object;
    place_ = Place::list;
    list_seen_ = true;
    return true;
  }

  bool end_array() {
    place_ = in_object_ ? Place::object : Place::end;
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ != Place::start && place_ != Place::list) refuse_value("an object");
    place_ = place_ == Place::start ? Place::object : Place::entry;
    entry_ = {};
    has_problem_ = false;
    outer_keys_ = std::exchange(keys_, {});
    return true;
  }

  bool end_object() {
    if (place_ == Place::entry) {
      if (!has_problem_) refuse("the entry has no problem; valid: a string named \"problem\"");
      emit(std::move(entry_));
      keys_ = std::move(outer_keys_);
      place_ = Place::list;
    } else {
      place_ = Place::end;
    }
    return true;
  }

  bool key(Json::string_t& key) {
    key_ = std::move(key);
    if (!keys_.insert(key_).second) refuse(fmt::format("\"{}\" is given twice; valid: once", excerpt(key_)));
    const bool known = place_ == Place::entry ? key_ == "name" || key_ == "problem" || key_ == "count"
                                              : key_ == "name" || key_ == "about" || key_ == "problems";
    if (!known) {
      refuse(fmt::format(
          "\"{}\" is not known; valid: {}", excerpt(key_),
          place_ == Place::entry ? "\"name\", \"problem\", \"count\"" : "\"name\", \"about\", \"problems\""));
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const Json::exception&) {
    refuse(fmt::format("malformed JSON near '{}'; valid: an array, or an object with \"problems\"", excerpt(token)));
  }

 private:
  enum class Place { start, object, list, entry, end };

  void emit(JsonProblem problem) {
    problem.offset = read_;
    on_problem_(problem);
  }

  [[noreturn]] void refuse_value(std::string_view what) const {
    refuse(fmt::format("unexpected {}; valid: {}", what,
                       place_ == Place::start    ? "an array, or an object with \"problems\""
                       : place_ == Place::list   ? "a problem's text, or {\"name\": ..., \"problem\": ...}"
                       : place_ == Place::object ? "strings for \"name\" and \"about\", one array for \"problems\""
                       : key_ == "count"         ? "a number of layers"
                                                 : "strings"));
  }

  [[noreturn]] void refuse(const std::string& message) const {
    FilePlace place = whole_;
    place.offset = read_;
    throw SpellingError(place.prefix() + message, place.content, place.offset);
  }

  const FilePlace& whole_;
  const std::function<void(const JsonProblem&)>& on_problem_;
  std::size_t read_ = 0;
  Place place_ = Place::start;
  bool in_object_ = false, list_seen_ = false, has_problem_ = false;
  std::string key_;
  std::set<std::string> keys_, outer_keys_;  // of the object that is being read, and of the one around it
  JsonProblem entry_;
};

}  // namespace

void read_problem_json(const FilePlace& whole, const std::function<void(const JsonProblem&)>& on_problem) {
  Reader(whole, on_problem).read();
}

}  // namespace tapconv
