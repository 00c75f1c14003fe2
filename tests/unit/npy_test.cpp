#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "tapconv/error.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class Npy : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tapconv-npy-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path path(const std::string& name = "a.npy") const { return folder_ / name; }

  [[nodiscard]] int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  void put(const std::string& bytes, const std::string& name = "a.npy") const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  [[nodiscard]] std::string get(const std::string& name = "a.npy") const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

 private:
  fs::path folder_;
};

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

/// A file of format `major`.0 with this header as it stands, then `data`.
std::string file_with(const std::string& header, const std::string& data, int major = 1) {
  const std::string version = {static_cast<char>(major), '\0'};
  return "\x93NUMPY" + version + little_endian(header.size(), major == 1 ? 2 : 4) + header + data;
}

std::string file_with_shape(const std::string& shape, const std::string& data) {
  return file_with("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n", data);
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
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

const std::vector<std::int64_t> shape_2x3 = {2, 3};
const std::vector<float> six = {0.0f, -1.5f, 2.0f, 3.25f, -0.0f, 1e-45f};

TEST_F(Npy, WritesTheBytesThatNumPyWrites) {
  write_npy(path(), shape_2x3, six);
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(get(), file_with(header + std::string(117 - header.size(), ' ') + "\n", bytes_of(six)));
}

TEST_F(Npy, ReturnsEveryBitAndEveryRank) {
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::bit_cast<float>(0x7f800001u + 0x05123457u * static_cast<std::uint32_t>(i));
  }
  const std::vector<std::vector<std::int64_t>> shapes = {{24}, {4, 6}, {2, 3, 4}, {1, 24, 1, 1, 1}, {2, 2, 1, 3, 2, 1}};
  for (const auto& shape : shapes) {
    write_npy(path(), shape, values);
    const Tensor tensor = read_npy(path());
    EXPECT_EQ(tensor.shape, shape);
    EXPECT_EQ(bytes_of(tensor.values), bytes_of(values));
    EXPECT_EQ(get().size() % 64, values.size() * sizeof(float) % 64) << "the values do not start at a multiple of 64";
  }
  write_npy(path(), {}, std::vector<float>{7.0f});
  EXPECT_TRUE(read_npy(path()).shape.empty());
  EXPECT_EQ(read_npy(path()).values, std::vector<float>{7.0f});
}

TEST_F(Npy, ReadsEveryFormatAndSpellingOfTheHeader) {
  const std::vector<std::string> headers = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
      "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
      "{\"shape\": (2,3,), \"fortran_order\": False, \"descr\": \"<f4\"}\n",
      " \n{ 'shape'\t:\r\n( 2 , 3 ) , 'descr' : '<f4' , 'fortran_order' : False , } \n  \n",
  };
  for (const auto& header : headers) {
    for (const int major : {1, 2, 3}) {
      SCOPED_TRACE(header);
      put(file_with(header, bytes_of(six), major));
      const Tensor tensor = read_npy(path());
      EXPECT_EQ(tensor.shape, shape_2x3);
      EXPECT_EQ(bytes_of(tensor.values), bytes_of(six));
    }
  }
}

TEST_F(Npy, RefusesMalformedHeaders) {
  const std::string descr = "'descr': '<f4'", order = "'fortran_order': False", shape = "'shape': (2, 3)";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "start of a dictionary"},
      {"\n", "start of a dictionary"},
      {"[1]", "start of a dictionary"},
      {"{}", "lacks the key 'descr'"},
      {"{" + descr + ", " + order + "}", "lacks the key 'shape'"},
      {"{" + descr + ", " + shape + "}", "lacks the key 'fortran_order'"},
      {"{" + order + ", " + shape + "}", "lacks the key 'descr'"},
      {"{" + descr + ", " + order + ", " + shape + ", " + shape + "}", "'shape' twice"},
      {"{" + descr + ", " + order + ", " + shape + ", 'extra': 1}", "one of the keys"},
      {"{" + descr + ", " + order + ", " + shape + ",,}", "a key in quotes"},
      {"{,}", "a key in quotes"},
      {"{" + descr + " " + order + ", " + shape + "}", "',' or '}'"},
      {"{" + descr + ", " + order + ", " + shape, "',' or '}'"},
      {"{" + descr + ", " + order + ", " + shape + "} x", "end of the header"},
      {"{" + descr + ", " + order + ", " + shape + "}" + std::string(1, '\0'), "\\x00"},
      {"{'descr", "a string without escapes"},
      {"{'de\\x73cr': '<f4'}", "a string without escapes"},
      {"{'descr' '<f4'}", "':' after a key"},
      {"{'descr': '<f8'}", "descr is '<f8'; only '<f4'"},
      {"{'descr': '>f4'}", "descr is '>f4'"},
      {"{'descr': '|O'}", "descr is '|O'"},
      {"{'descr': '<f4\x01\xff'}", "descr is '<f4\\x01\\xff'"},
      {"{'descr': [('a', '<f4')]}", "structured type"},
      {"{'descr': 4}", "a type in quotes"},
      {"{'fortran_order': True}", "fortran_order is True; only False"},
      {"{'fortran_order': false}", "True or False"},
      {"{'fortran_order': 0}", "True or False"},
      {"{'shape': 6}", "a tuple"},
      {"{'shape': [2, 3]}", "a tuple"},
      {"{'shape': (6)}", "not a tuple"},
      {"{'shape': (2 3)}", "',' or ')'"},
      {"{'shape': (,)}", "a dimension"},
      {"{'shape': (2,,3)}", "a dimension"},
      {"{'shape': (2.0, 3)}", "',' or ')'"},
      {"{'shape': (0x2, 3)}", "',' or ')'"},
      {"{'shape': (+2, 3)}", "a dimension"},
      {"{'shape': (02, 3)}", "leading zeros"},
      {"{'shape': (2L, 3L)}", "',' or ')'"},
      {"{'shape': (((((((((((2, 3)", "a dimension"},
      {"{'shape': (9223372036854775808,)}", "at most 9223372036854775807"},
      {"{'shape': (-9223372036854775809,)}", "-9223372036854775809"},
      {"{'shape': (" + std::string(5000, '9') + ",)}", "999..."},
  };
  for (const auto& [header, part] : cases) {
    SCOPED_TRACE(header);
    put(file_with(header, bytes_of(six)));
    expect_error(ErrorCode::usage, part, [&] { (void)read_npy(path()); });
  }
}

TEST_F(Npy, RefusesHostileShapesBeforeAllocating) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"(-2, -3)", "dimension of -2; at least 1"},
      {"(0, 3)", "shape (0, 3) has a dimension of 0"},
      {"(9223372036854775807, 9223372036854775807, 0)", "64 bits"},
      {"(9223372036854775807,)", "64 bits"},
      {"(4294967296, 4294967296)", "64 bits"},
      {"(4294967296, 4294967296, 6)", "64 bits"},
      {"(2147483648, 2147483648, 2)", "64 bits"},
      {"(2305843009213693951,)", "declares 9223372036854775804 bytes of values, but 24 follow"},
      {"(1099511627776,)", "declares 4398046511104 bytes of values, but 24 follow"},
      {"(7,)", "declares 28 bytes of values, but 24 follow"},
      {"(5,)", "declares 20 bytes of values, but 24 follow"},
      {"()", "declares 4 bytes of values, but 24 follow"},
  };
  for (const auto& [shape, part] : cases) {
    put(file_with_shape(shape, bytes_of(six)));
    expect_error(ErrorCode::usage, part, [&] { (void)read_npy(path()); });
  }
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  put(file_with_shape(many + ")", bytes_of({1.0f})));
  expect_error(ErrorCode::usage, "65 dimensions; at most 64", [&] { (void)read_npy(path()); });
}

TEST_F(Npy, RefusesBrokenPreambles) {
  const std::string good = file_with_shape("(2, 3)", bytes_of(six));
  const std::string huge_header = "\x93NUMPY\x02" + std::string(1, '\0') + little_endian(0xffffffff, 4);
  const std::string false_length = "\x93NUMPY\x01" + std::string(1, '\0') + little_endian(0xffff, 2);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "0 bytes are too few"},
      {"\x93NUMPY\x01", "too few"},
      {"PK\x03\x04" + std::string(60, '\0'), "it starts with `PK\\x03\\x04\\x00\\x00`"},
      {"\x93numpy" + good.substr(6), "not a .npy file"},
      {good.substr(0, 6) + std::string(2, '\0') + good.substr(8), "format 0.0; 1.0, 2.0 and 3.0 are valid"},
      {good.substr(0, 6) + "\x04" + good.substr(7), "format 4.0"},
      {good.substr(0, 7) + "\x01" + good.substr(8), "format 1.1"},
      {huge_header + std::string(100, ' '), "length of 4294967295 bytes; at most 65536"},
      {false_length + std::string(100, ' '), "length of 65535 bytes, but the file has only 100 after byte 10"},
  };
  for (const auto& [bytes, part] : cases) {
    put(bytes);
    expect_error(ErrorCode::usage, part, [&] { (void)read_npy(path()); });
  }
}

TEST_F(Npy, RefusesEveryTruncationAndExtension) {
  write_npy(path(), shape_2x3, six);
  const std::string whole = get();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    expect_error(ErrorCode::usage, "a.npy", [&] { (void)read_npy(path()); });
  }
  put(whole + '\0');
  expect_error(ErrorCode::usage, "25 follow", [&] { (void)read_npy(path()); });
}

TEST_F(Npy, SurvivesEveryChangedByteOfTheHeader) {
  const std::string whole = file_with_shape("(2, 3)", bytes_of(six));
  const std::size_t header_end = whole.size() - six.size() * sizeof(float);
  for (std::size_t at = 0; at < header_end; ++at) {
    for (const char replacement : {'\0', '\n', ' ', '\'', '(', ')', '{', '}', ',', ':', '0', '9', '-', '\xff'}) {
      std::string changed = whole;
      changed[at] = replacement;
      put(changed);
      try {
        const Tensor tensor = read_npy(path());
        EXPECT_EQ(tensor.values.size(), six.size()) << "byte " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
      }
    }
  }
}

TEST_F(Npy, NamesTheFileThatCannotBeRead) {
  expect_error(ErrorCode::environment, path("none.npy").string() + ": No such file",
               [&] { (void)read_npy(path("none.npy")); });
  expect_error(ErrorCode::environment, "not a regular file", [&] { (void)read_npy(path("")); });
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::environment, "not a regular file", [&] { (void)read_npy(path("pipe")); });
}

TEST_F(Npy, ReplacesAFileAndLeavesNothingElse) {
  put("old");
  write_npy(path(), shape_2x3, six);
  EXPECT_EQ(read_npy(path()).values.size(), 6u);
  EXPECT_EQ(entries(), 1);
}

TEST_F(Npy, WritesThroughASymbolicLink) {
  put("old", "target.npy");
  fs::create_symlink("target.npy", path("link.npy"));
  write_npy(path("link.npy"), shape_2x3, six);
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_EQ(read_npy(path("target.npy")).shape, shape_2x3);
}

TEST_F(Npy, RefusesToWriteWhatItWouldNotRead) {
  put("old");
  const std::vector<std::pair<std::vector<std::int64_t>, std::string>> cases = {
      {{2, 4}, "6 values were given for a shape of 8"},
      {{0, 6}, "dimension of 0"},
      {{-2, -3}, "dimension of -2"},
      {{std::numeric_limits<std::int64_t>::max(), 6}, "64 bits"},
      {std::vector<std::int64_t>(65, 1), "65 dimensions"},
  };
  for (const auto& [shape, part] : cases) {
    expect_error(ErrorCode::usage, part, [&, &refused = shape] { write_npy(path(), refused, six); });
  }
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Npy, LeavesNothingWhereItCannotWrite) {
  expect_error(ErrorCode::environment, "No such file", [&] { write_npy(path("no/a.npy"), shape_2x3, six); });
  fs::create_directory(path("folder"));
  expect_error(ErrorCode::environment, "not a regular file", [&] { write_npy(path("folder"), shape_2x3, six); });
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::environment, "not a regular file", [&] { write_npy(path("pipe"), shape_2x3, six); });
  EXPECT_EQ(entries(), 2);
}

TEST_F(Npy, KeepsTheOldFileIfTheDiskFails) {
  put("old");
  const std::vector<float> values(5000);
  const std::vector<std::int64_t> shape = {5000};
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ErrorCode::environment, "cannot write " + path().string() + ": File too large",
               [&] { write_npy(path(), shape, values); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace tapconv
