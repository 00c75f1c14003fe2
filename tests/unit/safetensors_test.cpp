#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tapconv/tensor.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;
using testing::little_endian;
using Sizes = std::vector<std::int64_t>;

class Safetensors : public testing::TemporaryFolder {
 protected:
  [[nodiscard]] std::string path() const { return TemporaryFolder::path("a.safetensors"); }
  [[nodiscard]] std::string get() const { return TemporaryFolder::get("a.safetensors"); }
  void put(const std::string& bytes) const { TemporaryFolder::put("a.safetensors", bytes); }

  void expect_refused(const std::string& header, const std::string& data, const std::string& part,
                      const std::string& name = "") const;
};

std::string file_with(const std::string& header, const std::string& data) {
  return little_endian(header.size(), 8) + header + data;
}

/// The item of a header for one tensor.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

void Safetensors::expect_refused(const std::string& header, const std::string& data, const std::string& part,
                                 const std::string& name) const {
  SCOPED_TRACE(header.substr(0, 200));
  put(file_with(header, data));
  expect_error(ErrorCode::usage, part, [&] { (void)read_tensor(path() + name); });
  expect_error(ErrorCode::usage, path(), [&] { (void)read_tensor(path() + name); });
}

// Written by hand: the length 64, the header with seven blanks, then 1.0, -2.0 and 0.5.
const std::string golden_header = R"({"w":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]}})" + std::string(7, ' ');
const std::string golden_file =
    std::string("\x40\0\0\0\0\0\0\0", 8) + golden_header + std::string("\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f", 12);

TEST_F(Safetensors, ReadsAndWritesGoldenBytes) {
  ASSERT_EQ(golden_header.size(), 64u);
  put(golden_file);
  for (const std::string name : {"", ":w"}) {
    const Tensor tensor = read_tensor(path() + name);
    EXPECT_EQ(tensor.dtype(), DType::float32);
    EXPECT_EQ(tensor.shape(), (Sizes{1, 3}));
    EXPECT_EQ(tensor.values(), (std::vector<double>{1, -2, 0.5}));
  }
  write_tensor(TemporaryFolder::path("b.safetensors") + ":w", Tensor({1, 3}, std::vector<float>{1, -2, 0.5f}).view());
  EXPECT_EQ(TemporaryFolder::get("b.safetensors"), golden_file);
}

TEST_F(Safetensors, ReadsOneOfManyTensorsOfEveryType) {
  const std::string header = R"( {"__metadata__" : {"format":"pt", "x":"__metadata__"},)" +
                             entry("half", "F16", "[2]", "[0,4]") + "," + entry("brain", "BF16", "[2,1]", "[4,8]") +
                             "," + entry("double", "F64", "[]", "[11,19]") + "," +
                             entry("integer", "I8", "[3]", "[8,11]") + "," + entry("empty", "F32", "[4,0]", "[11,11]") +
                             "," + entry("new type", "F4_E2M1", "[3,1]", "[19,21]") + "}\n";
  const std::string data = std::string("\x00\x3c\x01\x00", 4) + std::string("\x80\xbf\x80\x7f", 4) + "abc" +
                           std::string("\x00\x00\x00\x00\x00\x00\xf8\x3f", 8) + "xy";
  put(file_with(header.substr(1), data));
  const Tensor half = read_tensor(path() + ":half");
  EXPECT_EQ(half.dtype(), DType::float16);
  EXPECT_EQ(half.values(), (std::vector<double>{1, 0x1p-24}));
  const Tensor brain = read_tensor(path() + ":brain");
  EXPECT_EQ(brain.dtype(), DType::bfloat16);
  EXPECT_EQ(brain.shape(), (Sizes{2, 1}));
  EXPECT_EQ(brain.values(), (std::vector<double>{-1, std::numeric_limits<double>::infinity()}));
  const Tensor unaligned = read_tensor(path() + ":double");
  EXPECT_EQ(unaligned.shape(), Sizes{});
  EXPECT_EQ(unaligned.values(), std::vector<double>{1.5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(unaligned.view().data) % alignof(double), 0u);

  expect_refused(header.substr(1), data, "dtype of tensor 'integer' is 'I8'; F16, BF16, F32 and F64", ":integer");
  expect_refused(header.substr(1), data, "dtype of tensor 'new type' is 'F4_E2M1'", ":new type");
  expect_refused(header.substr(1), data, "tensor 'empty': shape (4, 0) has a dimension of 0", ":empty");
  expect_refused(header.substr(1), data, "there is no tensor 'nope'; it holds 6 tensors: 'brain', 'double'", ":nope");
  expect_refused(header.substr(1), data, "no tensor '__metadata__'", ":__metadata__");
  expect_refused(header.substr(1), data, "a name is needed, as in " + path() + ":name; it holds 6 tensors");
  expect_refused("{}", "", "it holds 0 tensors");
}

TEST_F(Safetensors, ReturnsWhatWasWritten) {
  for (const DType dtype : all_dtypes) {
    for (const std::string name : {"", ":conv1.weight", ":a:b", ":\"quoted\"\\", ":\xc3\xa4", ":x.safetensors:y"}) {
      Tensor tensor(dtype, {2, 1, 3});
      for (int i = 0; i < 6; ++i) store_element(tensor.mutable_view().data, dtype, i, 1.5 * i - 2);
      std::filesystem::remove(path());
      write_tensor(path() + name, tensor.view());
      write_tensor(path() + name, tensor.view());  // over itself
      EXPECT_EQ(get()[0] % 8, 0) << "the data is aligned";
      for (const std::string& source : {path(), path() + (name.empty() ? ":tensor" : name)}) {
        const Tensor again = read_tensor(source);
        EXPECT_EQ(again.dtype(), dtype);
        EXPECT_EQ(again.shape(), tensor.shape());
        EXPECT_EQ(again.values(), tensor.values());
      }
    }
  }
  EXPECT_EQ(entries(), 1);
}

TEST_F(Safetensors, RefusesToLoseOtherTensors) {
  const Tensor tensor(DType::float32, {1});
  write_tensor(path() + ":a", tensor.view());
  expect_error(ErrorCode::usage, "would be replaced by a file of the tensor 'b' alone; it holds 1 tensor: 'a'",
               [&] { write_tensor(path() + ":b", tensor.view()); });
  EXPECT_NO_THROW((void)read_tensor(path() + ":a"));
  put("no file of tensors");
  EXPECT_NO_THROW(write_tensor(path() + ":b", tensor.view()));
}

TEST_F(Safetensors, RefusesNamesThatCannotBeWritten) {
  put("old");
  const Tensor tensor(DType::float32, {1});
  for (const std::string name : {"", "__metadata__", "\xff", "\xc3"})
    expect_error(ErrorCode::usage, "the tensor is called", [&] { write_tensor(path() + ":" + name, tensor.view()); });
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Safetensors, RefusesBrokenLengths) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "0 bytes are too few"},
      {"1234567", "7 bytes are too few"},
      {little_endian(0, 8), "the header starts with ''"},
      {little_endian(3, 8) + "{}", "declares a header of 3 bytes; at most 2 are valid"},
      {little_endian(~std::uint64_t{0}, 8) + "{}", "declares a header of 18446744073709551615 bytes; at most 2"},
      {little_endian(1, 8) + "{}", "not valid JSON, or has too large a number, at byte 2"},
  };
  for (const auto& [bytes, part] : cases) {
    put(bytes);
    expect_error(ErrorCode::usage, part, [&] { (void)read_tensor(path()); });
  }
}

/// A sparse file, so that no disk space is needed.
TEST_F(Safetensors, RefusesAHeaderOfMoreThan100MB) {
  put(little_endian(100'000'001, 8));
  std::filesystem::resize_file(path(), 200'000'000);
  expect_error(ErrorCode::usage, "declares a header of 100000001 bytes; at most 100000000 are valid",
               [&] { (void)read_tensor(path()); });
}

TEST_F(Safetensors, RefusesMalformedJson) {
  const std::string good = entry("a", "F32", "[1]", "[0,4]");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "starts with '[]'; '{' is valid"},
      {"\xef\xbb\xbf{" + good + "}", "starts with"},
      {" {" + good + "}", "starts with"},
      {"{" + good, "not valid JSON"},
      {"{" + good + ",}", "not valid JSON"},
      {"{" + good + "}}", "not valid JSON"},
      {"{" + good + "}" + std::string(1, '\0'), "byte 54 of the header is 0"},
      {"{" + good + "}" + std::string(1, '\0') + "x", "byte 54 of the header is 0"},
      {"{'a':1}", "not valid JSON"},
      {"{\"\xff\":1}", "not valid JSON"},
      {R"({"\ud800":1})", "not valid JSON"},
      {"{\"a\n\":1}", "not valid JSON"},
      {"{/**/" + good + "}", "not valid JSON"},
      {"{" + good + "," + good + "}", "tensor 'a' is there twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "'__metadata__' is there twice"},
      {R"({"__metadata__":1})", "tensor '__metadata__' is 1; an object"},
      {R"({"__metadata__":{"a":1}})", "__metadata__ has 1; strings are valid"},
      {R"({"__metadata__":{"a":{}}})", "__metadata__ has an object"},
      {R"({"__metadata__":{"a":[]}})", "__metadata__ has an array"},
      {R"({"a":null})", "tensor 'a' is null; an object with dtype, shape and data_offsets is valid"},
      {R"({"a":[]})", "tensor 'a' is an array"},
      {R"({"a":"F32"})", "tensor 'a' is the string 'F32'"},
      {R"({"a":{}})", "tensor 'a' lacks dtype"},
      {R"({"a":{"dtype":"F32"}})", "tensor 'a' lacks shape"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "tensor 'a' lacks data_offsets"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "tensor 'a' lacks dtype"},
      {R"({"a":{"dtype":"F32","dtype":"F32"}})", "tensor 'a' has dtype twice"},
      {R"({"a":{"shape":[1],"shape":[1]}})", "tensor 'a' has shape twice"},
      {R"({"a":{"data_offsets":[0,4],"data_offsets":[0,4]}})", "tensor 'a' has data_offsets twice"},
      {R"({"a":{"strides":[1]}})", "tensor 'a' has the key 'strides'; dtype, shape and data_offsets are valid"},
      {R"({"a":{"dtype":32}})", "dtype of tensor 'a' is 32; a string"},
      {R"({"a":{"dtype":{}}})", "dtype of tensor 'a' is an object"},
      {R"({"a":{"shape":1}})", "shape of tensor 'a' has 1; an array"},
      {R"({"a":{"shape":{}}})", "shape of tensor 'a' has an object"},
      {R"({"a":{"shape":[[1]]}})", "shape of tensor 'a' has an array"},
      {R"({"a":{"shape":[true]}})", "shape of tensor 'a' has true"},
      {R"({"a":{"shape":["1"]}})", "shape of tensor 'a' has the string '1'"},
      {R"({"a":{"shape":[-1]}})", "shape of tensor 'a' has -1"},
      {R"({"a":{"shape":[1.0]}})", "shape of tensor 'a' has the number 1.0"},
      {R"({"a":{"shape":[1e3]}})", "shape of tensor 'a' has the number 1e3"},
      {R"({"a":{"shape":[9223372036854775808]}})", "shape of tensor 'a' has 9223372036854775808"},
      {R"({"a":{"shape":[99999999999999999999]}})", "shape of tensor 'a' has the number 99999999999999999999"},
      {R"({"a":{"shape":[1e999]}})", "not valid JSON"},
      {R"({"a":{"data_offsets":4}})", "data_offsets of tensor 'a' has 4; an array of two"},
      {R"({"a":{"data_offsets":[]}})", "data_offsets of tensor 'a' has the end of the array"},
      {R"({"a":{"data_offsets":[0]}})", "data_offsets of tensor 'a' has the end of the array"},
      {R"({"a":{"data_offsets":[0,4,8]}})", "data_offsets of tensor 'a' has 8"},
      {R"({"a":{"data_offsets":[-4,0]}})", "data_offsets of tensor 'a' has -4"},
      {R"({"a":{"data_offsets":[0,4.0]}})", "data_offsets of tensor 'a' has the number 4.0"},
  };
  for (const auto& [header, part] : cases) expect_refused(header, "1234", part);
}

TEST_F(Safetensors, RefusesHostileNestingAndSizes) {
  expect_refused("{" + std::string(1'000'000, '['), "", "not valid JSON");
  expect_refused(R"({"a":)" + std::string(1'000'000, '['), "", "tensor 'a' is an array");
  std::string objects = "{";
  for (int i = 0; i < 100'000; ++i) objects += R"("a":{)";
  expect_refused(objects, "", "tensor 'a' has the key 'a'");
  expect_refused("{" + entry(std::string(1'000'000, 'n'), "F32", "[2]", "[0,4]") + "}", "1234", "nnn...' span 4 bytes");
  expect_refused("{\"a\":{\"shape\":[" + std::string(1'000'000, '9') + "]}}", "", "too large a number");
  expect_refused("{\"a\":{\"shape\":[" + std::string(300, '9') + "]}}", "", "the number 9999999999");
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  expect_refused("{" + entry("a", "F32", ones + "]", "[0,4]") + "}", "1234",
                 "one more dimension; an array of at most 64");
}

TEST_F(Safetensors, RefusesOffsetsThatDoNotFit) {
  const auto two = [](const std::string& first, const std::string& second) {
    return "{" + entry("a", "F32", "[1]", first) + "," + entry("b", "F32", "[1]", second) + "}";
  };
  const auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "{" + entry("a", dtype, shape, offsets) + "}";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {one("F32", "[1]", "[0,4]"), "8 bytes of data, but its tensors end at 4"},
      {one("F32", "[3]", "[0,12]"), "data_offsets of tensor 'a' are [0, 12]; the file has 8 bytes of data"},
      {one("F32", "[1]", "[4,8]"), "[4, 8]; the tensor before it ends at 0"},
      {one("F32", "[2]", "[8,0]"), "[8, 0]; the first is at most the second"},
      {one("F32", "[0]", "[8,0]"), "[8, 0]; the first is at most the second"},
      {one("I8", "[2]", "[18446744073709551615,1]"), "the first is at most the second"},
      {one("I8", "[2]", "[0,18446744073709551615]"), "the file has 8 bytes of data"},
      {one("F32", "[1]", "[0,8]"), "span 8 bytes; 4 are valid for F32 of shape (1,)"},
      {one("F64", "[2]", "[0,8]"), "span 8 bytes; 16 are valid for F64"},
      {one("F16", "[]", "[0,8]"), "span 8 bytes; 2 are valid for F16 of shape ()"},
      {one("BF16", "[0,9223372036854775807]", "[0,8]"), "span 8 bytes; 0 are valid for BF16"},
      {one("F32", "[4611686018427387906]", "[0,8]"),
       "tensor 'a': shape (4611686018427387906,) of float32 has more bytes"},
      {one("F32", "[4294967296,4294967296,2]", "[0,8]"), "more bytes than 63 bits"},
      {two("[0,4]", "[0,4]"), "data_offsets of tensor 'b' are [0, 4]; the tensor before it ends at 4"},
      {two("[0,4]", "[3,7]"), "data_offsets of tensor 'b' are [3, 7]; the tensor before it ends at 4"},
      {two("[4,8]", "[8,12]"), "data_offsets of tensor 'a' are [4, 8]; the tensor before it ends at 0"},
      {two("[4,8]", "[1,5]"), "data_offsets of tensor 'b' are [1, 5]; the tensor before it ends at 0"},
  };
  for (const auto& [header, part] : cases) expect_refused(header, "12345678", part, ":a");
  put(file_with(two("[4,8]", "[0,4]"), std::string("\0\0\0\x40\0\0\x80\x3f", 8)));
  EXPECT_EQ(read_tensor(path() + ":a").values(), std::vector<double>{1}) << "the order of names is not that of data";
}

TEST_F(Safetensors, RefusesEveryTruncationAndExtension) {
  for (std::size_t size = 0; size < golden_file.size(); ++size) {
    put(golden_file.substr(0, size));
    expect_error(ErrorCode::usage, path(), [&] { (void)read_tensor(path()); });
  }
  put(golden_file + '\0');
  expect_error(ErrorCode::usage, "13 bytes of data", [&] { (void)read_tensor(path()); });
}

TEST_F(Safetensors, SurvivesEveryChangedByteOfTheHeader) {
  int accepted = 0;
  for (std::size_t at = 0; at < 8 + golden_header.size(); ++at) {
    for (const char replacement : {'\0', '\n', ' ', '"', '[', ']', '{', '}', ',', ':', '0', '9', '-', '\\', '\xff'}) {
      std::string changed = golden_file;
      changed[at] = replacement;
      put(changed);
      try {
        EXPECT_EQ(read_tensor(path()).size(), 3) << "byte " << at;
        ++accepted;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::usage) << error.what();
      }
    }
  }
  EXPECT_GT(accepted, 0) << "blanks may be other white space, the name another";
}

}  // namespace
}  // namespace tapconv
