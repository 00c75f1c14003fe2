#include "spelling/lists.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "problem/data.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

const ProblemList& list_of(std::string_view name) {
  return *std::ranges::find(problem_lists(), name, &ProblemList::name);
}

/// Of a whole network: multiply-adds, and values of weights and biases of different layers. Layers that are equal hold
/// different values, so each counts.
struct Totals {
  std::size_t problems = 0;
  std::int64_t layers = 0;
  double mac = 0, parameters = 0, byte = 0;
};

Totals totals_of(std::string_view name) {
  Totals totals;
  for (const auto& [unused, problem, count] : list_of(name).problems) {
    const auto times = static_cast<double>(count);
    ++totals.problems;
    totals.layers += count;
    totals.mac += times * work(problem).flop / 2;
    totals.byte += times * work(problem).byte;
    totals.parameters += times * static_cast<double>(element_count(weight_shape(problem)) + bias_count(problem));
  }
  return totals;
}

TEST(Lists, AreThoseOfTheDocument) {
  struct Row {
    std::string list;
    std::size_t problems;
    std::int64_t layers;
    double gflop, gbyte;
  };
  // The table of docs/problem-lists.md.
  const Row rows[] = {{"kernelbench", 35, 35, 8418.47, 92.2}, {"audio", 53, 223, 7882.60, 31.6},
                      {"convnext", 16, 58, 8.91, 0.2},        {"decoder", 14, 40, 2480.16, 5.1},
                      {"genomics", 37, 47, 2274.16, 5.6},     {"resnet50", 23, 53, 8.17, 0.2},
                      {"unet3d", 23, 28, 965.47, 4.1},        {"video", 26, 71, 15241.63, 19.2}};
  ASSERT_EQ(problem_lists().size(), std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    SCOPED_TRACE(rows[i].list);
    EXPECT_EQ(problem_lists()[i].name, rows[i].list);
    EXPECT_NE(problem_lists()[i].about.find("20"), std::string::npos) << "no year of a source";
    const Totals totals = totals_of(rows[i].list);
    EXPECT_EQ(totals.problems, rows[i].problems);
    EXPECT_EQ(totals.layers, rows[i].layers);
    EXPECT_NEAR(2e-9 * totals.mac, rows[i].gflop, 0.005);
    EXPECT_NEAR(1e-9 * totals.byte, rows[i].gbyte, 0.05);
  }
}

TEST(Lists, EveryProblemIsValidAndHasASpelling) {
  for (const ProblemList& list : problem_lists()) {
    for (const auto& [name, problem, count] : list.problems) {
      SCOPED_TRACE(name);
      EXPECT_NO_THROW(validate(problem));
      EXPECT_EQ(parse_problem(spell(problem)), problem) << spell(problem);
      EXPECT_GE(count, 1);
    }
  }
}

TEST(Lists, FilesHoldTheCanonicalSpelling) {
  for (const ProblemList& list : problem_lists()) {
    if (list.name == "kernelbench") continue;
    const nlohmann::json file = read_data("lists/" + list.name + ".json");
    ASSERT_EQ(file.at("problems").size(), list.problems.size());
    for (std::size_t i = 0; i < list.problems.size(); ++i) {
      EXPECT_EQ(file.at("problems")[i].at("problem"), spell(list.problems[i].problem));
    }
  }
}

TEST(Lists, NamesAndProblemsAreDifferent) {
  std::set<std::string> lists;
  for (const ProblemList& list : problem_lists()) {
    EXPECT_TRUE(lists.insert(list.name).second) << list.name;
    std::set<std::string> names, spellings;
    for (const auto& [name, problem, count] : list.problems) {
      SCOPED_TRACE(name);
      EXPECT_TRUE(names.insert(name).second);
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_/"), std::string::npos);
      EXPECT_TRUE(spellings.insert(spell(problem)).second) << "the same problem under two names";
    }
  }
}

TEST(Lists, NetworksHaveFloat32ProblemsInTheDefaultContract) {
  for (const ProblemList& list : problem_lists()) {
    if (list.name == "kernelbench") continue;
    for (const auto& [name, problem, count] : list.problems) {
      SCOPED_TRACE(name);
      EXPECT_EQ(problem.dtype, DType::float32);
      EXPECT_EQ(problem.contract, Contract::fp32);
      EXPECT_EQ(problem.batch, 1);
    }
  }
}

// Parameters of the whole network as its authors' code counts them, less those of layers that are no convolutions.
TEST(Lists, HaveThePublishedParameters) {
  const double batch_norms = 53'120, resnet_linear = 2'049'000;
  EXPECT_EQ(totals_of("resnet50").parameters, 25'557'032 - batch_norms - resnet_linear);
  double layer_norms = 2 * 96 + 2 * (96 + 192 + 384) + 2 * 768, layer_scales = 0;
  for (const auto& [width, blocks] : {std::pair{96, 3}, {192, 3}, {384, 9}, {768, 3}}) {
    layer_norms += 2 * width * blocks;
    layer_scales += width * blocks;
  }
  const double convnext_linear = 769'000;
  EXPECT_EQ(totals_of("convnext").parameters, 28'589'128 - layer_norms - layer_scales - convnext_linear);
  const double group_norms = 23'040, post_quant = 20;
  EXPECT_EQ(totals_of("decoder").parameters, 49'490'179 - group_norms + post_quant);
  const double root_mean_square_norms = 14'400;
  EXPECT_EQ(totals_of("video").parameters, 126'892'531 - root_mean_square_norms);
}

TEST(Lists, HaveThePublishedMultiplyAdds) {
  // torchvision's figures, in 10^9, with the linear layer at the end.
  EXPECT_EQ(std::round((totals_of("resnet50").mac + 2048 * 1000) / 1e6), 4089);
  EXPECT_EQ(std::round((totals_of("convnext").mac + 768 * 1000) / 1e6), 4456);
}

double cube(double value) { return value * value * value; }

// From the architectures, not from lists of their layers: each network's sum over levels.
TEST(Lists, UNet3dHasTheMultiplyAddsOfItsArchitecture) {
  const double width[] = {32, 64, 128, 256, 320, 320};
  double mac = 3 * width[0] * cube(128);
  for (int level = 0; level < 6; ++level) {
    const double voxels = cube(128 >> level), w = width[level];
    mac += 27 * voxels * w * ((level == 0 ? 4 : width[level - 1]) + w);
    if (level < 5) mac += voxels * w * (width[level + 1] + 27 * (2 * w + w));  // each output voxel of `up` has one tap
  }
  EXPECT_EQ(totals_of("unet3d").mac, mac);
}

TEST(Lists, DecoderHasTheMultiplyAddsOfItsArchitecture) {
  const double width[] = {512, 512, 256, 128};
  double mac = 64. * 64 * (4 * 4 + 9 * 4 * 512 + 4 * 512 * 512 + 4 * 9 * 512 * 512), before = 512;
  for (int level = 0; level < 4; ++level) {
    const double w = width[level], pixels = std::pow(64 << level, 2);
    mac += pixels * (9 * (before * w + 5 * w * w) + (before == w ? 0 : before * w));
    if (level < 3) mac += 4 * pixels * 9 * w * w;
    before = w;
  }
  mac += 512. * 512 * 9 * 128 * 3;
  EXPECT_EQ(totals_of("decoder").mac, mac);
}

TEST(Lists, AudioHasTheMultiplyAddsOfItsArchitectures) {
  // EnCodec: per sample at the rate of a level. The decoder mirrors the encoder; a transposed layer makes as many
  // products as the strided one that it mirrors.
  double mac = 0, samples = 240'000, w = 32;
  const auto residual = [&] { return samples * (3 * w * w / 2 + w * w / 2 + w * w); };
  mac += samples * 7 * w * 2;
  for (const int ratio : {2, 4, 5, 8}) {
    mac += 2 * (residual() + samples * 2 * w * 2 * w);
    samples /= ratio;
    w *= 2;
  }
  mac += 2 * samples * 7 * 512 * 128;
  // WaveNet: 30 layers each in encoder and decoder.
  const double notes = 64'000, frames = 125;
  mac += notes * (3 * 128 + 30 * (3 * 128 * 128 + 128 * 128) + 128 * 16);
  mac += notes * (3 * 512 + 512 * 256 + 30 * (3 * 512 * 1024 + 512 * 512 + 512 * 256) + 2 * 256 * 256);
  mac += frames * 16 * (30 * 1024 + 256);
  EXPECT_EQ(totals_of("audio").mac, mac);
}

TEST(Lists, VideoHasTheMultiplyAddsOfItsArchitecture) {
  // Positions of each level, and of the time layers between them.
  const double level[] = {17. * 256 * 256, 17. * 128 * 128, 9. * 64 * 64, 5. * 32 * 32};
  const auto block = [](double in, double out) { return 27 * (in + out) * out + (in == out ? 0 : in * out); };
  double mac = level[0] * 27 * (3 * 96 + 96 * 3);
  mac += level[0] * (2 + 3) * block(96, 96);
  mac += level[1] * (block(96, 192) + (1 + 3) * block(192, 192));
  mac += level[2] * 2 * block(192, 384) + level[2] * (1 + 2) * block(384, 384);
  mac += level[3] * (2 + 2 + 2 + 3) * block(384, 384);
  mac += level[3] * (2 * (384 * 1152 + 384 * 384) + 27 * (384 * 32 + 16 * 384) + 32 * 32 + 16 * 16);
  // One frame at a time: down to half the size, and up to half the channels.
  mac += 9 * (level[1] * 96 * 96 + level[1] / 4 * 192 * 192 + level[2] / 4 * 384 * 384);
  mac += 9 * (level[0] * 192 * 96 + level[1] * 384 * 192 + level[2] * 384 * 192);
  // Along time: down to 8 and 4 frames beside the first, up from 4 and 8.
  mac += 3 * (8. * 64 * 64 * 192 * 192 + 4. * 32 * 32 * 384 * 384);
  mac += 3 * (4. * 32 * 32 + 8. * 64 * 64) * 384 * 768;
  EXPECT_EQ(totals_of("video").mac, mac);
}

TEST(Lists, GenomicsHasTheMultiplyAddsOfItsArchitectures) {
  double mac = 131'072. * 15 * 4 * 288, before = 288, bases = 131'072;
  for (const double w : {339, 399, 470, 554, 652, 768}) {
    bases /= 2;
    mac += bases * 5 * before * w;
    before = w;
  }
  mac += 1024. * 11 * (3 + 1) * 768 * 384 + 896. * (768 * 1536 + 1536 * 5313);
  bases = 196'608;
  mac += bases * (15 * 4 * 768 + 768 * 768);
  before = 768;
  for (const double w : {768, 896, 1024, 1152, 1280, 1536}) {
    bases /= 2;
    mac += bases * (5 * before * w + w * w);
    before = w;
  }
  mac += 896. * (1536 * 3072 + 3072 * 5313);
  EXPECT_EQ(totals_of("genomics").mac, mac);
}

TEST(Lists, HoldWhatTheyAreThereFor) {
  std::map<std::string, std::int64_t> dilations;
  for (const auto& [name, problem, count] : list_of("audio").problems) {
    if (name.starts_with("audio/wavenet_decoder_dilated")) {
      EXPECT_EQ(problem.padding_lo[0], 2 * problem.dilation[0]);
      EXPECT_EQ(problem.padding_hi[0], 0);
      EXPECT_EQ(count, 3);
      dilations[name] = problem.dilation[0];
    }
  }
  EXPECT_EQ(dilations.size(), 10U);
  EXPECT_EQ(dilations.at("audio/wavenet_decoder_dilated512"), 512);
  const auto some = [](std::string_view list, auto&& has) {
    return std::ranges::any_of(list_of(list).problems, [&](const NamedProblem& named) { return has(named.problem); });
  };
  EXPECT_TRUE(some("audio", [](const Problem& p) { return p.padding_mode == PaddingMode::reflect; }));
  EXPECT_TRUE(some("audio", [](const Problem& p) { return p.kind == Kind::transposed && p.stride[0] == 8; }));
  EXPECT_TRUE(some("unet3d", [](const Problem& p) { return p.kind == Kind::transposed && p.rank == 3; }));
  EXPECT_TRUE(some("convnext", [](const Problem& p) { return p.groups == p.in_channels && p.kernel[0] == 7; }));
  EXPECT_TRUE(some("convnext", [](const Problem& p) { return p.activation == Activation::gelu; }));
  for (const Extent kernel : {Extent{3, 3, 3}, Extent{1, 3, 3}, Extent{3, 1, 1}}) {
    EXPECT_TRUE(some("video", [&](const Problem& p) { return p.kernel == kernel; }));
  }
}

TEST(FindNamed, FindsEveryProblem) {
  for (const ProblemList& list : problem_lists()) {
    for (const NamedProblem& named : list.problems) {
      const std::string& name = named.name;
      EXPECT_EQ(find_named(name), &named) << name;
    }
  }
  EXPECT_EQ(parse_problem("Conv2d(3, 64, 7, stride=2, padding=3, bias=False) @ 1x3x224x224"),
            find_named("resnet50/conv1")->problem);
  EXPECT_EQ(find_named("kb56")->problem.kernel, (Extent{5, 7, 1}));
}

TEST(ProblemNames, AreThoseThatAreFound) {
  std::size_t problems = 0;
  for (const ProblemList& list : problem_lists()) problems += list.problems.size();
  const std::vector<std::string_view> names = problem_names();
  EXPECT_EQ(names.size(), problems);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string_view name : names) EXPECT_NE(find_named(name), nullptr) << name;
}

TEST(FindNamed, IsNullForOtherNames) {
  for (const std::string_view name : {"", "/", "resnet50", "resnet50/", "/conv1", "conv1", "kernelbench/kb56", "kb5",
                                      "kb56 ", "resnet50/conv1/", "resnet50/Conv1"}) {
    EXPECT_EQ(find_named(name), nullptr) << name;
  }
}

TEST(FindNamed, IsOneObjectForAllThreads) {
  std::array<const void*, 8> seen{};
  std::vector<std::thread> threads;
  for (auto& address : seen) threads.emplace_back([&address] { address = find_named("convnext/stem"); });
  for (std::thread& thread : threads) thread.join();
  for (const void* address : seen) EXPECT_EQ(address, find_named("convnext/stem"));
}

std::string refusal(std::string_view json) {
  try {
    return "read " + read_list(json, "lists/x.json").name;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    return error.what();
  }
}

TEST(ReadList, RefusesMalformedFilesAsInternalErrors) {
  const auto list = [](const std::string& problem) {
    return R"({"name": "x", "about": "y", "problems": [)" + problem + "]}";
  };
  const std::string good = R"({"name": "a", "problem": "Conv1d(1, 1, 1) @ 1x1x1", "count": 1})";
  EXPECT_EQ(refusal(list(good)), "read x");
  const std::string whole = list(good);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refusal(whole.substr(0, length)).find("lists/x.json is not a list of problems: "), std::string::npos);
  }
  EXPECT_NE(refusal(R"({"about": "y", "problems": []})").find("lists/x.json"), std::string::npos);
  EXPECT_NE(refusal(list(R"({"name": "a", "count": 1})")).find("lists/x.json"), std::string::npos);
  EXPECT_NE(refusal(list(R"({"name": "a", "problem": 3, "count": 1})")).find("lists/x.json"), std::string::npos);
  EXPECT_EQ(refusal(list(R"({"name": "a", "problem": "Conv1d(1, 1, 1) @ 1x1x1", "count": 0})")),
            "lists/x.json: count = 0 of a; valid: 1 or more");
  EXPECT_TRUE(refusal(list(R"({"name": "a", "problem": "Conv1d(1, 1, 2) @ 1x1x1", "count": 1})"))
                  .starts_with("lists/x.json: a: "));
}

}  // namespace
}  // namespace tapconv
