#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "cuda/cudnn_graph.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cuda::cudnn {
namespace {

using Sizes = std::vector<std::int64_t>;

// Every value that Tapconv declares, under the header's name for it without the prefix.
std::vector<std::pair<std::string, int>> declared_values() {
  const auto value = [](auto enumerator) { return static_cast<int>(enumerator); };
  return {
      {"STATUS_SUCCESS", value(Status::success)},
      {"DATA_FLOAT", value(DataType::float32)},
      {"DATA_DOUBLE", value(DataType::float64)},
      {"DATA_HALF", value(DataType::float16)},
      {"DATA_BFLOAT16", value(DataType::bfloat16)},
      {"CROSS_CORRELATION", value(ConvolutionMode::cross_correlation)},
      {"POINTWISE_ADD", value(PointwiseMode::add)},
      {"HEUR_MODE_A", value(HeuristicMode::a)},
      {"HEUR_MODE_B", value(HeuristicMode::b)},
      {"HEUR_MODE_FALLBACK", value(HeuristicMode::fallback)},
      {"NUMERICAL_NOTE_TENSOR_CORE", value(NumericalNote::tensor_core)},
      {"NUMERICAL_NOTE_DOWN_CONVERT_INPUTS", value(NumericalNote::down_convert_inputs)},
      {"NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION", value(NumericalNote::reduced_precision_reduction)},
      {"NUMERICAL_NOTE_FFT", value(NumericalNote::fft)},
      {"NUMERICAL_NOTE_NONDETERMINISTIC", value(NumericalNote::nondeterministic)},
      {"NUMERICAL_NOTE_WINOGRAD", value(NumericalNote::winograd)},
      {"NUMERICAL_NOTE_WINOGRAD_TILE_4x4", value(NumericalNote::winograd_tile_4x4)},
      {"NUMERICAL_NOTE_WINOGRAD_TILE_6x6", value(NumericalNote::winograd_tile_6x6)},
      {"NUMERICAL_NOTE_WINOGRAD_TILE_13x13", value(NumericalNote::winograd_tile_13x13)},
      {"BEHAVIOR_NOTE_RUNTIME_COMPILATION", value(BehaviorNote::runtime_compilation)},
      {"BACKEND_POINTWISE_DESCRIPTOR", value(DescriptorType::pointwise)},
      {"BACKEND_CONVOLUTION_DESCRIPTOR", value(DescriptorType::convolution)},
      {"BACKEND_ENGINE_DESCRIPTOR", value(DescriptorType::engine)},
      {"BACKEND_ENGINECFG_DESCRIPTOR", value(DescriptorType::engine_config)},
      {"BACKEND_ENGINEHEUR_DESCRIPTOR", value(DescriptorType::engine_heuristic)},
      {"BACKEND_EXECUTION_PLAN_DESCRIPTOR", value(DescriptorType::execution_plan)},
      {"BACKEND_KNOB_CHOICE_DESCRIPTOR", value(DescriptorType::knob_choice)},
      {"BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR", value(DescriptorType::operation_convolution_forward)},
      {"BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR",
       value(DescriptorType::operation_convolution_backward_data)},
      {"BACKEND_OPERATION_POINTWISE_DESCRIPTOR", value(DescriptorType::operation_pointwise)},
      {"BACKEND_OPERATIONGRAPH_DESCRIPTOR", value(DescriptorType::operation_graph)},
      {"BACKEND_VARIANT_PACK_DESCRIPTOR", value(DescriptorType::variant_pack)},
      {"BACKEND_TENSOR_DESCRIPTOR", value(DescriptorType::tensor)},
      {"BACKEND_DEVICEPROP_DESCRIPTOR", value(DescriptorType::device_properties)},
      {"TYPE_HANDLE", value(AttributeType::handle)},
      {"TYPE_DATA_TYPE", value(AttributeType::data_type)},
      {"TYPE_BOOLEAN", value(AttributeType::boolean)},
      {"TYPE_INT64", value(AttributeType::int64)},
      {"TYPE_FLOAT", value(AttributeType::float32)},
      {"TYPE_DOUBLE", value(AttributeType::float64)},
      {"TYPE_VOID_PTR", value(AttributeType::void_pointer)},
      {"TYPE_CONVOLUTION_MODE", value(AttributeType::convolution_mode)},
      {"TYPE_HEUR_MODE", value(AttributeType::heuristic_mode)},
      {"TYPE_KNOB_TYPE", value(AttributeType::knob_type)},
      {"TYPE_NUMERICAL_NOTE", value(AttributeType::numerical_note)},
      {"TYPE_POINTWISE_MODE", value(AttributeType::pointwise_mode)},
      {"TYPE_BACKEND_DESCRIPTOR", value(AttributeType::backend_descriptor)},
      {"TYPE_BEHAVIOR_NOTE", value(AttributeType::behavior_note)},
      {"TYPE_CHAR", value(AttributeType::character)},
      {"ATTR_POINTWISE_MODE", value(Attribute::pointwise_mode)},
      {"ATTR_POINTWISE_MATH_PREC", value(Attribute::pointwise_math_precision)},
      {"ATTR_CONVOLUTION_COMP_TYPE", value(Attribute::convolution_compute_type)},
      {"ATTR_CONVOLUTION_CONV_MODE", value(Attribute::convolution_mode)},
      {"ATTR_CONVOLUTION_DILATIONS", value(Attribute::convolution_dilations)},
      {"ATTR_CONVOLUTION_FILTER_STRIDES", value(Attribute::convolution_filter_strides)},
      {"ATTR_CONVOLUTION_POST_PADDINGS", value(Attribute::convolution_post_paddings)},
      {"ATTR_CONVOLUTION_PRE_PADDINGS", value(Attribute::convolution_pre_paddings)},
      {"ATTR_CONVOLUTION_SPATIAL_DIMS", value(Attribute::convolution_spatial_dims)},
      {"ATTR_ENGINEHEUR_MODE", value(Attribute::engine_heuristic_mode)},
      {"ATTR_ENGINEHEUR_OPERATION_GRAPH", value(Attribute::engine_heuristic_operation_graph)},
      {"ATTR_ENGINEHEUR_RESULTS", value(Attribute::engine_heuristic_results)},
      {"ATTR_ENGINEHEUR_DEVICEPROP", value(Attribute::engine_heuristic_device_properties)},
      {"ATTR_ENGINECFG_ENGINE", value(Attribute::engine_config_engine)},
      {"ATTR_ENGINECFG_KNOB_CHOICES", value(Attribute::engine_config_knob_choices)},
      {"ATTR_EXECUTION_PLAN_HANDLE", value(Attribute::execution_plan_handle)},
      {"ATTR_EXECUTION_PLAN_ENGINE_CONFIG", value(Attribute::execution_plan_engine_config)},
      {"ATTR_EXECUTION_PLAN_WORKSPACE_SIZE", value(Attribute::execution_plan_workspace_size)},
      {"ATTR_EXECUTION_PLAN_DEVICEPROP", value(Attribute::execution_plan_device_properties)},
      {"ATTR_KNOB_CHOICE_KNOB_TYPE", value(Attribute::knob_choice_type)},
      {"ATTR_KNOB_CHOICE_KNOB_VALUE", value(Attribute::knob_choice_value)},
      {"ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA", value(Attribute::operation_convolution_forward_alpha)},
      {"ATTR_OPERATION_CONVOLUTION_FORWARD_BETA", value(Attribute::operation_convolution_forward_beta)},
      {"ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC", value(Attribute::operation_convolution_forward_convolution)},
      {"ATTR_OPERATION_CONVOLUTION_FORWARD_W", value(Attribute::operation_convolution_forward_w)},
      {"ATTR_OPERATION_CONVOLUTION_FORWARD_X", value(Attribute::operation_convolution_forward_x)},
      {"ATTR_OPERATION_CONVOLUTION_FORWARD_Y", value(Attribute::operation_convolution_forward_y)},
      {"ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA", value(Attribute::operation_convolution_backward_data_alpha)},
      {"ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA", value(Attribute::operation_convolution_backward_data_beta)},
      {"ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC",
       value(Attribute::operation_convolution_backward_data_convolution)},
      {"ATTR_OPERATION_CONVOLUTION_BWD_DATA_W", value(Attribute::operation_convolution_backward_data_w)},
      {"ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX", value(Attribute::operation_convolution_backward_data_dx)},
      {"ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY", value(Attribute::operation_convolution_backward_data_dy)},
      {"ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR", value(Attribute::operation_pointwise_descriptor)},
      {"ATTR_OPERATION_POINTWISE_XDESC", value(Attribute::operation_pointwise_x)},
      {"ATTR_OPERATION_POINTWISE_BDESC", value(Attribute::operation_pointwise_b)},
      {"ATTR_OPERATION_POINTWISE_YDESC", value(Attribute::operation_pointwise_y)},
      {"ATTR_OPERATIONGRAPH_HANDLE", value(Attribute::operation_graph_handle)},
      {"ATTR_OPERATIONGRAPH_OPS", value(Attribute::operation_graph_operations)},
      {"ATTR_TENSOR_BYTE_ALIGNMENT", value(Attribute::tensor_byte_alignment)},
      {"ATTR_TENSOR_DATA_TYPE", value(Attribute::tensor_data_type)},
      {"ATTR_TENSOR_DIMENSIONS", value(Attribute::tensor_dimensions)},
      {"ATTR_TENSOR_STRIDES", value(Attribute::tensor_strides)},
      {"ATTR_TENSOR_UNIQUE_ID", value(Attribute::tensor_unique_id)},
      {"ATTR_TENSOR_IS_VIRTUAL", value(Attribute::tensor_is_virtual)},
      {"ATTR_VARIANT_PACK_UNIQUE_IDS", value(Attribute::variant_pack_unique_ids)},
      {"ATTR_VARIANT_PACK_DATA_POINTERS", value(Attribute::variant_pack_data_pointers)},
      {"ATTR_VARIANT_PACK_WORKSPACE", value(Attribute::variant_pack_workspace)},
      {"ATTR_ENGINE_GLOBAL_INDEX", value(Attribute::engine_global_index)},
      {"ATTR_ENGINE_NUMERICAL_NOTE", value(Attribute::engine_numerical_note)},
      {"ATTR_ENGINE_BEHAVIOR_NOTE", value(Attribute::engine_behavior_note)},
      {"ATTR_DEVICEPROP_JSON_REPRESENTATION", value(Attribute::device_properties_json)},
  };
}

TEST(CudnnApiTest, ValuesAreThoseOfTheHeader) {
  const char* home = std::getenv("CUDA_HOME");
  std::ifstream file(std::string(home != nullptr ? home : "/usr/local/cuda") + "/include/cudnn_graph.h");
  if (!file) GTEST_SKIP() << "cuDNN's header cudnn_graph.h is not installed with CUDA";
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::map<std::string, int> header;
  const std::regex enumerator(R"(\bCUDNN_(\w+)(?:\s+CUDNN_DEPRECATED_ENUM)?\s*=\s*(\d+))");
  for (std::sregex_iterator match(text.begin(), text.end(), enumerator), end; match != end; ++match) {
    header.emplace((*match)[1], std::stoi((*match)[2]));
  }
  for (const auto& [name, value] : declared_values()) {
    ASSERT_TRUE(header.contains(name)) << "CUDNN_" << name;
    EXPECT_EQ(value, header.at(name)) << "CUDNN_" << name;
  }
}

// What follows asks the library itself; none of it needs a device.
class CudnnLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      static_cast<void>(api());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(CudnnLibraryTest, ErrorsNameTheDescriptorAndTheReason) {
  Descriptor tensor(DescriptorType::tensor);
  try {
    tensor.finalize();
    FAIL() << "a tensor without sizes was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_NE(std::string(error.what()).find("finalise the tensor descriptor: CUDNN_STATUS_BAD_PARAM"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(CudnnLibraryTest, RefusesAnAttributeOfTheWrongType) {
  Descriptor tensor(DescriptorType::tensor);
  EXPECT_THROW(tensor.set(Attribute::tensor_unique_id, 1.0f), Error);
  EXPECT_THROW(tensor.set(Attribute::convolution_dilations, Sizes{1, 1}), Error);
}

TEST_F(CudnnLibraryTest, VariantPacksNeedNoWorkspace) {
  alignas(byte_alignment) static float memory[4];
  const Pointers pointers{memory, memory, memory, memory, nullptr};
  EXPECT_NO_THROW(static_cast<void>(variant_pack(pointers, false)));
  EXPECT_NO_THROW(static_cast<void>(variant_pack(pointers, true)));
}

// Heuristics and execution plans for an H200 that need not be present.
class CudnnHeuristicsTest : public CudnnLibraryTest {
 protected:
  void SetUp() override {
    CudnnLibraryTest::SetUp();
    if (IsSkipped()) return;
    constexpr std::string_view properties = R"("schemaVersion": 1, "deviceName": "NVIDIA H200", "deviceVer": 900,
        "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0, "multiProcessorCount": 132, "warpSize": 32,
        "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
        "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
        "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
        "reservedSharedMemoryPerBlock": 1024, "l2CacheSize": 62914560, "totalGlobalMem": 150000000000,
        "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "isTccDriver": 0, "supportCoopLaunch": 1)";
    try {
      target_ = Target::described(fmt::format("{{\"cudnnVersion\": {}, {}}}", api().get_version(), properties));
    } catch (const Error& error) {
      GTEST_SKIP() << "this cuDNN does not plan for an absent device: " << error.what();
    }
  }

  std::vector<Offer> ask(const Problem& problem, const CudnnChoice& choice) const {
    return offers(target_, Graph(target_, problem, choice));
  }

  Target target_;
};

TEST_F(CudnnHeuristicsTest, OffersEveryConfigurationOnceInTheOrderOfTheModes) {
  const std::vector<Offer> found = ask(parse_problem("Conv2d(64, 64, 3, padding=1, bias=False) @ 16x64x56x56"), {});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().heuristic, CudnnHeuristic::a);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                             [](const Offer& a, const Offer& b) { return a.heuristic < b.heuristic; }));
  std::set<std::string> names;
  for (const Offer& offer : found) names.insert(offer.name);
  EXPECT_EQ(names.size(), found.size());
  // One engine with several choices of its knobs shows that the knobs are read.
  const std::regex pattern(R"(engine (\d+) \{(\d+=-?\d+(,\d+=-?\d+)*)?\})");
  std::set<std::string> engines;
  for (const std::string& name : names) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(name, match, pattern)) << name;
    engines.insert(match[1]);
  }
  EXPECT_LT(engines.size(), names.size());
}

TEST_F(CudnnHeuristicsTest, WithoutTensorCoresSomethingIsLeft) {
  CudnnChoice exact;
  exact.allow_tensor_cores = false;
  const std::vector<Offer> found = ask(parse_problem("Conv2d(64, 64, 3, padding=1, bias=False) @ 16x64x56x56"), exact);
  const auto kept =
      std::count_if(found.begin(), found.end(), [&](const Offer& offer) { return allowed(offer.notes, exact); });
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, static_cast<std::ptrdiff_t>(found.size()));
}

TEST_F(CudnnHeuristicsTest, PlansOfEveryShapeAndLayoutFinalise) {
  std::vector<Problem> problems{
      parse_problem(
          "Conv2d(6, 4, (3, 2), stride=(2, 1), padding=((1, 3), (0, 2)), groups=2, dilation=(1, 2)) @ 2x6x7x9"),
      parse_problem("Conv1d(64, 128, 3, stride=3, dilation=4) @ 4x64x5000"),
      parse_problem("Conv2d(64, 64, 3, padding=1, groups=64) @ 16x64x112x112"),
      parse_problem("Conv3d(3, 64, (3, 5, 7), padding=1) @ 4x3x16x64x64"),
      parse_problem("Conv2d(64, 64, 3) @ 64x64x1024x1024"),  // more than 2^32 elements
      parse_problem("Conv1d(1, 1, 1) @ 1x1x1"),
      parse_problem("ConvTranspose1d(32, 64, 5, stride=2, output_padding=1, dilation=2) @ 4x32x500"),
      parse_problem("ConvTranspose2d(64, 32, 3, stride=2, padding=1, output_padding=1) @ 8x64x28x28"),
      parse_problem("ConvTranspose2d(64, 64, 3, groups=64) @ 8x64x28x28"),
      parse_problem("ConvTranspose3d(16, 16, 3, stride=2, padding=1, groups=4) @ 4x16x8x8x8"),
  };
  for (Problem& problem : problems) {
    for (const CudnnLayout layout : {CudnnLayout::contiguous, CudnnLayout::channels_last}) {
      for (const CudnnRank1 rank1 : {CudnnRank1::height_one, CudnnRank1::width_one}) {
        for (const bool bias : {false, true}) {
          problem.bias = bias;
          const CudnnChoice choice{layout, rank1};
          const Graph graph(target_, problem, choice);
          EXPECT_EQ(graph.adds_bias(), bias);
          int finalised = 0;
          for (const Offer& offer : offers(target_, graph)) {
            try {
              const Descriptor plan = execution_plan(target_, offer.configuration);
              EXPECT_GE(plan.get<std::int64_t>(Attribute::execution_plan_workspace_size), 0) << offer.name;
              ++finalised;
            } catch (const Error&) {  // heuristics may offer what an engine refuses
            }
          }
          // cuDNN 9 fuses no addition into backward-data: the bias is added after.
          if (bias && problem.kind == Kind::transposed) continue;
          EXPECT_GT(finalised, 0) << spell(problem);
        }
      }
    }
  }
}

TEST_F(CudnnHeuristicsTest, PlansOfEveryTypeFinalise) {
  for (const std::string text : {"Conv2d(64, 64, 3, padding=1, dtype={}) @ 16x64x56x56",
                                 "ConvTranspose2d(64, 32, 3, stride=2, padding=1, dtype={}) @ 8x64x28x28"}) {
    for (const DType dtype : all_dtypes) {
      for (const bool bias : {false, true}) {
        Problem problem = parse_problem(fmt::format(fmt::runtime(text), name(dtype)));
        problem.bias = bias;
        const CudnnChoice choice{.layout = CudnnLayout::channels_last};
        int finalised = 0;
        for (const Offer& offer : ask(problem, choice)) {
          try {
            static_cast<void>(execution_plan(target_, offer.configuration));
            ++finalised;
          } catch (const Error&) {  // heuristics may offer what an engine refuses
          }
        }
        if (bias && problem.kind == Kind::transposed) continue;
        EXPECT_GT(finalised, 0) << spell(problem);
      }
    }
  }
}

}  // namespace
}  // namespace tapconv::cuda::cudnn
