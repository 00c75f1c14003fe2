#pragma once

#include <cstddef>
#include <cstdint>

/// The part of cuDNN 9's C backend interface that Tapconv uses, declared here so that no cuDNN header is needed to
/// build. Names follow cuDNN's, without its prefixes; values are cuDNN's.
namespace tapconv::cuda::cudnn {

using Handle = struct HandleTag*;
using DescriptorPointer = struct DescriptorTag*;

enum class Status : int { success = 0 };  ///< others: thousands are the category, see check()

enum class DataType : int { float32 = 0, float64 = 1, float16 = 2, bfloat16 = 9 };
enum class ConvolutionMode : int { cross_correlation = 1 };
enum class PointwiseMode : int { add = 0 };
enum class HeuristicMode : int { b = 1, fallback = 2, a = 3 };
enum class KnobType : int {};

enum class NumericalNote : int {
  tensor_core = 0,
  down_convert_inputs = 1,
  reduced_precision_reduction = 2,
  fft = 3,
  nondeterministic = 4,
  winograd = 5,
  winograd_tile_4x4 = 6,
  winograd_tile_6x6 = 7,
  winograd_tile_13x13 = 8,
};

enum class BehaviorNote : int { runtime_compilation = 0 };

enum class DescriptorType : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engine_config = 3,
  engine_heuristic = 4,
  execution_plan = 5,
  knob_choice = 7,
  operation_convolution_forward = 10,
  operation_convolution_backward_data = 12,
  operation_pointwise = 13,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
  device_properties = 38,
};

enum class AttributeType : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  float32 = 4,
  float64 = 5,
  void_pointer = 6,
  convolution_mode = 7,
  heuristic_mode = 8,
  knob_type = 9,
  numerical_note = 11,
  pointwise_mode = 14,
  backend_descriptor = 15,
  behavior_note = 19,
  character = 24,
};

enum class Attribute : int {
  pointwise_mode = 0,
  pointwise_math_precision = 1,

  convolution_compute_type = 100,
  convolution_mode = 101,
  convolution_dilations = 102,
  convolution_filter_strides = 103,
  convolution_post_paddings = 104,
  convolution_pre_paddings = 105,
  convolution_spatial_dims = 106,

  engine_heuristic_mode = 200,
  engine_heuristic_operation_graph = 201,
  engine_heuristic_results = 202,
  engine_heuristic_device_properties = 204,

  engine_config_engine = 300,
  engine_config_knob_choices = 302,

  execution_plan_handle = 400,
  execution_plan_engine_config = 401,
  execution_plan_workspace_size = 402,
  execution_plan_device_properties = 407,

  knob_choice_type = 600,
  knob_choice_value = 601,

  operation_convolution_forward_alpha = 700,
  operation_convolution_forward_beta = 701,
  operation_convolution_forward_convolution = 702,
  operation_convolution_forward_w = 703,
  operation_convolution_forward_x = 704,
  operation_convolution_forward_y = 705,

  operation_convolution_backward_data_alpha = 706,
  operation_convolution_backward_data_beta = 707,
  operation_convolution_backward_data_convolution = 708,
  operation_convolution_backward_data_w = 709,
  operation_convolution_backward_data_dx = 710,
  operation_convolution_backward_data_dy = 711,

  operation_pointwise_descriptor = 750,
  operation_pointwise_x = 751,
  operation_pointwise_b = 752,
  operation_pointwise_y = 753,

  operation_graph_handle = 800,
  operation_graph_operations = 801,

  tensor_byte_alignment = 900,
  tensor_data_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_unique_id = 906,
  tensor_is_virtual = 907,

  variant_pack_unique_ids = 1000,
  variant_pack_data_pointers = 1001,
  variant_pack_workspace = 1003,

  engine_global_index = 1301,
  engine_numerical_note = 1303,
  engine_behavior_note = 1305,

  device_properties_json = 2702,
};

/// cuDNN's functions, under their names without the prefix.
struct Api {
  std::size_t (*get_version)();
  const char* (*get_error_string)(Status);
  void (*get_last_error_string)(char* message, std::size_t max_size);
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*set_stream)(Handle, void* stream);
  Status (*backend_create_descriptor)(DescriptorType, DescriptorPointer*);
  Status (*backend_destroy_descriptor)(DescriptorPointer);
  Status (*backend_finalize)(DescriptorPointer);
  Status (*backend_set_attribute)(DescriptorPointer, Attribute, AttributeType, std::int64_t count,
                                  const void* elements);
  Status (*backend_get_attribute)(DescriptorPointer, Attribute, AttributeType, std::int64_t requested,
                                  std::int64_t* available, void* elements);
  Status (*backend_execute)(Handle, DescriptorPointer execution_plan, DescriptorPointer variant_pack);
};

/// The functions of cuDNN 9, opened on the first call that succeeds and kept for the life of the process. Throws
/// Error{environment} if the library is missing.
[[nodiscard]] const Api& api();

/// Whether `status` says that cuDNN does not support what was asked (as opposed to a failure).
[[nodiscard]] constexpr bool not_supported(Status status) noexcept { return static_cast<int>(status) / 1000 == 3; }

/// Throws unless `status` is success: an Error whose message is "cuDNN cannot <action>: <status> (<cuDNN's reason>)".
/// Its code is `environment` for an unusable library or a failure inside cuDNN, `internal` for a parameter that cuDNN
/// rejects, `compile` and `memory` where cuDNN says so, `launch` for what is unsupported or failed to run.
void check(Status status, const char* action);

}  // namespace tapconv::cuda::cudnn
