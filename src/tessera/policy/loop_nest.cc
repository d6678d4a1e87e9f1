// Tiles, room and traffic of a nest.
#include "tessera/policy/loop_nest.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::policy {
namespace {

constexpr size_t kMaxRanks = LoopTensor::kMaxRanks;

// Indices 0 to count - 1, each worth a step, of one loop of a window.
struct Window {
  int64_t count = 1, step = 1;
};

// Different sums of two windows' indices.
double Touched(std::array<Window, 2> terms) {
  if (terms[0].step < terms[1].step) std::swap(terms[0], terms[1]);
  const auto [coarse, fine] = terms;
  const int64_t apart = coarse.step / std::max<int64_t>(1, fine.step);
  if (coarse.count == 1 || fine.count == 1 || apart >= fine.count || coarse.step % fine.step != 0) {
    return static_cast<double>(coarse.count * fine.count);
  }
  return static_cast<double>((coarse.count - 1) * apart + fine.count);
}

// The part of a window's sums that is left after it moved.
double Common(std::array<Window, 2> terms, int64_t moved) {
  if (terms[0].step < terms[1].step) std::swap(terms[0], terms[1]);
  auto [coarse, fine] = terms;
  if (coarse.count == 1) std::swap(coarse, fine);
  if (fine.count == 1) fine.step = 1;
  const double all = Touched({coarse, fine});
  const auto left = [](int64_t count, int64_t gone) {
    return static_cast<double>(std::max<int64_t>(0, count - gone));
  };
  if (fine.count == 1) {
    return moved % coarse.step == 0 ? left(coarse.count, moved / coarse.step) / all : 0;
  }
  if (moved % fine.step != 0) return 0;
  const int64_t apart = coarse.step / fine.step, shift = moved / fine.step;
  if (coarse.step % fine.step == 0 && apart < fine.count) {
    return left(static_cast<int64_t>(all), shift) / all;
  }
  // Blocks that do not touch: they meet their old selves or those next to them.
  const int64_t blocks = moved / coarse.step, rest = moved % coarse.step / fine.step;
  const double same = left(coarse.count, blocks) * left(fine.count, rest),
               next = left(coarse.count, blocks + 1) * left(fine.count, apart - rest);
  return std::min(1.0, (same + next) / all);
}

}  // namespace

LoopNest::LoopNest(const GameFacts& game) : facts(game) {
  for (size_t i = 0; i < facts.levels.size(); ++i) {
    keep[i] = facts.levels[i].held;
    temporal[i].fill(1);
    spatial[i].fill(1);
    extent[i].fill(1);
  }
  for (size_t d = 0; d < facts.loops.size(); ++d) rest[d] = facts.loops[d].bound;
  for (size_t i = 0; i < facts.levels.size(); ++i) {
    for (size_t d = facts.loops.size(); d-- > 0;) {
      spatial_order[i].push_back(static_cast<uint8_t>(d));
    }
  }
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

void LoopNest::Shrink(size_t level, size_t loop, int64_t factor) {
  spatial[level][loop] /= factor;
  rest[loop] *= factor;
  for (size_t j = level; j < facts.levels.size(); ++j) extent[j][loop] /= factor;
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

double LoopNest::Groups(size_t tensor, size_t below, size_t above) const {
  double groups = 1;
  for (const RankFacts& rank : facts.ranks[tensor]) {
    std::array<Window, 2> terms;
    size_t count = 0;
    double others = 1;
    for (const RankFacts::Term& term : rank.terms) {
      int64_t copies = 1, inside = 1;
      for (size_t j = above + 1; j-- > below;) {
        if (spatial[j][term.loop] == 1) continue;
        copies *= spatial[j][term.loop];
        inside = j == 0 ? 1 : extent[j - 1][term.loop];
      }
      if (copies == 1) continue;
      if (count < terms.size()) {
        terms[count++] = {.count = copies, .step = term.coefficient * inside};
      } else {
        others *= static_cast<double>(copies);
      }
    }
    groups *= others * Touched(terms);
  }
  return groups;
}

// Hops of a word: along X from the first column to the last one that needs it, and from the middle
// row up and down each of these columns.
double LoopNest::HopPj(size_t tensor, size_t level) const {
  const LevelFacts& network = facts.levels[level];
  if (!network.HasNetwork()) return 0;
  double stride_x = 1, stride_y = 1;   // of the next loop
  double first_column = 0, width = 0;  // a group's, the former on the average
  double columns = 1, rows = 1;        // of a group; at which groups begin
  double last_row = 0, depth = 0;      // at which a group begins; that it spans
  for (const uint8_t d : spatial_order[level]) {
    const auto copies = static_cast<double>(spatial[level][d]);
    if (copies == 1) continue;
    const bool relevant = facts.loops[d].relevant[tensor];
    const bool along_y = (on_y[level] >> d & 1) != 0;
    double& stride = along_y ? stride_y : stride_x;
    const double reach = (copies - 1) * stride;
    stride *= copies;
    if (along_y) {
      (relevant ? last_row : depth) += reach;
      if (relevant) rows *= copies;
    } else if (relevant) {
      first_column += reach / 2;
    } else {
      width += reach;
      columns *= copies;
    }
  }
  // Rows at which groups begin are taken as spread evenly.
  constexpr double kPlaces = 8;
  const double places = std::min(rows, kPlaces);
  const double centre = static_cast<double>(network.fan_y - 1) / 2;
  double vertical = 0;
  for (double i = 0; i < places; ++i) {
    const double row = places == 1 ? 0 : last_row * i / (places - 1);
    vertical += (std::max(0.0, centre - row) + std::max(0.0, row + depth - centre)) / places;
  }
  const double hops = first_column + width + columns * vertical;
  return hops * network.hop_pj + (1 + std::floor(hops)) * network.router_pj + network.ingress_pj;
}

double LoopNest::WayPj(size_t tensor, size_t below, size_t above) const {
  double pj = 0;
  const double all = Groups(tensor, below, above);
  for (size_t j = below; j <= above; ++j) {
    if (!facts.levels[j].HasNetwork()) continue;
    // Instances between this network and the outer level pass their own words on.
    double copies = 1;
    for (size_t i = j + 1; i <= above; ++i) {
      for (size_t d = 0; d < facts.loops.size(); ++d) copies *= static_cast<double>(spatial[i][d]);
    }
    pj += HopPj(tensor, j) * copies * Groups(tensor, below, j) / all;
  }
  return pj;
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
    const LevelFacts& target = facts.levels[level];
    const double delivered = trips * fetches.words[t];
    const double read = delivered / Multicast(t, level + 1, above);
    const double out = t == 2 ? source.update_pj : source.read_pj;
    const double pj =
        read * source.element_words[t] * (out + WayPj(t, level + 1, above)) +
        delivered * target.element_words[t] * (t == 2 ? target.read_pj : target.fill_pj);
    fetches.per_mac[t] = pj / facts.macs;
    fetches.energy_per_mac += fetches.per_mac[t];
    const double words = t == 2 ? source.write_words : source.read_words;
    if (words > 0) cycles[above] += read * source.element_words[t] / words;
    fetches.stall = std::max(fetches.stall, cycles[above] / compute);
  }
  return fetches;
}

// Tile minus the tile before, over all visits. The loop that advances moves the tile by its step
// less what all loops inside it go back.
double LoopNest::Delivered(size_t tensor, size_t holder) const {
  const std::vector<RankFacts>& ranks = facts.ranks[tensor];
  const double tile = Words(tensor, extent[holder]);
  std::array<int64_t, kMaxRanks> passed{};
  Extents step = extent[holder];
  double later = 0;
  for (size_t j = holder + 1; j < facts.levels.size(); ++j) {
    // Parallel loops of a level are inside its loops in time.
    for (size_t d = 0; d < facts.loops.size(); ++d) step[d] *= spatial[j][d];
    for (const uint8_t d : order[j]) {
      const int64_t count = temporal[j][d];
      double common = 1;
      for (size_t r = 0; r < ranks.size(); ++r) {
        int64_t advance = 0;
        for (const RankFacts::Term& term : ranks[r].terms) {
          if (term.loop == d) advance += term.coefficient * step[d];
        }
        const int64_t moved = advance - passed[r];
        passed[r] += advance * (count - 1);
        if (moved == 0 || common == 0) continue;
        std::array<Window, 2> terms;
        for (size_t k = 0; k < std::min(terms.size(), ranks[r].terms.size()); ++k) {
          const RankFacts::Term& term = ranks[r].terms[k];
          terms[k] = {.count = extent[holder][term.loop], .step = term.coefficient};
        }
        common *= Common(terms, std::abs(moved));
      }
      step[d] *= count;
      const auto visits = static_cast<double>(count);
      later = visits * later + (visits - 1) * tile * (1 - common);
    }
  }
  return tile + later;
}

double LoopNest::Distinct(size_t tensor, size_t level) const {
  double words = 1;
  for (size_t d = 0; d < facts.loops.size(); ++d) {
    if (!facts.loops[d].relevant[tensor]) continue;
    words *= static_cast<double>(facts.loops[d].bound);
    for (size_t j = level + 1; j < facts.levels.size(); ++j) {
      words /= static_cast<double>(spatial[j][d]);
    }
  }
  return words;
}

NestEstimate LoopNest::Estimate() const {
  NestEstimate made;
  const size_t levels = facts.levels.size();
  std::array<double, kMaxLevels> read{}, written{};  // words of one instance
  std::array<double, kMaxLevels> in_use{};           // instances of a level
  double above = 1;
  for (size_t i = levels; i-- > 0;) {
    in_use[i] = above;
    for (size_t d = 0; d < facts.loops.size(); ++d) above *= static_cast<double>(spatial[i][d]);
  }
  made.busy = above;
  const double steps = facts.macs / made.busy;
  for (size_t t = 0; t < kTensors; ++t) {
    // From the MACs outward: what each holder of the tensor fetches from the next one.
    for (size_t next = 0; next < levels;) {
      const bool macs = next == 0;
      const size_t source = macs ? (Keeps(0, t) ? 0 : Above(t, 0)) : Above(t, next - 1);
      // A MAC has no register: it reads its words again at every step.
      const double words = macs ? steps : Delivered(t, next - 1);
      const double sent = words * Groups(t, next, source);  // by one instance of the source
      const double from = facts.levels[source].element_words[t];
      const LevelFacts& outer = facts.levels[source];
      double pj = sent * WayPj(t, next, source) * from * in_use[source];
      if (t == 2) {
        // The first sum of an element starts from nothing.
        const double again = std::max(0.0, sent - Distinct(t, source));
        written[source] += sent * from;
        read[source] += again * from;
        pj += (sent * outer.update_pj + again * outer.read_pj) * from * in_use[source];
      } else {
        read[source] += sent * from;
        pj += sent * outer.read_pj * from * in_use[source];
      }
      if (!macs) {
        const LevelFacts& inner = facts.levels[next - 1];
        const double filled = t == 2 ? std::max(0.0, words - Distinct(t, next - 1)) : words;
        written[next - 1] += filled * inner.element_words[t];
        pj += filled * inner.element_words[t] * inner.fill_pj * in_use[next - 1];
      }
      (source == facts.outermost() ? made.outer_per_mac : made.inner_per_mac)[t] += pj / facts.macs;
      made.energy_per_mac += pj / facts.macs;
      if (source == facts.outermost()) break;
      next = source + 1;
    }
  }
  made.energy_per_mac += facts.mac_pj;
  for (size_t i = 0; i < levels; ++i) {
    const LevelFacts& level = facts.levels[i];
    const auto wait = [&](double words, double rate) {
      if (rate > 0) made.stall = std::max(made.stall, words * level.instances / (rate * steps));
    };
    wait(read[i], level.read_words);
    wait(written[i], level.write_words);
    wait(read[i] + written[i], level.shared_words);
  }
  made.cycles = facts.units / made.busy * std::max(1.0, made.stall);
  return made;
}

}  // namespace tessera::policy
