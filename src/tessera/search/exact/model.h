// A mapping problem as numbers for exact search: divisors, relevance of dimensions, and what a word
// costs on its way, for one choice of which level holds which tensor.
#ifndef TESSERA_SEARCH_EXACT_MODEL_H_
#define TESSERA_SEARCH_EXACT_MODEL_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/result.h"
#include "tessera/search/exact/restrictions.h"

namespace tessera::exact {

inline constexpr int kMaxLevels = loopnest::kMaxLevels;
inline constexpr int kMaxDims = loopnest::kMaxDims;
inline constexpr int kMaxTensors = loopnest::kMaxTensors;
inline constexpr int kMaxRanks = loopnest::kMaxRanks;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// All divisors of one dimension's bound; with any factors all numbers up to it, and no quotients.
// Sizes are handled as positions in this list.
struct DivisorTable {
  std::vector<int32_t> values = {};                  // ascending
  std::vector<std::vector<int16_t>> parts = {};      // per divisor: positions of its divisors
  std::vector<std::vector<int16_t>> quotients = {};  // [a][b]: position of a / b, or -1
  std::vector<int32_t> largest_prime = {};           // that divides each; 1 of 1
};

DivisorTable MakeDivisors(int64_t bound);

// What a dimension may have with any factors, for its table takes memory.
inline constexpr int32_t kMostAnyBound = 16'384;

// One rank of a tensor: which dimensions move it, and by how much.
struct RankTerms {
  int num_terms = 0;
  int dims[4] = {};
  double coefficients[4] = {};
};

struct TensorFacts {
  uint32_t dims = 0;    // relevant dimensions
  uint32_t plain = 0;   // those that move a rank which nothing else moves
  uint32_t window = 0;  // the other relevant ones
  bool simple = true;   // tiles are equal or disjoint and grow with their dimensions
  bool shares = false;  // some dimension moves two ranks
  bool read_write = false;
  double elements = 1;  // of the whole tensor; bounding box for windows
  int num_ranks = 0;
  RankTerms ranks[kMaxRanks] = {};
};

// pJ per element of one instance's accesses, vectors taken as full, so never more than the model's.
// Elements are the words of bounds; what they take of a level depends on how wide they are.
struct ElementFacts {
  double read_pj = 0, fill_pj = 0, update_pj = 0;  // read-write tensors: read and fill as below
  double read_rw_pj = 0;                           // a read-write tensor's read has no address
  double enter_pj = 0;  // per element that enters the network below: ingress and one router
  double hop_pj = 0, router_pj = 0;  // of the network below, per hop of an element
  double units = 1;                  // of room and of bandwidth (mapping/widths.h)
};

struct LevelFacts {
  ElementFacts of[kMaxTensors] = {};
  double clusters = 1;     // energy is that of min(used, clusters) instances
  double least_share = 1;  // of clusters in used instances, when all are used
  double read_bw = kInfinity, write_bw = kInfinity, shared_bw = kInfinity;  // units per cycle
  int64_t fan_x = 1, fan_y = 1;
  double fan = 1;
  bool limited = false;
  int64_t entries = 0;       // units
  int64_t known_units = -1;  // tiles of no more units are known to lead to nothing better
  bool reduces = true;
  bool placement_matters = false;  // hops or routers cost something
};

// Immutable; shared by threads.
struct Model {
  const loopnest::Setup* setup = nullptr;
  const Restrictions* restrictions = nullptr;
  bool exact = false;         // semantics exact, else timeloop3
  bool linked_level = false;  // exact semantics, and neighbours can hand on words of some tensor
  bool any = false;           // factors need not divide
  int num_levels = 0, num_dims = 0, num_tensors = 0;
  double macs = 1;
  double latency_cycles = 0;
  double leakage_pj = 0;  // per cycle
  int32_t bounds[kMaxDims] = {};
  DivisorTable divisors[kMaxDims] = {};
  TensorFacts tensors[kMaxTensors] = {};
  LevelFacts levels[kMaxLevels] = {};

  // By tensor: its outermost holder; at the levels outside it the tensor is not open yet.
  int home[kMaxTensors] = {};

  // Bit v of keep[i]: level i holds tensor v. next_kept[i][v]: the outermost level <= i that holds
  // v, or -1; parent[i][v]: the innermost level >= i that holds it, or its home.
  uint8_t keep[kMaxLevels] = {};
  int next_kept[kMaxLevels][kMaxTensors] = {};
  int parent[kMaxLevels][kMaxTensors] = {};

  // Dimensions that no tensor held by a level has, so that its loops over them could as well be the
  // innermost ones of the level outside; and those that move no window, whose indices are labels.
  // docs/optimality.md, B13.
  uint32_t outward[kMaxLevels] = {};
  uint32_t labels = 0;
  // Bit i: loops of level i that belong outside can join one over the same dimension there; level i
  // has no loops in time, since it holds nothing. docs/optimality.md, B17.
  uint32_t joins = 0, still = 0;
  // Tiles that could be larger by the innermost loop outside are left out. docs/optimality.md, B18.
  bool grows = false;
  // The same where there are windows: only if the order in time stays as it is.
  bool grows_in_order = false;
  // By level: dimensions over which the tile may grow if the innermost loop outside goes over some
  // dimension, since no tensor that is held further in stays in place meanwhile and has them.
  uint32_t growing[kMaxLevels][kMaxDims] = {};
  // By such a level: the next one further in that holds something, if there is no loop in time in
  // between; -1: none. And its units below an instance of the level.
  int room_level[kMaxLevels] = {};
  double room_units[kMaxLevels] = {};
  // And the iterations that a tile may have, if there is no loop in time further in at all.
  double room_iterations[kMaxLevels] = {};

  // Each dimension is irrelevant to at most one tensor, so multicasts share the fan-out.
  bool disjoint = false;
  // Operands pass between neighbouring MACs for free (timeloop3 with a fan-out at level 0).
  bool mac_links = false;
  // By tensor: the innermost level that holds it, if a word of it can serve several MACs at a time;
  // else -1.
  int operands_from[kMaxTensors] = {};
  double most_loops = 0;  // temporal ones that a mapping can have, counts of 1 left out
  double fan_below[kMaxLevels + 1] = {};  // product of the fan-outs of levels < i
  // Least cost per word delivered to level c, of moving it further in; the part of it that first
  // partial sums do not pay.
  double inner_pj[kMaxLevels][kMaxTensors] = {};
  double inner_elided_pj[kMaxLevels][kMaxTensors] = {};
  double inner_slack_pj[kMaxLevels][kMaxTensors] = {};
  // By dimension: an earlier one of the same size that moves the same tensors in the same way, or
  // -1. With any factors only. docs/optimality.md, R7.
  int twin[kMaxDims] = {};
  // What a level can hold of a tensor, at most, in words of one instance; and what such a word
  // costs that arrives there: its fill, and where it is read. Known if `refills`.
  // docs/optimality.md, B19.
  bool refills = false;
  double most_words[kMaxLevels][kMaxTensors] = {};
  double arrival_pj[kMaxLevels][kMaxTensors] = {};

  // Whether a tensor's words are followed from level to level: what arrives at one has to be handed
  // further in. Simple tensors need no such count. docs/optimality.md, B3.
  bool Followed(int v) const {
    const TensorFacts& tensor = tensors[v];
    return exact && !linked_level && !tensor.simple && !tensor.shares && !tensor.read_write &&
           home[v] + 1 == num_levels;
  }
  bool Keeps(int level, int v) const { return (keep[level] >> v & 1) != 0; }
  // Whether words of the tensor come from levels further in only. B12.
  bool Outside(int level, int v) const { return level > home[v]; }
  double Share(int level, double used) const {
    const double clusters = levels[level].clusters;
    return used <= clusters ? 1.0 : clusters / used;
  }
};

// `setup` and `restrictions` outlive the model. `keep` is valid: of the levels that hold a tensor
// its home is the outermost. `any`: factors need not divide; bounds are at most kMostAnyBound.
Model MakeModel(const loopnest::Setup& setup, const Restrictions& restrictions,
                const std::vector<uint8_t>& keep, bool any = false);

// What is minimised.
enum class Goal : uint8_t { kCycles, kEnergy, kEdp };

// Whether words that pass a level which does not hold them are as many as its tile would get: what
// is new there no level inside has held. Not known of windows under Timeloop's rules, nor of sums
// of windows, where a dimension moves two ranks, or with a home (docs/optimality.md, B6, B12).
inline bool PassesAsTile(const Model& model, int v) {
  const TensorFacts& tensor = model.tensors[v];
  return tensor.simple || (model.exact && !tensor.read_write && !tensor.shares &&
                           model.home[v] + 1 == model.num_levels);
}

// Words of a tensor's tile at the given extents: what the capacity of a level is compared with, and
// what one visit of an empty child brings.
double TileWords(const Model& model, int v, const int32_t* extents,
                 loopnest::TouchedScratch& scratch);

// Evaluates a mapping in a workspace of the calling thread, where the outcome is until the next one
// is evaluated: some megabytes for large arrays, which hundreds of searches would not need at once.
const loopnest::Workspace& EvaluateOnThread(const loopnest::Setup& setup,
                                            const LoopMapping& mapping);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_MODEL_H_
