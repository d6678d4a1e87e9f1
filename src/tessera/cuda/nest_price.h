// Cycles and energy of one mapping under semantics `exact` of model loopnest, for perfect factors,
// by one thread of a device or of the host: the integers of cost/loopnest/exact_perfect.cc, and its
// sums of doubles in the same order. What it cannot do in bounded memory it leaves to the host.
#ifndef TESSERA_CUDA_NEST_PRICE_H_
#define TESSERA_CUDA_NEST_PRICE_H_

#include "tessera/cuda/nest_network.h"

namespace tessera::cuda {

// A tensor on its way outwards: the last level that holds it, and what that one receives.
struct TensorWay {
  int child = -1;              // -1: the MACs
  int64_t words = 0;           // that one child receives in all steps
  int64_t spatial_words = 1;   // of the loops up to here that spread it
  int64_t temporal_words = 1;  // of all temporal loops over its dimensions
};

template <int kTensors>
class NestPricer {
 public:
  TESSERA_HOST_DEVICE NestPricer(const NestPlan& plan, const uint32_t* words) : plan_(plan) {
    Decode(words);
  }

  // `counts`: where accesses by level and tensor go, [num_levels][num_tensors]; may be null.
  TESSERA_HOST_DEVICE NestPrice Price(NestCounts* counts) {
    int64_t extent[kNestDims];
    for (int d = 0; d < plan_.num_dims; ++d) extent[d] = 1;
    int64_t cycles = compute_cycles_;
    double energy = plan_.mac_energy_pj;
    const int all = (1 << plan_.num_tensors) - 1;
    if ((loops_.keep[plan_.num_levels - 1] & all) != all) return {.status = NestStatus::kRefused};
    for (int i = 0; i < plan_.num_levels; ++i) {
      if (!FitsFan(i)) return {.status = NestStatus::kRefused};
      Widen(i, extent);
      LevelSums sums{.cycles = compute_cycles_};
      int64_t held = 0;
      for (int v = 0; v < kTensors; ++v) {
        if (v >= plan_.num_tensors) break;
        NestCounts own;
        if (!Network(v, i, own, sums)) return {.status = NestStatus::kForHost};
        if ((loops_.keep[i] >> v & 1) != 0) held += Hold(v, i, extent, own);
        AddAccesses(v, i, own, sums);
        if (counts != nullptr) counts[i * plan_.num_tensors + v] = own;
      }
      const NestLevel& level = plan_.levels[i];
      if (level.limited && held > level.entries) return {.status = NestStatus::kRefused};
      if (!AddCycles(sums.reads, level.read, sums.cycles) ||
          !AddCycles(sums.writes, level.write, sums.cycles) ||
          !AddCycles(sums.reads + sums.writes, level.shared, sums.cycles)) {
        return {.status = NestStatus::kForHost};
      }
      energy += sums.energy_pj + sums.network_pj;
      cycles = Most(cycles, sums.cycles);
    }
    return {.cycles = cycles + plan_.latency_cycles,
            .energy_pj = energy,
            .status = NestStatus::kPriced};
  }

 private:
  // Of one level over all tensors.
  struct LevelSums {
    int64_t cycles = 0;
    int64_t reads = 0, writes = 0;  // of one instance
    double energy_pj = 0, network_pj = 0;
  };

  TESSERA_HOST_DEVICE void Decode(const uint32_t* words) {
    int32_t extent[kNestDims];
    for (int d = 0; d < plan_.num_dims; ++d) extent[d] = 1;
    int spatial = 0, temporal = 0;
    for (int i = 0; i < plan_.num_levels; ++i) {
      const uint32_t head = *words++;
      loops_.first_spatial[i] = static_cast<uint8_t>(spatial);
      loops_.first_temporal[i] = static_cast<uint8_t>(temporal);
      loops_.on_x[i] = static_cast<uint8_t>(head >> 8);
      loops_.keep[i] = static_cast<uint8_t>(head >> 24);
      int64_t fan = 1;
      for (uint32_t k = 0; k < (head & 0xff); ++k, ++words, ++spatial) {
        const uint32_t dim = *words >> 28, count = *words & kMostLoopCount;
        loops_.spatial_dim[spatial] = static_cast<uint8_t>(dim);
        loops_.spatial_count[spatial] = static_cast<int32_t>(count);
        loops_.spatial_step[spatial] = extent[dim];
        extent[dim] *= static_cast<int32_t>(count);
        fan *= count;
      }
      for (uint32_t k = 0; k < (head >> 16 & 0xff); ++k, ++words, ++temporal) {
        const uint32_t dim = *words >> 28, count = *words & kMostLoopCount;
        loops_.temporal_dim[temporal] = static_cast<uint8_t>(dim);
        loops_.temporal_count[temporal] = static_cast<int32_t>(count);
        loops_.temporal_step[temporal] = extent[dim];
        extent[dim] *= static_cast<int32_t>(count);
        compute_cycles_ *= count;
        for (int v = 0; v < kTensors; ++v) {
          if ((plan_.tensors[v].dims >> dim & 1) != 0) ways_[v].temporal_words *= count;
        }
      }
      loops_.used[i] = fan;
    }
    loops_.first_spatial[plan_.num_levels] = static_cast<uint8_t>(spatial);
    loops_.first_temporal[plan_.num_levels] = static_cast<uint8_t>(temporal);
    num_temporal_ = temporal;
    int64_t all = 1;
    for (int i = plan_.num_levels - 1; i >= 0; --i) {
      const int64_t fan = loops_.used[i];
      loops_.used[i] = all;
      all *= fan;
    }
    for (int v = 0; v < kTensors; ++v) ways_[v].words = compute_cycles_;
  }

  TESSERA_HOST_DEVICE bool FitsFan(int i) const {
    int64_t x = 1, y = 1;
    const int first = loops_.first_spatial[i], first_y = first + loops_.on_x[i];
    for (int s = first; s < first_y; ++s) x *= loops_.spatial_count[s];
    for (int s = first_y; s < loops_.first_spatial[i + 1]; ++s) y *= loops_.spatial_count[s];
    return x <= plan_.levels[i].fan_x && y <= plan_.levels[i].fan_y;
  }

  // Tile extents after the loops of level i.
  TESSERA_HOST_DEVICE void Widen(int i, int64_t* extent) const {
    for (int s = loops_.first_spatial[i]; s < loops_.first_spatial[i + 1]; ++s) {
      extent[loops_.spatial_dim[s]] *= loops_.spatial_count[s];
    }
    for (int j = loops_.first_temporal[i]; j < loops_.first_temporal[i + 1]; ++j) {
      extent[loops_.temporal_dim[j]] *= loops_.temporal_count[j];
    }
  }

  // The network below level i, and what the level hands out if it holds the tensor.
  TESSERA_HOST_DEVICE bool Network(int v, int i, NestCounts& own, LevelSums& sums) {
    const NestTensor& tensor = plan_.tensors[v];
    TensorWay& to = ways_[v];
    const NestLevel& level = plan_.levels[i];
    const NetworkWay way{plan_, loops_, tensor, to.child, i};
    const uint32_t spread = tensor.simple ? 0 : way.SpreadDims();
    const NetworkCount count = way.Collides(spread) ? CountCollidingNetwork(way, spread, level.hops)
                                                    : CountPlainNetwork(way, level.hops);
    if (!count.known) return false;
    for (int s = way.here(); s < way.end(); ++s) {
      if (loops_.Uses(tensor.dims, s)) to.spatial_words *= loops_.spatial_count[s];
    }
    const int64_t out = count.groups * to.words;
    if ((loops_.keep[i] >> v & 1) != 0) {
      (tensor.read_write ? own.updates : own.reads) = out;
      if (tensor.read_write) own.reads = out - to.temporal_words * to.spatial_words;
    }
    int64_t words = loops_.used[i] * out;
    if (tensor.read_write) words += DownWords(v, i, words);
    const int64_t half_hops = loops_.used[i] * count.half_hops * to.words;
    const int64_t whole_hops = level.router_pj == 0 || half_hops == 0 ? 0 : half_hops / (2 * words);
    sums.network_pj += static_cast<double>(half_hops) / 2 * level.hop_pj +
                       static_cast<double>((1 + whole_hops) * words) * level.router_pj +
                       static_cast<double>(words) * level.ingress_pj;
    return true;
  }

  // Partial sums that come back down through the network below level i, where the level that holds
  // them does not add: all but the first of each element.
  TESSERA_HOST_DEVICE int64_t DownWords(int v, int i, int64_t words) const {
    int parent = i;
    while ((loops_.keep[parent] >> v & 1) == 0) ++parent;
    if (plan_.levels[parent].reduces) return 0;
    int64_t first = loops_.used[parent] * ways_[v].temporal_words * ways_[v].spatial_words;
    // Loops above level i: those of the tensor's dimensions count elements, the others copies.
    for (int s = loops_.first_spatial[i + 1]; s < loops_.first_spatial[parent + 1]; ++s) {
      first *= loops_.spatial_count[s];
    }
    return words - first;
  }

  // The tile of a tensor that level i holds, and what fills it. Returns its words.
  TESSERA_HOST_DEVICE int64_t Hold(int v, int i, const int64_t* extent, NestCounts& own) {
    const NestTensor& tensor = plan_.tensors[v];
    TensorWay& to = ways_[v];
    int64_t tile = 1;
    for (int r = 0; r < tensor.num_ranks; ++r) tile *= TouchedIn(tensor.ranks[r], extent);
    to.child = i;
    if (i + 1 == plan_.num_levels) return tile;
    to.words = tensor.simple ? SimpleWords(tensor, i, tile) : WindowWords(tensor, i, extent, tile);
    own.fills = to.words - (tensor.read_write ? to.temporal_words * to.spatial_words : 0);
    return tile;
  }

  TESSERA_HOST_DEVICE static void SetBox(const NestRank& rank, const int64_t* extent,
                                         int64_t* widths) {
    for (int k = 0; k < rank.num_terms; ++k) widths[k] = extent[rank.dims[k]];
  }

  TESSERA_HOST_DEVICE static int64_t TouchedIn(const NestRank& rank, const int64_t* extent) {
    int64_t widths[kNestTerms];
    SetBox(rank, extent, widths);
    return TouchedBy(rank, widths);
  }

  // Tiles are equal or disjoint: a new one comes unless only loops over other dimensions,
  // innermost, have advanced.
  TESSERA_HOST_DEVICE int64_t SimpleWords(const NestTensor& tensor, int child, int64_t tile) const {
    int j = loops_.first_temporal[child + 1];
    while (j < num_temporal_ && (tensor.dims >> loops_.temporal_dim[j] & 1) == 0) ++j;
    for (; j < num_temporal_; ++j) tile *= loops_.temporal_count[j];
    return tile;
  }

  // Sums tile minus previous tile over all steps, loop by loop from the innermost.
  TESSERA_HOST_DEVICE int64_t WindowWords(const NestTensor& tensor, int child,
                                          const int64_t* extent, int64_t tile) const {
    int64_t passed[kNestRanks] = {};
    int64_t later = 0;  // words of all visits but the first of the loops so far
    for (int j = loops_.first_temporal[child + 1]; j < num_temporal_; ++j) {
      const int64_t count = loops_.temporal_count[j];
      int64_t common = 1;
      for (int r = 0; r < tensor.num_ranks; ++r) {
        const NestRank& rank = tensor.ranks[r];
        int64_t step = 0;
        for (int k = 0; k < rank.num_terms; ++k) {
          if (rank.dims[k] == loops_.temporal_dim[j]) {
            step = rank.coefficients[k] * loops_.temporal_step[j];
          }
        }
        const int64_t moved = step - passed[r];
        passed[r] += step * (count - 1);
        if (common == 0) continue;
        int64_t widths[kNestTerms];
        SetBox(rank, extent, widths);
        common *= moved == 0 ? TouchedBy(rank, widths) : CommonWith(rank, widths, moved);
      }
      later = count * later + (count - 1) * (tile - common);
    }
    return tile + later;
  }

  TESSERA_HOST_DEVICE static int64_t Vectors(int64_t words, const NestLevel& level) {
    if (level.block_shift >= 0) return (words + level.block - 1) >> level.block_shift;
    return words / level.block + (words % level.block != 0);
  }

  TESSERA_HOST_DEVICE void AddAccesses(int v, int i, const NestCounts& own, LevelSums& sums) const {
    const NestLevel& level = plan_.levels[i];
    const int64_t used = loops_.used[i];
    sums.reads += own.reads;
    sums.writes += own.fills + own.updates;
    const double clusters_per_instance =
        level.clusters >= used ? 1.0
                               : static_cast<double>(level.clusters) / static_cast<double>(used);
    const double energy =
        (static_cast<double>(used * Vectors(own.reads, level)) * level.read_pj +
         static_cast<double>(used * Vectors(own.fills, level)) * level.fill_pj +
         static_cast<double>(used * Vectors(own.updates, level)) * level.update_pj) *
        clusters_per_instance;
    const int64_t addresses =
        used * own.fills + used * (plan_.tensors[v].read_write ? own.updates : own.reads);
    const double address_energy =
        static_cast<double>(addresses) * level.address_pj * clusters_per_instance;
    sums.energy_pj += energy + address_energy;
  }

  // The larger one of `cycles` and those that the words take; false where that overflows.
  TESSERA_HOST_DEVICE static bool AddCycles(int64_t words, const NestRate& rate, int64_t& cycles) {
    constexpr double kRounding = 1e-12;
    if (!rate.limited) return true;
    if (static_cast<double>(words) < static_cast<double>(cycles) * rate.value * (1 - kRounding)) {
      return true;
    }
    const auto count = static_cast<uint64_t>(words);
    if (count > rate.most) return false;
    const uint64_t numerator = count * rate.scale;
    cycles = Most(cycles,
                  static_cast<int64_t>(numerator / rate.divisor + (numerator % rate.divisor != 0)));
    return true;
  }

  const NestPlan& plan_;
  NestLoops loops_;
  TensorWay ways_[kTensors];
  int num_temporal_ = 0;
  int64_t compute_cycles_ = 1;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_NEST_PRICE_H_
