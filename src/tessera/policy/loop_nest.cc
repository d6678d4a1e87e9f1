// Tiles, room and traffic of a nest.
#include "tessera/policy/loop_nest.h"

#include <algorithm>
#include <cmath>

namespace tessera::policy {

LoopNest::LoopNest(const GameFacts& game) : facts(game) {
  for (size_t i = 0; i < facts.levels.size(); ++i) {
    keep[i] = facts.levels[i].held;
    temporal[i].fill(1);
    spatial[i].fill(1);
    extent[i].fill(1);
  }
  for (size_t d = 0; d < facts.loops.size(); ++d) rest[d] = facts.loops[d].bound;
}

size_t LoopNest::Above(size_t tensor, size_t level) const {
  for (size_t j = level + 1; j < facts.outermost(); ++j) {
    if (Keeps(j, tensor)) return j;
  }
  return facts.outermost();
}

void LoopNest::Grow(size_t level, size_t loop, int64_t factor, bool parallel) {
  (parallel ? spatial : temporal)[level][loop] *= factor;
  rest[loop] /= factor;
  for (size_t j = level; j < facts.levels.size(); ++j) extent[j][loop] *= factor;
}

void LoopNest::Finish() {
  const size_t outermost = facts.outermost();
  for (size_t d = 0; d < facts.loops.size(); ++d) Grow(outermost, d, rest[d], /*parallel=*/false);
}

double LoopNest::Words(size_t tensor, const Extents& tile) const {
  std::array<int64_t, kMaxDims> all;
  all.fill(1);
  for (size_t d = 0; d < facts.loops.size(); ++d) all[facts.loops[d].dimension] = tile[d];
  return static_cast<double>(facts.space->WordsOf(facts.tensor[tensor], all));
}

double LoopNest::Held(size_t level, size_t loop, int64_t factor) const {
  Extents tile = extent[level];
  tile[loop] *= factor;
  double units = 0;
  for (size_t t = 0; t < kTensors; ++t) {
    if (Keeps(level, t)) units += Words(t, tile) * facts.levels[level].units[t];
  }
  return units;
}

bool LoopNest::Fits(size_t level, size_t loop, int64_t factor) const {
  for (size_t j = level; j < facts.outermost(); ++j) {
    const int64_t capacity = facts.levels[j].capacity;
    if (capacity >= 0 && Held(j, loop, factor) > static_cast<double>(capacity)) return false;
  }
  return true;
}

double LoopNest::BusyUnits() const {
  double busy = 1;
  for (size_t i = 0; i < facts.levels.size(); ++i) {
    for (size_t d = 0; d < facts.loops.size(); ++d) busy *= static_cast<double>(spatial[i][d]);
  }
  return busy;
}

double LoopNest::Multicast(size_t tensor, size_t below, size_t above) const {
  double copies = 1;
  for (size_t j = below; j <= above; ++j) {
    for (size_t d = 0; d < facts.loops.size(); ++d) {
      if (!facts.loops[d].relevant[tensor]) copies *= static_cast<double>(spatial[j][d]);
    }
  }
  return copies;
}

Fetches LoopNest::FetchesInto(size_t level, size_t loop, int64_t factor) const {
  Fetches fetches;
  Extents tile = extent[level];
  tile[loop] *= factor;
  double trips = 1;
  for (size_t d = 0; d < facts.loops.size(); ++d) {
    trips *= static_cast<double>(facts.loops[d].bound) / static_cast<double>(tile[d]);
  }
  std::array<double, kMaxLevels> cycles{};
  const double compute = facts.macs / BusyUnits();
  for (size_t t = 0; t < kTensors; ++t) {
    fetches.words[t] = Words(t, tile);
    if (!Keeps(level, t)) continue;
    const size_t above = Above(t, level);
    const LevelFacts& source = facts.levels[above];
    const double delivered = trips * fetches.words[t];
    const double read = delivered / Multicast(t, level + 1, above);
    const double pj =
        read * source.element_words[t] * source.read_pj +
        delivered * facts.levels[level].element_words[t] * facts.levels[level].write_pj;
    fetches.per_mac[t] = pj / facts.macs;
    fetches.energy_per_mac += fetches.per_mac[t];
    const double words = t == 2 ? source.write_words : source.read_words;
    if (words > 0) cycles[above] += read * source.element_words[t] / words;
    fetches.stall = std::max(fetches.stall, cycles[above] / compute);
  }
  return fetches;
}

NestEstimate LoopNest::Estimate() const {
  NestEstimate made;
  const size_t levels = facts.levels.size();
  std::array<double, kMaxLevels> read{}, written{};
  std::array<double, kMaxLevels> in_use{};  // instances of a level
  double above = 1;
  for (size_t i = levels; i-- > 0;) {
    in_use[i] = above;
    for (size_t d = 0; d < facts.loops.size(); ++d) above *= static_cast<double>(spatial[i][d]);
  }
  made.busy = above;
  Extents one;
  one.fill(1);
  for (size_t t = 0; t < kTensors; ++t) {
    // From the MACs outward: what each holder of the tensor fetches from the next one.
    for (size_t next = 0; next < levels;) {
      const bool macs = next == 0;
      const size_t source = macs ? (Keeps(0, t) ? 0 : Above(t, 0)) : Above(t, next - 1);
      double words = macs ? 1 : Words(t, extent[next - 1]);
      bool stays = !macs;  // A MAC has no register: it reads its words again at every step.
      for (size_t j = next; j < levels; ++j) {
        for (const uint8_t d : order[j]) {
          stays = stays && !facts.loops[d].relevant[t];
          if (!stays) words *= static_cast<double>(temporal[j][d]);
        }
      }
      const double elements = words * (macs ? made.busy : in_use[next - 1]);
      const double source_words = facts.levels[source].element_words[t];
      const double sent = elements / Multicast(t, next, source) * source_words;
      const double delivered = macs ? 0 : elements * facts.levels[next - 1].element_words[t];
      double pj = 0;
      if (t == 2) {
        const double again = std::max(0.0, sent - facts.total_words[t] * source_words);
        written[source] += sent;
        read[source] += again;
        pj = sent * facts.levels[source].write_pj + again * facts.levels[source].read_pj;
        if (!macs) pj += 2 * delivered * facts.levels[next - 1].read_pj;
      } else {
        read[source] += sent;
        pj = sent * facts.levels[source].read_pj;
        if (!macs) {
          written[next - 1] += delivered;
          pj += delivered * facts.levels[next - 1].write_pj;
        }
      }
      (source == facts.outermost() ? made.outer_per_mac : made.inner_per_mac)[t] += pj / facts.macs;
      made.energy_per_mac += pj / facts.macs;
      if (source == facts.outermost()) break;
      next = source + 1;
    }
  }
  made.energy_per_mac += facts.mac_pj;
  const double compute = facts.macs / made.busy;
  for (size_t i = 0; i < levels; ++i) {
    const LevelFacts& level = facts.levels[i];
    const double share = in_use[i] / level.instances;
    if (level.read_words > 0) {
      made.stall = std::max(made.stall, read[i] / (level.read_words * share) / compute);
    }
    if (level.write_words > 0) {
      made.stall = std::max(made.stall, written[i] / (level.write_words * share) / compute);
    }
  }
  made.cycles = facts.units / made.busy * std::max(1.0, made.stall);
  return made;
}

}  // namespace tessera::policy
