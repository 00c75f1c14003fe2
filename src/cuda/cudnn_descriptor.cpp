#include "cuda/cudnn_descriptor.hpp"

#include <array>

#include "cuda/dynamic_library.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda::cudnn {
namespace {

Api load_api() {
  const DynamicLibrary library({"libcudnn.so.9"});
  Api api;
  library.load(api.get_version, "cudnnGetVersion");
  library.load(api.get_error_string, "cudnnGetErrorString");
  library.load(api.get_last_error_string, "cudnnGetLastErrorString");
  library.load(api.create, "cudnnCreate");
  library.load(api.destroy, "cudnnDestroy");
  library.load(api.set_stream, "cudnnSetStream");
  library.load(api.backend_create_descriptor, "cudnnBackendCreateDescriptor");
  library.load(api.backend_destroy_descriptor, "cudnnBackendDestroyDescriptor");
  library.load(api.backend_finalize, "cudnnBackendFinalize");
  library.load(api.backend_set_attribute, "cudnnBackendSetAttribute");
  library.load(api.backend_get_attribute, "cudnnBackendGetAttribute");
  library.load(api.backend_execute, "cudnnBackendExecute");
  return api;
}

ErrorCode error_code(Status status) {
  constexpr int compilation_failed = 4001, host_allocation_failed = 4003, device_allocation_failed = 4004;
  const int value = static_cast<int>(status);
  switch (value) {
    case compilation_failed:
      return ErrorCode::compile;
    case host_allocation_failed:
    case device_allocation_failed:
      return ErrorCode::memory;
  }
  switch (value / 1000) {
    case 2:
      return ErrorCode::internal;
    case 3:
    case 5:
      return ErrorCode::launch;
    default:
      return ErrorCode::environment;
  }
}

const char* name(DescriptorType type) {
  switch (type) {
    case DescriptorType::pointwise:
      return "pointwise";
    case DescriptorType::convolution:
      return "convolution";
    case DescriptorType::engine:
      return "engine";
    case DescriptorType::engine_config:
      return "engine configuration";
    case DescriptorType::engine_heuristic:
      return "engine heuristic";
    case DescriptorType::execution_plan:
      return "execution plan";
    case DescriptorType::knob_choice:
      return "knob choice";
    case DescriptorType::operation_convolution_forward:
    case DescriptorType::operation_convolution_backward_data:
      return "convolution operation";
    case DescriptorType::operation_pointwise:
      return "pointwise operation";
    case DescriptorType::operation_graph:
      return "operation graph";
    case DescriptorType::variant_pack:
      return "variant pack";
    case DescriptorType::tensor:
      return "tensor";
    case DescriptorType::device_properties:
      return "device properties";
  }
  return "unknown";
}

void check(Status status, const char* verb, DescriptorType type, Attribute attribute) {
  if (status == Status::success) return;
  check(status,
        fmt::format("{} attribute {} of the {} descriptor", verb, static_cast<int>(attribute), name(type)).c_str());
}

}  // namespace

const Api& api() {
  static const Api loaded = load_api();
  return loaded;
}

void check(Status status, const char* action) {
  if (status == Status::success) return;
  std::array<char, 2048> reason{};
  api().get_last_error_string(reason.data(), reason.size() - 1);
  fail(error_code(status), "cuDNN cannot {}: {} ({})", action, api().get_error_string(status),
       reason[0] == '\0' ? "no reason given" : reason.data());
}

Descriptor::Descriptor(DescriptorType type) : type_(type) {
  const Status status = api().backend_create_descriptor(type, &pointer_);
  if (status != Status::success) check(status, fmt::format("create a {} descriptor", name(type)).c_str());
}

Descriptor::~Descriptor() {
  if (pointer_ != nullptr) api().backend_destroy_descriptor(pointer_);
}

Status Descriptor::try_finalize() noexcept { return api().backend_finalize(pointer_); }

void Descriptor::finalize() {
  const Status status = try_finalize();
  if (status != Status::success) check(status, fmt::format("finalise the {} descriptor", name(type_)).c_str());
}

void Descriptor::set_raw(Attribute attribute, AttributeType type, std::int64_t count, const void* elements) {
  check(api().backend_set_attribute(pointer_, attribute, type, count, elements), "set", type_, attribute);
}

std::int64_t Descriptor::get_raw(Attribute attribute, AttributeType type, std::int64_t requested,
                                 void* elements) const {
  std::int64_t available = 0;
  check(api().backend_get_attribute(pointer_, attribute, type, requested, &available, elements), "get", type_,
        attribute);
  return available;
}

void Descriptor::get_one(Attribute attribute, AttributeType type, void* element) const {
  const std::int64_t available = get_raw(attribute, type, 1, element);
  if (available != 1) {
    fail(ErrorCode::environment, "cuDNN gives {} values for attribute {} of the {} descriptor; 1 is expected",
         available, static_cast<int>(attribute), name(type_));
  }
}

Descriptor Descriptor::get(Attribute attribute, DescriptorType type) const {
  Descriptor result(type);
  get_one(attribute, AttributeType::backend_descriptor, &result.pointer_);
  return result;
}

std::vector<Descriptor> Descriptor::get_all(Attribute attribute, DescriptorType type) const {
  const std::int64_t count = get_raw(attribute, AttributeType::backend_descriptor, 0, nullptr);
  return count == 0 ? std::vector<Descriptor>() : get_up_to(count, attribute, type);
}

std::vector<Descriptor> Descriptor::get_up_to(std::int64_t limit, Attribute attribute, DescriptorType type) const {
  std::vector<Descriptor> result;
  std::vector<DescriptorPointer> pointers;
  for (std::int64_t i = 0; i < limit; ++i) pointers.push_back(result.emplace_back(type).pointer_);
  const std::int64_t count = get_raw(attribute, AttributeType::backend_descriptor, limit, pointers.data());
  if (count > limit) {
    fail(ErrorCode::environment, "cuDNN gives {} values for attribute {} of the {} descriptor; {} are expected at most",
         count, static_cast<int>(attribute), name(type_), limit);
  }
  while (static_cast<std::int64_t>(result.size()) > count) result.pop_back();
  return result;
}

}  // namespace tapconv::cuda::cudnn
