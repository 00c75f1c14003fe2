#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cuda/cudnn_api.hpp"

namespace tapconv::cuda::cudnn {

/// The tag by which cuDNN knows elements of type T.
template <class T>
inline constexpr AttributeType attribute_type = T::has_no_attribute_type;
template <>
inline constexpr AttributeType attribute_type<Handle> = AttributeType::handle;
template <>
inline constexpr AttributeType attribute_type<DataType> = AttributeType::data_type;
template <>
inline constexpr AttributeType attribute_type<bool> = AttributeType::boolean;
template <>
inline constexpr AttributeType attribute_type<std::int64_t> = AttributeType::int64;
template <>
inline constexpr AttributeType attribute_type<float> = AttributeType::float32;
template <>
inline constexpr AttributeType attribute_type<double> = AttributeType::float64;
template <>
inline constexpr AttributeType attribute_type<void*> = AttributeType::void_pointer;
template <>
inline constexpr AttributeType attribute_type<ConvolutionMode> = AttributeType::convolution_mode;
template <>
inline constexpr AttributeType attribute_type<HeuristicMode> = AttributeType::heuristic_mode;
template <>
inline constexpr AttributeType attribute_type<KnobType> = AttributeType::knob_type;
template <>
inline constexpr AttributeType attribute_type<NumericalNote> = AttributeType::numerical_note;
template <>
inline constexpr AttributeType attribute_type<PointwiseMode> = AttributeType::pointwise_mode;
template <>
inline constexpr AttributeType attribute_type<DescriptorPointer> = AttributeType::backend_descriptor;
template <>
inline constexpr AttributeType attribute_type<BehaviorNote> = AttributeType::behavior_note;
template <>
inline constexpr AttributeType attribute_type<char> = AttributeType::character;

/// Owns one backend descriptor. cuDNN does not promise to copy what a descriptor refers to, so a descriptor given to
/// another one must outlive it. Every member throws as check() does.
class Descriptor {
 public:
  explicit Descriptor(DescriptorType type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)), type_(other.type_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(type_, other.type_);
    return *this;
  }

  template <class T>
  void set_all(Attribute attribute, std::span<const T> values) {
    set_raw(attribute, attribute_type<T>, static_cast<std::int64_t>(values.size()), values.data());
  }
  template <class T>
  void set(Attribute attribute, const std::vector<T>& values) {
    set_all<T>(attribute, values);
  }
  template <class T>
  void set(Attribute attribute, T value) {
    set_raw(attribute, attribute_type<T>, 1, &value);
  }
  void set(Attribute attribute, const Descriptor& value) { set(attribute, value.pointer_); }

  /// No attribute can be set from here on; only a finalised descriptor can be referred to or asked.
  void finalize();
  /// The same, but returns what cuDNN answers.
  [[nodiscard]] Status try_finalize() noexcept;

  /// The single value of `attribute`.
  template <class T>
  [[nodiscard]] T get(Attribute attribute) const {
    T value{};
    get_one(attribute, attribute_type<T>, &value);
    return value;
  }
  /// Every value of `attribute`, however many.
  template <class T>
  [[nodiscard]] std::vector<T> get_all(Attribute attribute) const {
    std::vector<T> values(static_cast<std::size_t>(get_raw(attribute, attribute_type<T>, 0, nullptr)));
    if (!values.empty()) {
      const auto requested = static_cast<std::int64_t>(values.size());
      const std::int64_t available = get_raw(attribute, attribute_type<T>, requested, values.data());
      if (available < requested) values.resize(static_cast<std::size_t>(available));
    }
    return values;
  }
  /// The single descriptor, of type `type`, that `attribute` refers to.
  [[nodiscard]] Descriptor get(Attribute attribute, DescriptorType type) const;
  /// Every descriptor, of type `type`, that `attribute` refers to.
  [[nodiscard]] std::vector<Descriptor> get_all(Attribute attribute, DescriptorType type) const;
  /// The same for an attribute that does not tell how many there are before it is read: at most `limit`.
  [[nodiscard]] std::vector<Descriptor> get_up_to(std::int64_t limit, Attribute attribute, DescriptorType type) const;

  [[nodiscard]] DescriptorPointer pointer() const noexcept { return pointer_; }

 private:
  void set_raw(Attribute attribute, AttributeType type, std::int64_t count, const void* elements);
  void get_one(Attribute attribute, AttributeType type, void* element) const;
  std::int64_t get_raw(Attribute attribute, AttributeType type, std::int64_t requested, void* elements) const;

  DescriptorPointer pointer_ = nullptr;
  DescriptorType type_;
};

}  // namespace tapconv::cuda::cudnn
