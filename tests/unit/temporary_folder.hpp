#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tapconv/error.hpp"

namespace tapconv::testing {

/// A folder of its own for each test.
class TemporaryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tapconv-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  [[nodiscard]] int entries() const {
    using Iterator = std::filesystem::directory_iterator;
    return static_cast<int>(std::distance(Iterator(folder_), Iterator()));
  }

  void put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  [[nodiscard]] std::string get(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path folder_;
};

/// `value` as little-endian bytes.
inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

/// Expects an error of this kind whose message contains `part`.
template <class Call>
void expect_error(ErrorCode code, const std::string& part, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << "expected: " << part << "\ngot: " << error.what();
  }
}

}  // namespace tapconv::testing
