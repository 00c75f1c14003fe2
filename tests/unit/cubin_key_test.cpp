#include "cuda/cubin_key.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cuda/included_files.hpp"

namespace tapconv::cuda {
namespace {

const std::vector<EmbeddedFile> files = {
    {"tapconv/a.cuh", "#include \"tapconv/b.cuh\"\nint a;\n"},
    {"tapconv/b.cuh", "  #\tinclude\t\"tapconv/c.cuh\"\n"},
    {"tapconv/c.cuh", "#include \"tapconv/a.cuh\"\n// a ring\n"},
    {"tapconv/d.cuh", ""},
};

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> result;
  for (const EmbeddedFile& file : included_files(text, files)) result.emplace_back(file.path);
  return result;
}

TEST(IncludedFiles, AreFollowedThroughOtherFilesAndRings) {
  using Names = std::vector<std::string>;
  EXPECT_EQ((Names{"tapconv/a.cuh", "tapconv/b.cuh", "tapconv/c.cuh"}), names("#include \"tapconv/a.cuh\"\n"));
  EXPECT_EQ((Names{"tapconv/a.cuh", "tapconv/b.cuh", "tapconv/c.cuh"}), names("#include \"tapconv/c.cuh\""));
  EXPECT_EQ((Names{"tapconv/d.cuh"}), names("int x;\n#include \"tapconv/d.cuh\"\n#include \"tapconv/d.cuh\"\n"));
  for (const char* text : {"", "#", "#include", "#include \"", "#include \"tapconv/d.cuh", "#include <tapconv/d.cuh>",
                           "#include \"tapconv/e.cuh\"", "#includes \"tapconv/d.cuh\"", "include \"tapconv/d.cuh\"",
                           "#include \"tapconv/d\n.cuh\""})
    EXPECT_EQ(Names{}, names(text)) << text;
}

TEST(IncludedFiles, OfAKernelAreThoseThatTheRepositoryHas) {
  const auto found = included_files("#include \"tapconv/direct.cuh\"\n", kernel_files());
  ASSERT_GE(found.size(), 2U);
  EXPECT_LT(found.size(), kernel_files().size());
}

struct Ingredients {
  std::string version = "13.0", architecture = "90a", entry = "k", text = "source";
  std::vector<std::string> options = {"-a", "-b"};
  std::vector<EmbeddedFile> headers = {{"x", "1"}, {"y", "2"}};

  [[nodiscard]] Digest key() const {
    return cubin_key({.compiler_version = version,
                      .architecture = architecture,
                      .options = options,
                      .entry = entry,
                      .text = text,
                      .headers = headers});
  }
};

TEST(CubinKey, DependsOnEveryIngredientAndOnItsPlace) {
  std::set<Digest> keys;
  int made = 0;
  const auto add = [&](auto change) {
    Ingredients ingredients;
    change(ingredients);
    keys.insert(ingredients.key());
    ++made;
  };
  add([](Ingredients&) {});
  add([](Ingredients& i) { i.version = "13.1"; });
  add([](Ingredients& i) { i.architecture = "90"; });
  add([](Ingredients& i) { i.entry = "l"; });
  add([](Ingredients& i) { i.text += "\n"; });
  add([](Ingredients& i) { i.options[1] = "-c"; });
  add([](Ingredients& i) { i.options = {"-b", "-a"}; });
  add([](Ingredients& i) { i.options = {"-a-b"}; });
  add([](Ingredients& i) { i.options.clear(); });
  add([](Ingredients& i) { i.headers[0].text = "3"; });
  add([](Ingredients& i) { i.headers[1].path = "z"; });
  add([](Ingredients& i) { i.headers.pop_back(); });
  add([](Ingredients& i) { i.headers = {{"x", "12"}, {"y", ""}}; });
  add([](Ingredients& i) { i.headers = {{"x1", ""}, {"y", "2"}}; });
  // What runs together as text is kept apart by lengths.
  add([](Ingredients& i) { i.entry = "ks", i.text = "ource"; });
  add([](Ingredients& i) { i.version = "13.09", i.architecture = "0a"; });
  add([](Ingredients& i) { i.options = {"-a", "-b1 k"}, i.entry = ""; });
  EXPECT_EQ(made, static_cast<int>(keys.size()));
  EXPECT_EQ(Ingredients().key(), Ingredients().key());
}

// A change of how keys are made must come with another cache_format, since old entries would be taken for new ones or
// never be found.
TEST(CubinKey, OfFormat1IsThis) {
  EXPECT_EQ(1, cache_format);
  EXPECT_EQ(sha256(std::as_bytes(std::span(std::string_view("1 4 13.03 90a2 2 -a2 -b1 k6 source2 1 x1 11 y1 2")))),
            Ingredients().key());
}

}  // namespace
}  // namespace tapconv::cuda
