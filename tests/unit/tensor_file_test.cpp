#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tapconv/tensor.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

class TensorFile : public testing::TemporaryFolder {};

const std::vector<float> two = {1, 2};

TEST_F(TensorFile, SuffixDecidesTheFormat) {
  const Tensor tensor({2}, two);
  for (const std::string name :
       {"a.npy", "a.safetensors", "b.safetensors:w", "c:d.npy", "c:d.safetensors", "m:d.safetensors:e:f",
        "g.npy.safetensors", "h.safetensors.npy", "i.safetensors:j.npy", "k.safetensors:l.safetensors"}) {
    write_tensor(path(name), tensor.view());
    EXPECT_EQ(read_tensor(path(name)).values(), (std::vector<double>{1, 2})) << name;
  }
  for (const std::string file : {"b.safetensors", "c:d.npy", "c:d.safetensors", "m:d.safetensors", "g.npy.safetensors",
                                 "h.safetensors.npy", "i.safetensors", "k.safetensors"}) {
    EXPECT_EQ(get(file).starts_with("\x93NUMPY"), file.ends_with(".npy")) << file;
  }
  EXPECT_EQ(entries(), 10);
}

TEST_F(TensorFile, OtherSuffixesAreRefused) {
  const Tensor tensor({2}, two);
  for (const std::string name : {"", "a", "a.NPY", "a.npy:x", "npy", "a.safetensors2", "a.safetensor:x", "a.pt"}) {
    expect_error(ErrorCode::usage, "x.npy, x.safetensors and x.safetensors:name are valid",
                 [&] { (void)read_tensor(path(name)); });
    expect_error(ErrorCode::usage, "is not a file of tensors", [&] { write_tensor(path(name), tensor.view()); });
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(TensorFile, BothFormatsNameWhatCannotBeReadOrWritten) {
  const Tensor tensor({2}, two);
  for (const std::string suffix : {".npy", ".safetensors"}) {
    expect_error(ErrorCode::environment, "cannot open " + path("none" + suffix) + ": No such file",
                 [&] { (void)read_tensor(path("none" + suffix)); });
    expect_error(ErrorCode::environment, "no temporary file can be made in its folder",
                 [&] { write_tensor(path("no/folder" + suffix), tensor.view()); });
    std::filesystem::create_symlink("nowhere", path("link" + suffix));
    expect_error(ErrorCode::environment, "leads nowhere", [&] { write_tensor(path("link" + suffix), tensor.view()); });
  }
  EXPECT_EQ(entries(), 2);
}

/// Longer than the pieces that a file is written in, with runs that divide them and runs that do not.
TEST_F(TensorFile, WritesLargeViewsInTheOrderOfTheirIndices) {
  std::vector<float> values(300'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const TensorView views[] = {
      {values.data(), DType::float32, {300'000}, {}},
      {values.data(), DType::float32, {3, 100'000}, {1, 3}},
      {values.data(), DType::float32, {3, 90'000}, {100'000, 1}},
      {values.data() + 299'999, DType::float32, {299, 1000}, {-1000, -1}},
      {values.data(), DType::float32, {4, 5, 100, 70}, {0, 50'000, 7, 700}},
  };
  for (const TensorView& view : views) {
    const std::vector<double> expected = Tensor(view, nullptr).values();
    for (const std::string name : {"a.npy", "a.safetensors"}) {
      write_tensor(path(name), view);
      const Tensor tensor = read_tensor(path(name));
      EXPECT_EQ(tensor.shape(), view.shape);
      EXPECT_EQ(tensor.strides(), strides_of(view.shape, Layout::contiguous));
      EXPECT_TRUE(tensor.values() == expected) << name;
    }
  }
}

TEST_F(TensorFile, ATensorMayReplaceItsOwnFile) {
  for (const std::string name : {"a.npy", "a.safetensors"}) {
    write_tensor(path(name), Tensor({2, 1}, two).view());
    const Tensor tensor = read_tensor(path(name));
    write_tensor(path(name), {tensor.view().data, tensor.dtype(), {2, 2}, {0, 1}});
    EXPECT_EQ(tensor.values(), (std::vector<double>{1, 2}));
    EXPECT_EQ(read_tensor(path(name)).values(), (std::vector<double>{1, 2, 1, 2}));
  }
}

}  // namespace
}  // namespace tapconv
