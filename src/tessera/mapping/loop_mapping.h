// A mapping of a loop nest onto a memory hierarchy: for each level, which loops run there one after
// another, which are spread over the level's children, and which tensors the level holds.
#ifndef TESSERA_MAPPING_LOOP_MAPPING_H_
#define TESSERA_MAPPING_LOOP_MAPPING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/mapping/loop_problem.h"

namespace tessera {

// The loops of one level, by dimension of the problem. Loops of factor 1 do nothing.
struct LoopLevel {
  static constexpr size_t kMaxDimensions = LoopProblem::kMaxDimensions;

  // Factors; 0 stands for the dimension's whole bound.
  std::array<int32_t, kMaxDimensions> temporal = Ones();
  std::array<int32_t, kMaxDimensions> spatial = Ones();

  // Dimensions from the innermost loop to the outermost: permutations of 0 .. dimensions-1.
  std::array<uint8_t, kMaxDimensions> temporal_order = Identity();
  std::array<uint8_t, kMaxDimensions> spatial_order = Identity();

  // So many leading entries of spatial_order lie on X, the rest on Y.
  uint8_t split = kMaxDimensions;

  // Bit t: tensor t is held here; otherwise it bypasses the level.
  uint8_t keep = 0xff;

  bool Keeps(int tensor) const { return (keep >> tensor & 1) != 0; }
  friend bool operator==(const LoopLevel&, const LoopLevel&) = default;

 private:
  static constexpr std::array<int32_t, kMaxDimensions> Ones() {
    std::array<int32_t, kMaxDimensions> ones{};
    ones.fill(1);
    return ones;
  }
  static constexpr std::array<uint8_t, kMaxDimensions> Identity() {
    std::array<uint8_t, kMaxDimensions> identity{};
    for (size_t i = 0; i < kMaxDimensions; ++i) identity[i] = static_cast<uint8_t>(i);
    return identity;
  }
};

// Plain data of fixed capacity. levels[0] is next to the MACs, as in Hierarchy.
struct LoopMapping {
  static constexpr size_t kMaxLevels = Hierarchy::kMaxLevels;

  int32_t num_levels = 0;
  std::array<LoopLevel, kMaxLevels> levels = {};

  std::span<LoopLevel> view() { return {levels.data(), static_cast<size_t>(num_levels)}; }
  std::span<const LoopLevel> view() const {
    return {levels.data(), static_cast<size_t>(num_levels)};
  }

  // Only the levels in use are compared.
  friend bool operator==(const LoopMapping& a, const LoopMapping& b);
};
static_assert(std::is_trivially_copyable_v<LoopMapping>);

struct LoopMappingHash {
  size_t operator()(const LoopMapping& mapping) const;
};

// Whether orders are permutations, factors are not negative, splits are in range and keep sets
// name tensors of the problem. Bits and entries beyond the problem are ignored.
Result<void> Validate(const LoopMapping& mapping, const LoopProblem& problem);

// A permutation of a problem's dimensions from the names that a text gives, innermost first;
// dimensions that are left out follow in problem order.
Result<std::array<uint8_t, LoopProblem::kMaxDimensions>> CompleteOrder(
    const LoopProblem& problem, std::span<const std::string> names);

// Words of each tensor that one instance of a level holds.
using TileWords = std::array<int64_t, LoopProblem::kMaxTensors>;

// The nest in the style that users of Timeloop know, outermost loop first:
//
//   DRAM [ Weights:36 Inputs:100 Outputs:64 ]
//   -----------------------------------------
//   | for K in [0:2)
//   |   for P in [0:4) (Spatial-X)
//
//   L1 [ Inputs:12 ]
//   ----------------
//   |     for R in [0:3)
//
// `level_names` are those of the hierarchy, levels[0] first. Without tile sizes only names of
// tensors are shown.
std::string PrintLoopNest(const LoopMapping& mapping, const LoopProblem& problem,
                          std::span<const std::string> level_names,
                          std::span<const TileWords> tile_words = {});

}  // namespace tessera

#endif  // TESSERA_MAPPING_LOOP_MAPPING_H_
