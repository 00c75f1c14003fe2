#include "tapconv/dtype.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tapconv {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are little-endian");

/// A binary interchange format narrower than binary64. Its largest exponent is 1 - least_exponent.
struct Format {
  int fraction_bits;   ///< stored ones, without the leading bit
  int least_exponent;  ///< of normal numbers

  /// The exponent field of infinities and NaNs.
  [[nodiscard]] constexpr int special_field() const { return 3 - 2 * least_exponent; }
};

constexpr Format binary16{10, -14}, brain16{7, -126}, binary32{23, -126};

constexpr int double_fraction_bits = 52, double_bias = 1023;

/// 2^exponent, for exponents of normal doubles.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + double_bias) << double_fraction_bits);
}

/// Floor of the binary logarithm of the magnitude of `value`; -1023 for zero and subnormals, 1024 for infinities.
int exponent_of(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> double_fraction_bits & 0x7ff) - double_bias;
}

/// `value` rounded once, to nearest even, as bits of a 16-bit format. The payload of a NaN is cut off at the end.
std::uint16_t encode(double value, Format format) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int sign = bits >> 63 != 0 ? 0x8000 : 0;
  const int infinity = format.special_field() << format.fraction_bits;
  if (std::isnan(value)) {
    const int kept =
        static_cast<int>(bits >> (double_fraction_bits - format.fraction_bits)) & ((1 << format.fraction_bits) - 1);
    const int quiet = 1 << (format.fraction_bits - 1);
    return static_cast<std::uint16_t>(sign | infinity | (kept != 0 ? kept : quiet));
  }
  if (exponent_of(value) > 1 - format.least_exponent) return static_cast<std::uint16_t>(sign | infinity);
  const int exponent = std::max(exponent_of(value), format.least_exponent);
  // Scaling by a power of two is exact, so this is the only rounding. A carry moves into the exponent field, and from
  // the largest one into infinity, as it should.
  const double quanta = std::nearbyint(std::abs(value) * power_of_two(format.fraction_bits - exponent));
  const int magnitude = ((exponent - format.least_exponent) << format.fraction_bits) + static_cast<int>(quanta);
  return static_cast<std::uint16_t>(sign | magnitude);
}

double decode(std::uint16_t bits, Format format) {
  const int field = (bits & 0x7fff) >> format.fraction_bits;
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  if (field == format.special_field()) {
    const std::uint64_t sign = std::uint64_t{bits} >> 15 << 63;
    return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << double_fraction_bits |
                                 static_cast<std::uint64_t>(fraction) << (double_fraction_bits - format.fraction_bits));
  }
  const int leading = field != 0 ? 1 << format.fraction_bits : 0;
  const int exponent = std::max(field, 1) - 1 + format.least_exponent;
  const double magnitude = (leading + fraction) * power_of_two(exponent - format.fraction_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Elements need not be aligned, so they are copied as bytes.
template <class Stored>
Stored load(const void* array, std::int64_t index) {
  Stored stored;
  std::memcpy(&stored, static_cast<const std::byte*>(array) + index * std::int64_t{sizeof stored}, sizeof stored);
  return stored;
}

template <class Stored>
void store(void* array, std::int64_t index, Stored stored) {
  std::memcpy(static_cast<std::byte*>(array) + index * std::int64_t{sizeof stored}, &stored, sizeof stored);
}

}  // namespace

std::string_view name(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float64:
      return "float64";
  }
  return "?";
}

std::size_t element_bytes(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return 4;
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::float64:
      return 8;
  }
  return 0;
}

double load_element(const void* array, DType dtype, std::int64_t index) noexcept {
  switch (dtype) {
    case DType::float32:
      return load<float>(array, index);
    case DType::float16:
      return decode(load<std::uint16_t>(array, index), binary16);
    case DType::bfloat16:
      return decode(load<std::uint16_t>(array, index), brain16);
    case DType::float64:
      return load<double>(array, index);
  }
  return 0;
}

void store_element(void* array, DType dtype, std::int64_t index, double value) noexcept {
  switch (dtype) {
    case DType::float32:
      return store(array, index, static_cast<float>(value));
    case DType::float16:
      return store(array, index, encode(value, binary16));
    case DType::bfloat16:
      return store(array, index, encode(value, brain16));
    case DType::float64:
      return store(array, index, value);
  }
}

double round_to(double value, DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return static_cast<float>(value);
    case DType::float16:
      return decode(encode(value, binary16), binary16);
    case DType::bfloat16:
      return decode(encode(value, brain16), brain16);
    case DType::float64:
      return value;
  }
  return value;
}

double half_spacing(double value, DType dtype) noexcept {
  if (dtype == DType::float64 || !std::isfinite(value)) return 0;
  if (std::isinf(round_to(value, dtype))) return std::numeric_limits<double>::infinity();
  const Format format = dtype == DType::float16 ? binary16 : dtype == DType::bfloat16 ? brain16 : binary32;
  return power_of_two(std::max(exponent_of(value), format.least_exponent) - format.fraction_bits - 1);
}

}  // namespace tapconv
