#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/engine.hpp"

namespace tapconv {

/// What a CUDA device's multiprocessor holds at a time. docs/explain.md names the sources.
struct Multiprocessor {
  std::string device_name;
  std::int64_t count = 0;  ///< of the device
  std::int64_t warps = 0, blocks = 0;
  std::int64_t registers = 0;               ///< of 32 bits
  std::int64_t shared_bytes = 0;            ///< for all blocks, each with what is reserved
  std::int64_t threads_per_block = 0;       ///< at most
  std::int64_t shared_bytes_per_block = 0;  ///< at most, without what is reserved
};

/// That of a device, or of a model without one. Throws Error{usage} for the CPU and for a compute capability whose
/// limits are not known, Error{environment} where the device is missing.
[[nodiscard]] Multiprocessor multiprocessor(const Device& device);

/// What one block of a kernel takes.
struct BlockNeeds {
  std::int64_t threads = 0;
  std::int64_t registers = 0;     ///< a thread, 1 to 255
  std::int64_t shared_bytes = 0;  ///< static and dynamic together
};

/// What limits how many blocks are resident.
enum class Resource { warps, blocks, registers, shared_memory };

/// "warps", "blocks", "registers", "shared memory".
[[nodiscard]] std::string_view name(Resource resource) noexcept;

/// How many blocks of a kernel a multiprocessor holds at a time.
struct Occupancy {
  std::int64_t blocks = 0;  ///< 0: the kernel cannot be launched
  std::int64_t warps = 0;
  double share = 0;                       ///< of the warps that the multiprocessor can hold
  std::vector<Resource> limited_by = {};  ///< each one of which forbids another block
  std::int64_t by_warps = 0, by_blocks = 0, by_registers = 0, by_shared_memory = 0;  ///< what each alone would allow
  std::int64_t registers_per_warp = 0;                                               ///< as allocated
  std::int64_t shared_bytes = 0;  ///< of a block, as allocated, with what is reserved
  /// What a block may take at most if there is to be one more of them; absent where warps or blocks are used up.
  struct OneMore {
    std::int64_t registers = 0;     ///< a thread
    std::int64_t shared_bytes = 0;  ///< static and dynamic together
  };
  std::optional<OneMore> one_more = {};
};

/// Registers are allocated to a warp in units of 256, of the quarter of the multiprocessor that the warp runs on;
/// shared memory to a block in units of 128 bytes, with 1024 more that the system takes:
///
///     by_warps     = warps / ceil(threads / 32)
///     by_registers = 4 * (registers / 4 / registers_per_warp) / ceil(threads / 32)
///     by_shared    = shared_bytes / round_up(shared_bytes of the block + 1024, 128)
///
/// Throws Error{usage} for needs that no launch may have: more threads, registers a thread or shared memory than a
/// block gets.
[[nodiscard]] Occupancy occupancy(const Multiprocessor& multiprocessor, const BlockNeeds& needs);

/// The outputs that one block computes, in grid positions: of a transposed problem those of one residue class.
struct Tile {
  std::int64_t channels = 1;                ///< output channels, of one group
  std::optional<std::int64_t> pixels = {};  ///< positions in a row, running on over axes and images; or else a box of:
  std::int64_t images = 1;
  Extent positions{1, 1, 1};  ///< along each axis, in PyTorch's order
};

/// How a tile fits a plain problem, see stages().
struct TileFit {
  Problem problem;
  std::int64_t blocks = 0;
  double waves = 0;            ///< blocks over those that the device holds at a time
  double tail_efficiency = 0;  ///< waves / ceil(waves): how full the waves are on average
  double edge_waste = 0;       ///< share of the computed products that no output needs, as tiles overhang
};

/// Of each plain problem with the same tile, on a device that holds `resident_blocks` at a time. Products with padding
/// count as needed. Outputs that no tap reaches take no blocks. Throws Error{usage} for sizes below 1.
[[nodiscard]] std::vector<TileFit> tile_fit(const Problem& problem, const Tile& tile, std::int64_t resident_blocks);

/// One load or store of a warp.
struct WarpAccess {
  int bytes = 4;                        ///< of a lane: 1, 2, 4, 8 or 16
  std::vector<std::int64_t> addresses;  ///< of the first lanes, in bytes, multiples of `bytes`; others take no part
};

/// Reads an access of the warps of a block with `threads` threads, 1 to 1024:
///
///     float4 at 4*lane                          one index for each thread
///     float at (lane%8)*132 + lane/8*4          integers, thread, warp, lane, ( ), - * / % + - << >> & ^ as in C
///     half2 at 0, 66, 132                       one index for each lane, up to 32; the other lanes take no part
///
/// The type is byte, half, float or double, or a vector of them of at most 16 bytes; the index counts elements (of
/// float4: floats) from an address that is a multiple of 128 bytes. Throws SpellingError, also for an index that is
/// negative, no multiple of the vector's size, or whose computation overflows or divides by zero.
[[nodiscard]] std::vector<WarpAccess> parse_access(std::string_view text, std::int64_t threads = 32);

/// What accesses take of shared memory, which has 32 banks of 4 bytes and gives a word of each bank at a time.
struct SharedAccess {
  std::int64_t wavefronts = 0;        ///< of all accesses
  std::int64_t ideal_wavefronts = 0;  ///< without conflicts
  std::int64_t most_words = 0;        ///< that one bank has to give to lanes that are served together
  std::int64_t worst_bank = 0;        ///< the first such bank
};

/// Lanes are served together all 32, with 8 bytes each 16 neighbours, with 16 bytes each 8. A group takes as many
/// wavefronts as a bank has different words to give to it; a word goes to any number of lanes. Throws Error{usage} for
/// an access that is not as WarpAccess says.
[[nodiscard]] SharedAccess shared_access(std::span<const WarpAccess> accesses);

/// What accesses take of global memory, each access on its own.
struct GlobalAccess {
  std::int64_t sectors = 0, least_sectors = 0;  ///< of 32 bytes: touched, and those that the same bytes would fill
  std::int64_t lines = 0, least_lines = 0;      ///< of 128 bytes
  std::int64_t useful_bytes = 0;                ///< that are asked for, each counted once an access
  double efficiency = 0;                        ///< useful_bytes over the bytes of the sectors
};

/// Throws Error{usage} as shared_access() does.
[[nodiscard]] GlobalAccess global_access(std::span<const WarpAccess> accesses);

}  // namespace tapconv
