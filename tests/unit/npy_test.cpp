#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <bit>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tapconv/error.hpp"
#include "tapconv/tensor.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

namespace fs = std::filesystem;

using testing::expect_error;
using testing::little_endian;

class Npy : public testing::TemporaryFolder {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "a.npy") const { return TemporaryFolder::path(name); }
  [[nodiscard]] std::string get() const { return TemporaryFolder::get("a.npy"); }
  void put(const std::string& bytes, const std::string& name = "a.npy") const { TemporaryFolder::put(name, bytes); }
};

/// A file of format `major`.0 with this header as it stands, then `data`.
std::string file_with(const std::string& header, const std::string& data, int major = 1) {
  const std::string version = {static_cast<char>(major), '\0'};
  return "\x93NUMPY" + version + little_endian(header.size(), major == 1 ? 2 : 4) + header + data;
}

std::string file_with_shape(const std::string& shape, const std::string& data) {
  return file_with("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n", data);
}

template <class Value>
std::string bytes_of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

/// The bytes in memory of a contiguous tensor.
std::string bytes_of(const Tensor& tensor) {
  EXPECT_EQ(tensor.strides(), strides_of(tensor.shape(), Layout::contiguous));
  return {static_cast<const char*>(tensor.view().data),
          static_cast<std::size_t>(tensor.size()) * element_bytes(tensor.dtype())};
}

void write(const std::string& path, std::vector<std::int64_t> shape, const std::vector<float>& values) {
  write_tensor(path, Tensor(std::move(shape), values).view());
}

const std::vector<std::int64_t> shape_2x3 = {2, 3};
const std::vector<float> six = {0.0f, -1.5f, 2.0f, 3.25f, -0.0f, 1e-45f};

TEST_F(Npy, WritesTheBytesThatNumPyWrites) {
  write(path(), shape_2x3, six);
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
    write(path(), shape, values);
    const Tensor tensor = read_tensor(path());
    EXPECT_EQ(tensor.shape(), shape);
    EXPECT_EQ(bytes_of(tensor), bytes_of(values));
    EXPECT_EQ(get().size() % 64, values.size() * sizeof(float) % 64) << "the values do not start at a multiple of 64";
  }
  write(path(), {}, std::vector<float>{7.0f});
  EXPECT_TRUE(read_tensor(path()).shape().empty());
  EXPECT_EQ(read_tensor(path()).values(), std::vector<double>{7.0});
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
      const Tensor tensor = read_tensor(path());
      EXPECT_EQ(tensor.shape(), shape_2x3);
      EXPECT_EQ(bytes_of(tensor), bytes_of(six));
    }
  }
}

TEST_F(Npy, ReadsEveryType) {
  const std::vector<std::uint16_t> halves = {0x3c00, 0xc000, 0x0001, 0x7c00};
  const std::vector<double> doubles = {0.1, -0x1p-1074, 1e300, -0.0};
  put(file_with("{'descr': '<f2', 'fortran_order': False, 'shape': (4,)}", bytes_of(halves)));
  const Tensor half = read_tensor(path());
  EXPECT_EQ(half.dtype(), DType::float16);
  EXPECT_EQ(half.values(), (std::vector<double>{1, -2, 0x1p-24, std::numeric_limits<double>::infinity()}));
  put(file_with("{'descr': '<f8', 'fortran_order': False, 'shape': (4,)}", bytes_of(doubles)));
  const Tensor binary64 = read_tensor(path());
  EXPECT_EQ(binary64.dtype(), DType::float64);
  EXPECT_EQ(bytes_of(binary64), bytes_of(doubles));
  for (const Tensor& tensor : {half, binary64}) {
    write_tensor(path("again.npy"), tensor.view());
    const Tensor again = read_tensor(path("again.npy"));
    EXPECT_EQ(again.dtype(), tensor.dtype());
    EXPECT_EQ(bytes_of(again), bytes_of(tensor));
  }
}

TEST_F(Npy, ReadsFortranOrderAsStrides) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  put(file_with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", bytes_of(values)));
  const Tensor tensor = read_tensor(path());
  EXPECT_EQ(tensor.strides(), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(tensor.values(), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  write_tensor(path("c.npy"), tensor.view());
  EXPECT_EQ(bytes_of(read_tensor(path("c.npy"))), bytes_of(std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST_F(Npy, MapsAlignedValuesAndCopiesOthers) {
  for (const bool aligned : {true, false}) {
    for (const std::string order : {"False", "True"}) {
      std::string header = "{'descr': '<f4', 'fortran_order': " + order + ", 'shape': (2, 3)}";
      while (((10 + header.size()) % 4 == 0) != aligned) header += ' ';
      put(file_with(header, bytes_of(six)));
      const Tensor tensor = read_tensor(path());
      const auto address = reinterpret_cast<std::uintptr_t>(tensor.view().data);
      EXPECT_EQ(address % 4096 == 10 + header.size(), aligned);
      EXPECT_EQ(address % alignof(float), 0u);
      EXPECT_EQ(tensor.strides(),
                order == "True" ? (std::vector<std::int64_t>{1, 2}) : (std::vector<std::int64_t>{3, 1}));
      EXPECT_EQ(std::string(static_cast<const char*>(tensor.view().data), 24), bytes_of(six));
      EXPECT_THROW((void)Tensor(tensor).mutable_view(), Error);
    }
  }
}

TEST_F(Npy, KeepsATensorWhoseFileIsReplacedOrRemoved) {
  write(path(), shape_2x3, six);
  const Tensor tensor = read_tensor(path());
  write(path(), shape_2x3, std::vector<float>(6, 9.0f));
  fs::remove(path());
  EXPECT_EQ(bytes_of(tensor), bytes_of(six));
}

TEST_F(Npy, RefusesBfloat16) {
  const Tensor tensor(DType::bfloat16, {3});
  expect_error(ErrorCode::usage, "no type bfloat16; float16, float32 and float64 are valid",
               [&] { write_tensor(path(), tensor.view()); });
  EXPECT_EQ(entries(), 0);
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
      {"{'descr': '<f16'}", "descr is '<f16'; '<f2', '<f4' and '<f8'"},
      {"{'descr': '<i4'}", "descr is '<i4'"},
      {"{'descr': '=f4'}", "descr is '=f4'"},
      {"{'descr': '>f4'}", "descr is '>f4'"},
      {"{'descr': '|O'}", "descr is '|O'"},
      {"{'descr': '<f4\x01\xff'}", "descr is '<f4\\x01\\xff'"},
      {"{'descr': [('a', '<f4')]}", "structured type"},
      {"{'descr': 4}", "a type in quotes"},
      {"{'fortran_order': Truely}", "',' or '}'"},
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
    expect_error(ErrorCode::usage, part, [&] { (void)read_tensor(path()); });
  }
}

TEST_F(Npy, RefusesHostileShapesBeforeAllocating) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"(-2, -3)", "dimension of -2; at least 1"},
      {"(0, 3)", "shape (0, 3) has a dimension of 0"},
      {"(9223372036854775807, 9223372036854775807, 0)", "63 bits"},
      {"(9223372036854775807,)", "63 bits"},
      {"(4294967296, 4294967296)", "63 bits"},
      {"(4294967296, 4294967296, 6)", "63 bits"},
      {"(2147483648, 2147483648, 2)", "63 bits"},
      {"(2305843009213693951,)", "declares 9223372036854775804 bytes of values, but 24 follow"},
      {"(1099511627776,)", "declares 4398046511104 bytes of values, but 24 follow"},
      {"(7,)", "declares 28 bytes of values, but 24 follow"},
      {"(4611686018427387904,)", "63 bits"},
      {"(5,)", "declares 20 bytes of values, but 24 follow"},
      {"()", "declares 4 bytes of values, but 24 follow"},
  };
  for (const auto& [shape, part] : cases) {
    put(file_with_shape(shape, bytes_of(six)));
    expect_error(ErrorCode::usage, part, [&] { (void)read_tensor(path()); });
  }
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  put(file_with_shape(many + ")", bytes_of(std::vector<float>{1.0f})));
  expect_error(ErrorCode::usage, "65 dimensions; at most 64", [&] { (void)read_tensor(path()); });
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
    expect_error(ErrorCode::usage, part, [&] { (void)read_tensor(path()); });
  }
}

TEST_F(Npy, RefusesEveryTruncationAndExtension) {
  write(path(), shape_2x3, six);
  const std::string whole = get();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    expect_error(ErrorCode::usage, "a.npy", [&] { (void)read_tensor(path()); });
  }
  put(whole + '\0');
  expect_error(ErrorCode::usage, "25 follow", [&] { (void)read_tensor(path()); });
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
        const Tensor tensor = read_tensor(path());
        EXPECT_EQ(tensor.size(), 6) << "byte " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
      }
    }
  }
}

TEST_F(Npy, NamesTheFileThatCannotBeRead) {
  expect_error(ErrorCode::environment, path("none.npy") + ": No such file",
               [&] { (void)read_tensor(path("none.npy")); });
  fs::create_directory(path("folder.npy"));
  expect_error(ErrorCode::environment, "not a regular file", [&] { (void)read_tensor(path("folder.npy")); });
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  expect_error(ErrorCode::environment, "not a regular file", [&] { (void)read_tensor(path("pipe.npy")); });
}

TEST_F(Npy, ReplacesAFileAndLeavesNothingElse) {
  put("old");
  write(path(), shape_2x3, six);
  EXPECT_EQ(read_tensor(path()).size(), 6);
  EXPECT_EQ(entries(), 1);
}

TEST_F(Npy, WritesThroughASymbolicLink) {
  put("old", "target.npy");
  fs::create_symlink("target.npy", path("link.npy"));
  write(path("link.npy"), shape_2x3, six);
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_EQ(read_tensor(path("target.npy")).shape(), shape_2x3);
}

TEST_F(Npy, RefusesToWriteWhatItWouldNotRead) {
  put("old");
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<TensorView, std::string>> cases = {
      {{six.data(), DType::float32, {0, 6}, {}}, "dimension of 0"},
      {{six.data(), DType::float32, {-2, -3}, {}}, "dimension of -2"},
      {{six.data(), DType::float32, {largest, 6}, {}}, "63 bits"},
      {{six.data(), DType::float32, std::vector<std::int64_t>(65, 1), {}}, "65 dimensions"},
      {{six.data(), DType::float32, {2, 3}, {1}}, "strides are (1,) for a shape of (2, 3)"},
      {{six.data(), DType::float32, {2, 3}, {largest / 4, 1}}, "reach further"},
      {{six.data(), DType::float32, {2, 3}, {std::numeric_limits<std::int64_t>::min(), 1}}, "reach further"},
      {{nullptr, DType::float32, {2, 3}, {}}, "data is null"},
      {Tensor().view(), "data is null"},
  };
  for (const auto& [view, part] : cases) {
    expect_error(ErrorCode::usage, part, [&, &refused = view] { write_tensor(path(), refused); });
    expect_error(ErrorCode::usage, path(), [&, &refused = view] { write_tensor(path(), refused); });
  }
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Npy, LeavesNothingWhereItCannotWrite) {
  expect_error(ErrorCode::environment, "No such file", [&] { write(path("no/a.npy"), shape_2x3, six); });
  fs::create_directory(path("folder.npy"));
  expect_error(ErrorCode::environment, "not a regular file", [&] { write(path("folder.npy"), shape_2x3, six); });
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  expect_error(ErrorCode::environment, "not a regular file", [&] { write(path("pipe.npy"), shape_2x3, six); });
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
  expect_error(ErrorCode::environment, "cannot write " + path() + ": File too large",
               [&] { write(path(), shape, values); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace tapconv
