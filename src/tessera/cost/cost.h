// What a mapping costs: the numbers that searches minimise and reports show.
#ifndef TESSERA_COST_COST_H_
#define TESSERA_COST_COST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/arch/accelerator.h"

namespace tessera {

enum class Tensor : uint8_t { kInput, kWeight, kOutput };
inline constexpr size_t kTensors = 3;

// Words that one memory level, all its instances together, handed out and took in, by Tensor.
struct LevelAccesses {
  std::array<int64_t, kTensors> reads = {};
  std::array<int64_t, kTensors> writes = {};

  friend bool operator==(const LevelAccesses&, const LevelAccesses&) = default;
};

// Doubts about a cost. A model says in its documentation which ones make a mapping infeasible.
enum class CostFlag : uint8_t {
  kL1,            // needs more than the L1 size
  kL2,            // needs more than the L2 size
  kNoc,           // needs more than the on-chip bandwidth; its price is in the cycles
  kOffchip,       // needs more than the off-chip bandwidth; its price is in the cycles
  kRuntime,       // no cycles, or negative ones
  kNegative,      // a negative count
  kNan,           // a number that is not one
  kMacs,          // the MACs counted differ from those of the layer
  kAbovePeak,     // more MACs per cycle than the machine has
  kTileAboveDim,  // a tile larger than its dimension
};
inline constexpr std::array<std::string_view, 10> kCostFlagNames = {
    "L1", "L2", "NOC", "OFFCHIP", "runtime<=0", "negative", "nan", "macs", "thr>peak", "tile>dim"};

// A set of CostFlag.
class CostFlags {
 public:
  constexpr CostFlags() = default;
  constexpr CostFlags(std::initializer_list<CostFlag> flags) {
    for (const CostFlag flag : flags) Set(flag);
  }

  constexpr bool Has(CostFlag flag) const { return (bits_ >> static_cast<int>(flag) & 1) != 0; }
  constexpr void Set(CostFlag flag, bool on = true) {
    bits_ = static_cast<uint16_t>(bits_ | (on ? 1u : 0u) << static_cast<int>(flag));
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr CostFlags operator&(CostFlags other) const {
    CostFlags both;
    both.bits_ = bits_ & other.bits_;
    return both;
  }
  std::vector<std::string_view> Names() const;  // in the order of CostFlag

  friend constexpr bool operator==(CostFlags, CostFlags) = default;

 private:
  uint16_t bits_ = 0;
};

// The rule that an infeasible mapping breaks, with its numbers, small enough to be made millions of
// times a second. CostModel::Describe turns it into a sentence.
struct Violation {
  int16_t rule = 0;   // a code of the model that set it; 0: none
  int16_t level = 0;  // of the hierarchy, where the rule is about one
  int32_t item = 0;   // a dimension, a tensor, ..., where the rule is about one
  double have = 0;    // the inequality is have <= limit, or as the rule says
  double limit = 0;
  // How far the mapping is from all rules that it breaks, on a scale of the model: less is closer.
  // 0: the model cannot tell.
  double excess = 0;

  friend bool operator==(const Violation&, const Violation&) = default;
};

// Numbers of an infeasible mapping are what the model could compute, and zero otherwise.
struct Cost {
  static constexpr size_t kMaxLevels = Hierarchy::kMaxLevels;

  int64_t cycles = 0;
  int64_t macs = 0;
  double energy_pj = 0;
  double power_mw = 0;
  double area_um2 = 0;
  double utilization = 0;  // busy MAC units, as a part of all; 0 to 1
  CostFlags flags = {};
  Violation violation = {};
  int32_t num_levels = 0;
  std::array<LevelAccesses, kMaxLevels> levels = {};  // next to the MACs first

  bool feasible() const { return violation.rule == 0; }
  double edp() const { return energy_pj * static_cast<double>(cycles); }  // pJ * cycles

  friend bool operator==(const Cost&, const Cost&) = default;
};

}  // namespace tessera

#endif  // TESSERA_COST_COST_H_
