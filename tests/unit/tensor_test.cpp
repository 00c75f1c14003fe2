#include "tapconv/tensor.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "problem/tensor_runs.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;
using Sizes = std::vector<std::int64_t>;

const std::vector<float> six = {1, 2, 3, 4, 5, 6};

/// All elements by the definition of a view.
std::vector<double> by_definition(const TensorView& view) {
  std::vector<double> values;
  Sizes index(view.shape.size());
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
    values.push_back(load_element(view.data, view.dtype, offset));
    std::size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == view.shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return values;
  }
}

TEST(Strides, OfBothLayouts) {
  EXPECT_EQ(strides_of(Sizes{}, Layout::contiguous), Sizes{});
  EXPECT_EQ(strides_of(Sizes{5}, Layout::channels_last), Sizes{1});
  EXPECT_EQ(strides_of(Sizes{2, 3}, Layout::channels_last), (Sizes{3, 1}));
  EXPECT_EQ(strides_of(Sizes{2, 3, 4, 5}, Layout::contiguous), (Sizes{60, 20, 5, 1}));
  EXPECT_EQ(strides_of(Sizes{2, 3, 4}, Layout::channels_last), (Sizes{12, 1, 3}));
  EXPECT_EQ(strides_of(Sizes{2, 3, 4, 5}, Layout::channels_last), (Sizes{60, 1, 15, 3}));
  EXPECT_EQ(strides_of(Sizes{2, 3, 4, 5, 6}, Layout::channels_last), (Sizes{360, 1, 90, 18, 3}));
  EXPECT_EQ(name(Layout::contiguous), "contiguous");
  EXPECT_EQ(name(Layout::channels_last), "channels_last");
  expect_error(ErrorCode::usage, "63 bits", [] { (void)strides_of(Sizes{1LL << 32, 1LL << 32}, Layout::contiguous); });
  expect_error(ErrorCode::usage, "dimension of 0", [] { (void)strides_of(Sizes{4, 0}, Layout::channels_last); });
}

TEST(Tensor, DefaultIsNone) {
  const Tensor tensor;
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_TRUE(tensor.shape().empty());
  EXPECT_TRUE(tensor.values().empty());
  EXPECT_EQ(tensor.view().data, nullptr);
}

TEST(Tensor, StartsWithZerosAndIsWritten) {
  for (const DType dtype : all_dtypes) {
    Tensor tensor(dtype, {2, 3});
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(tensor.size(), 6);
    EXPECT_EQ(tensor.strides(), (Sizes{3, 1}));
    EXPECT_EQ(tensor.values(), std::vector<double>(6, 0.0));
    const MutableTensorView view = tensor.mutable_view();
    EXPECT_EQ(view.data, tensor.view().data);
    EXPECT_EQ(view.dtype, dtype);
    EXPECT_EQ(view.shape, tensor.shape());
    EXPECT_EQ(view.strides, tensor.strides());
    store_element(view.data, dtype, 4, -2.5);
    EXPECT_EQ(tensor.values(), (std::vector<double>{0, 0, 0, 0, -2.5, 0}));
    const Tensor copy = tensor;
    EXPECT_EQ(copy.view().data, view.data) << "copies share the memory";
  }
}

TEST(Tensor, HoldsValues) {
  const Tensor tensor({3, 2}, six);
  EXPECT_EQ(tensor.dtype(), DType::float32);
  EXPECT_EQ(tensor.values(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  const Tensor scalar({}, std::vector<float>{7});
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.values(), std::vector<double>{7});
  expect_error(ErrorCode::usage, "6 values were given for a shape of 8", [] { (void)Tensor({2, 4}, six); });
}

TEST(Tensor, RefusesHostileShapes) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::pair<Sizes, std::string> cases[] = {
      {{0, 6}, "shape (0, 6) has a dimension of 0; at least 1"},
      {{-2, -3}, "dimension of -2"},
      {{largest}, "63 bits"},
      {{1LL << 61}, "63 bits"},
      {{1LL << 32, 1LL << 32}, "63 bits"},
      {{largest, largest, largest}, "63 bits"},
      {Sizes(65, 1), "65 dimensions; at most 64"},
  };
  for (const auto& [shape, part] : cases)
    expect_error(ErrorCode::usage, part, [&, &refused = shape] { (void)Tensor(DType::float32, refused); });
}

TEST(Tensor, SaysThatMemoryIsShort) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer ends the process instead";
#endif
#endif
  expect_error(ErrorCode::memory, "no memory for a tensor of 2305843009213693952 bytes",
               [] { (void)Tensor(DType::float32, {1LL << 59}); });
}

TEST(Tensor, SharesTheMemoryOfAnOwner) {
  auto owner = std::make_shared<std::vector<float>>(six);
  const std::weak_ptr<std::vector<float>> watch = owner;
  const TensorView view{owner->data(), DType::float32, {2, 3}, {}};
  {
    Tensor tensor(view, std::move(owner));
    EXPECT_EQ(tensor.view().data, view.data);
    EXPECT_EQ(tensor.strides(), (Sizes{3, 1}));
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(tensor.values(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    expect_error(ErrorCode::internal, "another owner", [&] { (void)tensor.mutable_view(); });
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, FollowsAnyStrides) {
  const auto values = [](Sizes shape, Sizes strides, std::int64_t start) {
    return Tensor({six.data() + start, DType::float32, std::move(shape), std::move(strides)}, nullptr).values();
  };
  EXPECT_EQ(values({3, 2}, {1, 3}, 0), (std::vector<double>{1, 4, 2, 5, 3, 6})) << "transposed";
  EXPECT_EQ(values({6}, {-1}, 5), (std::vector<double>{6, 5, 4, 3, 2, 1})) << "reversed";
  EXPECT_EQ(values({2, 3}, {0, 2}, 0), (std::vector<double>{1, 3, 5, 1, 3, 5})) << "repeated";
  EXPECT_EQ(values({2, 2}, {1, 1}, 1), (std::vector<double>{2, 3, 3, 4})) << "overlapping";
  EXPECT_EQ(values({1, 2, 1, 3, 1}, {77, 3, -5, 1, 9}, 0), (std::vector<double>{1, 2, 3, 4, 5, 6})) << "unit axes";
}

TEST(Tensor, RefusesHostileViews) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::pair<TensorView, std::string> cases[] = {
      {{nullptr, DType::float32, {2}, {}}, "data is null"},
      {{six.data(), DType::float32, {2, 0}, {}}, "dimension of 0"},
      {{six.data(), DType::float32, {2}, {1, 1}}, "strides are (1, 1) for a shape of (2,)"},
      {{six.data(), DType::float32, {2}, {1LL << 61}}, "reach further than 63 bits"},
      {{six.data(), DType::float32, {2}, {least}}, "reach further"},
      {{six.data(), DType::float32, {1}, {least}}, "reach further"},
      {{six.data(), DType::float16, {2, 2}, {1LL << 60, -(1LL << 60)}}, "reach further"},
  };
  for (const auto& [view, part] : cases)
    expect_error(ErrorCode::usage, part, [&, &refused = view] { (void)Tensor(refused, nullptr); });
}

TEST(TensorRuns, AreAsLongAsTheStridesAllow) {
  const auto runs = [](const Sizes& shape, const Sizes& strides) {
    std::vector<Sizes> found;
    for_each_run(shape, strides, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
      found.push_back({offset, count, stride});
    });
    return found;
  };
  EXPECT_EQ(runs({}, {}), (std::vector<Sizes>{{0, 1, 1}}));
  EXPECT_EQ(runs({1, 1}, {9, 9}), (std::vector<Sizes>{{0, 1, 1}}));
  EXPECT_EQ(runs({2, 3, 4}, {12, 4, 1}), (std::vector<Sizes>{{0, 24, 1}}));
  EXPECT_EQ(runs({2, 3, 4}, {24, 8, 2}), (std::vector<Sizes>{{0, 24, 2}}));
  EXPECT_EQ(runs({2, 3, 4}, {20, 4, 1}), (std::vector<Sizes>{{0, 12, 1}, {20, 12, 1}}));
  EXPECT_EQ(runs({2, 2, 2}, {1, 2, -4}), (std::vector<Sizes>{{0, 2, -4}, {2, 2, -4}, {1, 2, -4}, {3, 2, -4}}));
}

/// Random views with strides of any sign.
TEST(Tensor, AgreesWithTheDefinitionOnRandomViews) {
  std::mt19937 random(3);
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  Tensor memory(DType::float16, {4096});
  for (int i = 0; i < 4096; ++i) store_element(memory.mutable_view().data, DType::float16, i, i / 2.0);
  for (int round = 0; round < 2000; ++round) {
    TensorView view{static_cast<const std::uint16_t*>(memory.view().data) + 2048, DType::float16, {}, {}};
    for (std::int64_t rank = below(6); rank > 0; --rank) {
      view.shape.push_back(1 + below(4));
      view.strides.push_back(below(200) - 100);
    }
    ASSERT_EQ(Tensor(view, nullptr).values(), by_definition(view));
  }
}

}  // namespace
}  // namespace tapconv
