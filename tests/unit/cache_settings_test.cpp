#include "cuda/cache_settings.hpp"

#include <gtest/gtest.h>

namespace tapconv::cuda {
namespace {

using Paths = std::vector<std::filesystem::path>;

CacheSettings of_folders(const std::string& cache_dir) {
  return cache_settings({.cache_dir = cache_dir, .cache_max_bytes = {}, .xdg_cache_home = "/xdg", .home = "/home"});
}

TEST(CacheSettings, TheVariableNamesOneWrittenFolderAndLayers) {
  EXPECT_EQ("/a", of_folders("/a").written);
  EXPECT_EQ(Paths{}, of_folders("/a").read_only);
  EXPECT_EQ("/a", of_folders("/a:/b:/c").written);
  EXPECT_EQ((Paths{"/b", "/c"}), of_folders("/a:/b:/c").read_only);
  EXPECT_EQ((Paths{"/b"}), of_folders("/a::/b:").read_only);
  EXPECT_EQ(std::filesystem::current_path() / "a", of_folders("a").written);
}

TEST(CacheSettings, AnEmptyFolderIsNone) {
  EXPECT_EQ(std::nullopt, of_folders("").written);
  EXPECT_EQ(Paths{}, of_folders("").read_only);
  EXPECT_EQ(std::nullopt, of_folders(":/b").written);
  EXPECT_EQ(Paths{"/b"}, of_folders(":/b").read_only);
}

TEST(CacheSettings, TheDefaultFollowsThePlatform) {
  const auto of = [](std::optional<std::string> xdg, std::optional<std::string> home) {
    return cache_settings({.cache_dir = {}, .cache_max_bytes = {}, .xdg_cache_home = xdg, .home = home}).written;
  };
  EXPECT_EQ("/xdg/tapconv", of("/xdg", "/home/me"));
  EXPECT_EQ("/home/me/.cache/tapconv", of(std::nullopt, "/home/me"));
  EXPECT_EQ("/home/me/.cache/tapconv", of("", "/home/me"));
  // The convention wants it absolute.
  EXPECT_EQ("/home/me/.cache/tapconv", of("xdg", "/home/me"));
  EXPECT_EQ(std::nullopt, of(std::nullopt, std::nullopt));
  EXPECT_EQ(std::nullopt, of("", ""));
}

TEST(CacheSettings, TheBoundIsOneGibibyteUnlessSaidOtherwise) {
  const auto of = [](std::optional<std::string> text) {
    return cache_settings({.cache_dir = "/a", .cache_max_bytes = text, .xdg_cache_home = {}, .home = {}}).max_bytes;
  };
  EXPECT_EQ(1073741824U, of(std::nullopt));
  EXPECT_EQ(4096U, of("4096"));
  EXPECT_EQ(0U, of("0"));
  EXPECT_EQ(18446744073709551615U, of("18446744073709551615"));
  for (const char* text : {"", "-1", "1G", " 1", "18446744073709551616"}) EXPECT_EQ(1073741824U, of(text)) << text;
}

}  // namespace
}  // namespace tapconv::cuda
