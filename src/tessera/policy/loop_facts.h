// What a game of loop nests is about: the layer, the machine and the objective as numbers.
#ifndef TESSERA_POLICY_LOOP_FACTS_H_
#define TESSERA_POLICY_LOOP_FACTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/mapping.h"
#include "tessera/policy/game.h"
#include "tessera/space.h"
#include "tessera/space/loop_space.h"

namespace tessera::policy {

inline constexpr size_t kNone = static_cast<size_t>(-1);
inline constexpr size_t kMaxDims = LoopSpace::kMaxDims;
inline constexpr size_t kMaxLevels = LoopMapping::kMaxLevels;
inline constexpr size_t kTensors = 3;  // by role: weights, inputs, outputs

// One level of the machine.
struct LevelFacts {
  int64_t capacity = -1;                                   // units (mapping/widths.h); -1: no limit
  double words = 0;                                        // the same in words
  std::array<double, kTensors> units = {1, 1, 1};          // of an element
  std::array<double, kTensors> element_words = {1, 1, 1};  // the same in words
  int64_t fan_x = 1, fan_y = 1;
  double instances = 1;
  double read_pj = 0, fill_pj = 0, update_pj = 0;  // per word
  double read_words = 0, write_words = 0;          // per cycle, of all instances; 0: no limit
  double shared_words = 0;                         // reads and writes together
  bool reduces = true;                             // adds partial sums itself

  // The network to the level below, per word.
  double hop_pj = 0, router_pj = 0, ingress_pj = 0;
  std::array<size_t, kTensors> keep = {};  // the decision, or kNone
  uint8_t held = 0;                        // tensors it holds where that is no decision
  size_t order = kNone, spatial_order = kNone;
  std::array<size_t, kMaxDims> temporal = {}, spatial = {}, axis = {};  // by loop

  bool HasFan() const { return fan_x * fan_y > 1; }
  bool HasNetwork() const { return hop_pj + router_pj + ingress_pj > 0; }
};

// A loop of the layer: a dimension of more than one step.
struct LoopFacts {
  size_t dimension = 0;  // in the problem
  int64_t bound = 1;
  std::array<bool, kTensors> relevant = {};
  bool window = false;  // R or S: slides with another dimension
  bool slides = false;  // P or Q
};

// One coordinate of a tensor: the sum of loops' indices times coefficients.
struct RankFacts {
  struct Term {
    size_t loop = 0;
    int64_t coefficient = 1;
  };
  std::vector<Term> terms = {};
};

struct GameFacts {
  const LoopSpace* space = nullptr;
  std::vector<LoopFacts> loops = {};
  std::vector<LevelFacts> levels = {};                      // next to the MACs first
  std::array<size_t, kTensors> tensor = {};                 // in the problem
  std::array<std::vector<RankFacts>, kTensors> ranks = {};  // those that loops move
  std::array<double, kTensors> total_words = {};
  double macs = 1, mac_pj = 0, units = 1;
  std::vector<float> context = {};  // features that every value shares

  size_t outermost() const { return levels.size() - 1; }
};

// False where the problem has other than three tensors.
bool FillFacts(const MappingProblem& problem, GameFacts& facts);

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_LOOP_FACTS_H_
