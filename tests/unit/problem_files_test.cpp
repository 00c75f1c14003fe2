#include "spelling/files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

namespace fs = std::filesystem;

/// A folder of files that is removed with it.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tapconv_problem_files_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Writes a file and gives its path.
  std::string write(const std::string& name, std::string_view content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<std::string> names(const std::vector<NamedProblem>& problems) {
  std::vector<std::string> result;
  for (const NamedProblem& problem : problems) result.push_back(problem.name);
  return result;
}

/// The message without the lines that show the text, or "valid".
std::string refusal(auto&& read) {
  try {
    (void)read();
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.substr(0, message.find('\n'));
  }
  return "valid";
}

std::string content_refusal(std::string_view content) {
  return refusal([&] { return parse_problem_file(content, "f"); });
}

using Names = std::vector<std::string>;

constexpr std::string_view small = "Conv1d(1, 2, 3) @ 1x1x5";

TEST(ProblemFiles, ReadLinesOfEverySpelling) {
  const auto found = parse_problem_file(
      "# A list.\r\n"
      "\n"
      "  ic1iw5oc2kw3n\"first\"   # the batch is 2\r\n"
      "Conv1d(1, 2, 3) @ 1x1x5\t# PyTorch\n"
      "conv -n 8 -c 4 --spatial_dim 3 -# 2\n"
      "kb56\n"
      "mb1ic1iw5oc2kw3nsecond mb7ic1iw5oc2kw3n'third'",
      "f");
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].name, "first");
  EXPECT_EQ(found[0].problem, parse_problem("mb2ic1iw5oc2kw3"));
  EXPECT_EQ(found[1].name, spell(parse_problem(small)));
  EXPECT_EQ(found[1].problem, parse_problem(small));
  EXPECT_EQ(found[2].problem.stride, (Extent{2, 1, 1}));
  EXPECT_EQ(found[2].name, spell(found[2].problem));
  EXPECT_EQ(found[3].name, "kb56");
  EXPECT_EQ(found[3].problem, parse_problem("kb56"));
  EXPECT_EQ(found[4].name, "second");
  EXPECT_EQ(found[5].name, "third");
  EXPECT_EQ(found[5].problem.batch, 7);
}

TEST(ProblemFiles, KnobsHoldUntilReset) {
  const auto found = parse_problem_file(
      "--dir=FWD_D --mb=3\n"
      "ic1iw5oc2kw3na\n"
      "conv -n 8\n"
      "--deconv\n"
      "--dt=bf16 ic1iw5oc2kw3nb\n"
      "ic1iw5oc2kw3nc\n"
      "--reset\n"
      "ic1iw5oc2kw3nd\n",
      "f");
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].problem, parse_problem("--dir=FWD_D mb3ic1iw5oc2kw3"));
  EXPECT_EQ(found[1].problem, parse_problem("conv -n 8"));
  EXPECT_EQ(found[2].problem, parse_problem("--deconv --dir=FWD_D --dt=bf16 mb3ic1iw5oc2kw3"));
  EXPECT_EQ(found[3].problem, found[2].problem);
  EXPECT_EQ(found[4].problem, parse_problem("--deconv ic1iw5oc2kw3"));
}

TEST(ProblemFiles, ReadJson) {
  const std::string entries =
      R"([ "ic1iw5oc2kw3n\"a\"", {"name": "b", "problem": "kb56", "count": 7}, {"problem": "Conv1d(1, 2, 3) @ 1x1x5"} ])";
  for (const std::string& content :
       {entries, "\n {\"name\": \"list\", \"about\": \"why\", \"problems\": " + entries + "}\n",
        "{\"problems\": " + entries + ", \"name\": \"\"}"}) {
    const auto found = parse_problem_file(content, "f");
    EXPECT_EQ(names(found), (Names{"a", "b", spell(parse_problem(small))})) << content;
    EXPECT_EQ(found.at(1).problem, parse_problem("kb56"));
    EXPECT_EQ(found.at(1).count, 7);
    EXPECT_EQ(found.at(0).count, 1);
  }
  EXPECT_TRUE(parse_problem_file("[]", "f").empty());
  EXPECT_EQ(parse_problem_file("\xef\xbb\xbfkb56\n", "f").size(), 1u) << "a byte order mark";
}

TEST(ProblemFiles, MalformedOnesNameTheLine) {
  const std::pair<std::string, const char*> cases[] = {
      {"\n\n  ic1iw5oc2\n", "f:3: kw is missing; valid: 1 or more"},
      {"# x\n--dir=BWD_D\n", "f:2: --dir = BWD_D computes gradients"},
      {"\nconv -n x\n", "f:2: batchsize = x is not a whole number"},
      {"kb56\nConv2d(1, 2, 3)\n", "f:2: unexpected end of the text"},
      {"--batch=", "f:1: the name of a file is missing"},
      {"@\n", "f:1: the name of a file is missing"},
      {"\n--batch=/no/such/file\n", "f:2: cannot read /no/such/file: No such file or directory"},
      {"@/\n", "f:1: cannot read /: "},
      {"[", "f:1: malformed JSON near '['"},
      {"[\n\"ic1iw5oc2kw3\",\n1]", "f:3: unexpected a number; valid: a problem's text"},
      {"[\n\"ic1iw5oc2kw3\",\n\"ic1\"]", "f:3: oc is missing"},
      {"[[]]", "f:1: unexpected an array"},
      {"[{\"problem\": {}}]", "f:1: unexpected an object; valid: strings"},
      {"[{\"problem\": []}]", "f:1: unexpected an array; valid: strings"},
      {"[{\"name\": null}]", "f:1: unexpected null; valid: strings"},
      {"[{\"name\": \"a\"}]", "f:1: the entry has no problem"},
      {"[{\"name\": \"a\", \"problem\": \"ic1\"}]", "f:1: oc is missing"},
      {"[{\"problem\": \"kb56\", \"math\": \"tf32\"}]", "f:1: \"math\" is not known; valid: \"name\", \"problem\""},
      {"{\"layers\": []}", "f:1: \"layers\" is not known; valid: \"name\", \"about\", \"problems\""},
      {"{\"problems\": \"kb56\"}", "f:1: unexpected a string"},
      {"{\"problems\": {}}", "f:1: unexpected an object"},
      {"{\"name\": []}", "f:1: unexpected an array"},
      {R"([{"problem": "kb56", "count": 0}])", "f:1: \"count\" = 0; valid: 1 to "},
      {R"([{"problem": "kb56", "count": -1}])", "f:1: unexpected a negative number"},
      {R"([{"count": "2", "problem": "kb56"}])", "f:1: unexpected a string"},
      {R"({"count": 2})", "f:1: \"count\" is not known"},
      {R"(["--dir=FWD_D", "ic1iw5oc2kw3"])", "f:1: the entry holds no problem"},
      {R"([{"problem": "kb56", "problem": "kb57"}])", "f:1: \"problem\" is given twice"},
      {R"({"problems": [], "name": "", "name": ""})", "f:1: \"name\" is given twice"},
      {"{\"name\": true}", "f:1: unexpected a truth value"},
      {"{\"problems\": [], \"problems\": []}", "f:1: \"problems\" is given twice"},
      {"{}", "f:1: the object has no list"},
      {"[] []", "f:1: malformed JSON"},
      {"[\"\xff\"]", "f:1: malformed JSON"},
  };
  for (const auto& [content, message] : cases)
    EXPECT_EQ(content_refusal(content).find(message), 0u) << content << ": " << content_refusal(content);
}

TEST(ProblemFiles, HostileNestingIsRefusedAtOnce) {
  EXPECT_EQ(content_refusal(std::string(50'000'000, '[')).find("f:1: unexpected an array"), 0u);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"problems\":";
  EXPECT_EQ(content_refusal(objects).find("f:1: unexpected an object"), 0u);
}

TEST(ProblemFiles, TooManyProblemsAreRefused) {
  std::string line;
  for (int i = 0; i < 1001; ++i) line += "ic1iw5oc2kw3nx ";
  std::string content;
  for (int i = 0; i < 1000; ++i) content += line + "\n";
  EXPECT_EQ(content_refusal(content), "f:1000: too many problems; valid: at most 1000000");
}

TEST(ProblemFiles, IncludeOthers) {
  const Folder folder;
  folder.write("shapes/one", "ic1iw5oc2kw3na\n--dt=f16\nic1iw5oc2kw3nb\n");
  folder.write("shapes/list.json", "[\"ic1iw5oc2kw3nj\", {\"name\": \"k\", \"problem\": \"kb56\"}]");
  folder.write("shapes/both", "--batch=one\n--batch=list.json\n@one\n");
  const std::string top = folder.write("top", "--dir=FWD_D --batch=shapes/both\nic1iw5oc2kw3nc\n");
  const auto found = parse_problems("@" + top);
  EXPECT_EQ(names(found), (Names{"a", "b", "j", "k", "a", "b", "c"}));
  // What holds before an include holds in it; what is set in it does not hold after it.
  EXPECT_EQ(found[0].problem, parse_problem("--dir=FWD_D ic1iw5oc2kw3"));
  EXPECT_EQ(found[1].problem, parse_problem("--dir=FWD_D --dt=f16 ic1iw5oc2kw3"));
  EXPECT_EQ(found[2].problem, parse_problem("--dir=FWD_D ic1iw5oc2kw3"));
  EXPECT_EQ(found[6].problem, parse_problem("--dir=FWD_D ic1iw5oc2kw3"));
  EXPECT_EQ(names(parse_problems("--deconv --batch=" + top)), names(found));
  EXPECT_EQ(parse_problems("--deconv --batch=" + top)[0].problem.kind, Kind::transposed);
}

TEST(ProblemFiles, ErrorsInIncludesNameTheirOwnPlace) {
  const Folder folder;
  const std::string bad = folder.write("bad", "\nic1\n");
  const std::string top = folder.write("top", "\n\n\n--batch=bad\n");
  EXPECT_EQ(refusal([&] { return parse_problems("@" + top); }), bad + ":2: oc is missing; valid: 1 or more");
}

TEST(ProblemFiles, CyclesAndDepthAreRefused) {
  const Folder folder;
  const std::string self = folder.write("self", "--batch=self\n");
  EXPECT_EQ(refusal([&] { return parse_problems("@" + self); }),
            self + ":1: " + self + " includes itself; valid: files that do not");
  folder.write("ping", "--batch=./pong");
  folder.write("pong", "--batch=../" + folder.path().filename().string() + "/ping");
  EXPECT_NE(refusal([&] { return parse_problems("@" + (folder.path() / "ping").string()); }).find("includes itself"),
            std::string::npos);
  for (int depth = 1; depth <= 9; ++depth)
    folder.write("deep" + std::to_string(depth), "--batch=deep" + std::to_string(depth - 1));
  folder.write("deep0", "ic1iw5oc2kw3na");
  const auto deep = [&](int depth) { return "@" + (folder.path() / ("deep" + std::to_string(depth))).string(); };
  EXPECT_EQ(names(parse_problems(deep(7))), Names{"a"});
  EXPECT_NE(refusal([&] { return parse_problems(deep(8)); }).find("nested too deeply; valid: at most 8 files"),
            std::string::npos);
}

TEST(ProblemFiles, LargeOnesAreRefused) {
  const Folder folder;
  const std::string huge = folder.write("huge", "");
  fs::resize_file(huge, std::uintmax_t{1} << 40);  // a sparse file
  EXPECT_NE(refusal([&] { return parse_problems("@" + huge); }).find("too large; valid: at most 67108864 bytes"),
            std::string::npos);
  // What counts is the sum.
  folder.write("large", std::string(std::size_t{33} << 20, '\n'));
  const std::string twice = folder.write("twice", "ic1iw5oc2kw3na\n@large\n@large\n");
  EXPECT_NE(refusal([&] { return parse_problems("@" + twice); }).find("twice:3: "), std::string::npos);
}

TEST(Problems, OneTextMayBeManyProblems) {
  EXPECT_EQ(names(parse_problems(" kb56 ")), Names{"kb56"});
  EXPECT_EQ(names(parse_problems(small)), Names{spell(parse_problem(small))});
  EXPECT_EQ(names(parse_problems("ic1iw5oc2kw3na")), Names{"a"});
  EXPECT_EQ(parse_problems("--dir=FWD_D ic1iw5oc2kw3")[0].problem, parse_problem("--dir=FWD_D ic1iw5oc2kw3"));
  for (const ProblemList& list : problem_lists()) {
    const auto found = parse_problems(list.name);
    ASSERT_EQ(found.size(), list.problems.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, list.problems[i].name);
      EXPECT_EQ(found[i].problem, list.problems[i].problem);
    }
  }
}

TEST(Problems, NoneIsAnError) {
  const Folder folder;
  const std::string empty = folder.write("empty", "# nothing\n");
  for (const std::string& text : {std::string("--dir=FWD_D"), "@" + empty})
    EXPECT_EQ(refusal([&] { return parse_problems(text); }), "no problem is given; valid: at least one") << text;
  EXPECT_NE(refusal([] { return parse_problems(""); }), "valid");
  EXPECT_EQ(refusal([] { return parse_problems("@/no/such/file"); }),
            "cannot read /no/such/file: No such file or directory");
  EXPECT_EQ(refusal([] { return parse_problems("@/dev/zero"); }), "cannot read /dev/zero: it is not a regular file");
}

}  // namespace
}  // namespace tapconv
