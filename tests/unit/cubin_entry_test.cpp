#include "cuda/cubin_entry.hpp"

#include <gtest/gtest.h>

#include "temporary_folder.hpp"

namespace tapconv::cuda {
namespace {

using testing::expect_error;

Digest key_of(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

const Digest entry_key = key_of("key");
const CubinEntry entry{.entry = "kernel", .log = "used 3 registers", .image = {'\x7f', 'E', 'L', 'F', '\0', '\n'}};

bool decodes(std::span<const std::byte> bytes) {
  try {
    (void)decode(bytes, entry_key);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCode::environment, error.code());
    return false;
  }
}

/// `bytes` with a checksum that fits them.
std::vector<std::byte> sealed(std::vector<std::byte> bytes) {
  bytes.resize(bytes.size() - sizeof(Digest));
  const Digest checksum = sha256(bytes);
  for (const std::uint8_t byte : checksum) bytes.push_back(std::byte{byte});
  return bytes;
}

TEST(CubinEntry, ComesBackAsItWas) {
  for (const CubinEntry& each : {entry, CubinEntry{}, CubinEntry{.entry = "e", .log = "", .image = {}}}) {
    const CubinEntry back = decode(encode(entry_key, each), entry_key);
    EXPECT_EQ(each.entry, back.entry);
    EXPECT_EQ(each.log, back.log);
    EXPECT_EQ(each.image, back.image);
  }
}

TEST(CubinEntry, AnyOtherByteAnywhereIsDetected) {
  const std::vector<std::byte> good = encode(entry_key, entry);
  ASSERT_TRUE(decodes(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (unsigned change = 1; change < 256; ++change) {
      std::vector<std::byte> bad = good;
      bad[i] ^= static_cast<std::byte>(change);
      EXPECT_FALSE(decodes(bad)) << i << " ^ " << change;
    }
  }
}

TEST(CubinEntry, EveryOtherLengthIsDetected) {
  std::vector<std::byte> bytes = encode(entry_key, entry);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decodes(std::span(bytes).first(size))) << size;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decodes(bytes));
}

TEST(CubinEntry, WhatIsWrongIsNamed) {
  const std::vector<std::byte> good = encode(entry_key, entry);
  const auto expect = [&](const std::string& why, std::vector<std::byte> bytes) {
    expect_error(ErrorCode::environment, why, [&] { (void)decode(bytes, entry_key); });
  };
  expect("cut off", {});
  expect("belongs to another key", encode(key_of("another"), entry));
  std::vector<std::byte> bytes = good;
  bytes[0] = std::byte{'T'};
  expect("no cubin entry", sealed(bytes));
  bytes = good;
  bytes.back() ^= std::byte{1};
  expect("checksum", bytes);
}

TEST(CubinEntry, HostileSizesDoNotFit) {
  // Sizes whose sum is right only if it wraps around, with a good checksum.
  constexpr std::size_t first_size = 8 + sizeof(Digest);
  std::vector<std::byte> bytes = encode(entry_key, entry);
  for (std::size_t i = 0; i < 16; ++i) bytes[first_size + i] = std::byte{0xff};
  EXPECT_THROW((void)decode(sealed(bytes), entry_key), Error);
  for (std::size_t part = 0; part < 3; ++part) {
    bytes = encode(entry_key, entry);
    for (std::size_t i = 0; i < 8; ++i) bytes[first_size + 8 * part + i] = std::byte{0xff};
    expect_error(ErrorCode::environment, "sizes", [&] { (void)decode(sealed(bytes), entry_key); });
  }
}

class CubinEntryFile : public testing::TemporaryFolder {};

TEST_F(CubinEntryFile, TheNameIsReadWithoutTheRest) {
  std::vector<std::byte> bytes = encode(entry_key, entry);
  bytes.back() ^= std::byte{1};
  put("e", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  EXPECT_EQ("kernel", read_entry_name(io::InputFile(path("e")), entry_key));
  expect_error(ErrorCode::environment, path("e") + ": its checksum",
               [&] { (void)read_entry(io::InputFile(path("e")), entry_key); });
  put("short", "tapcubin");
  expect_error(ErrorCode::environment, path("short") + ": it is cut off",
               [&] { (void)read_entry_name(io::InputFile(path("short")), entry_key); });
}

TEST_F(CubinEntryFile, AFileOfAbsurdSizeIsNotReadIntoMemory) {
  put("huge", "tapcubin");
  std::filesystem::resize_file(path("huge"), std::uint64_t{1} << 40);
  for (const auto read : {+[](const io::InputFile& file) { (void)read_entry(file, entry_key); },
                          +[](const io::InputFile& file) { (void)read_entry_name(file, entry_key); }})
    expect_error(ErrorCode::environment, "too large", [&] { read(io::InputFile(path("huge"))); });
}

}  // namespace
}  // namespace tapconv::cuda
