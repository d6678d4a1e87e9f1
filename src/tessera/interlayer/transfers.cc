// Accesses in vectors, cycles by the slowest level.
#include "tessera/interlayer/transfers.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tessera/base/checked.h"

namespace tessera::interlayer {
namespace {

int64_t CyclesFor(int64_t words, const std::optional<Decimal>& rate) {
  return rate ? rate->CeilQuotient(words) : 0;
}

int64_t LevelCycles(const MemoryLevel& level, int64_t reads, int64_t writes) {
  return std::max({CyclesFor(reads, level.read_words_per_cycle),
                   CyclesFor(writes, level.write_words_per_cycle),
                   CyclesFor(reads + writes, level.shared_words_per_cycle)});
}

double AccessEnergy(const MemoryLevel& level, int64_t words, const Decimal& access_pj) {
  return static_cast<double>(CeilDiv(words, level.block_words)) * access_pj.ToDouble() +
         static_cast<double>(words) * level.address_pj.ToDouble();
}

}  // namespace

Spent VectorCost(const Hierarchy& hierarchy, std::span<const Moved> moved, int64_t elements) {
  const Arithmetic& macs = hierarchy.arithmetic;
  std::vector<int64_t> reads(hierarchy.levels.size(), 0), writes(hierarchy.levels.size(), 0);
  Spent spent{.energy_pj = static_cast<double>(elements) *
                           macs.vector_op_pj.value_or(macs.mac_pj).ToDouble()};
  for (const Moved& tensor : moved) {
    const auto at = static_cast<size_t>(tensor.level);
    const MemoryLevel& level = hierarchy.levels[at];
    (tensor.written ? writes : reads)[at] += tensor.words;
    spent.energy_pj +=
        AccessEnergy(level, tensor.words, tensor.written ? level.update_pj : level.read_pj);
  }
  int64_t cycles = CeilDiv(elements, macs.vector_lanes.value_or(macs.instances()));
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    cycles = std::max(cycles, LevelCycles(hierarchy.levels[i], reads[i], writes[i]));
  }
  spent.cycles = static_cast<double>(cycles);
  return spent;
}

Spent PinCost(const Hierarchy& hierarchy, int64_t words, int home) {
  Spent spent;
  int64_t cycles = 0;
  for (size_t i = static_cast<size_t>(home); i < hierarchy.levels.size(); ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    const bool here = i == static_cast<size_t>(home);
    spent.energy_pj += AccessEnergy(level, words, here ? level.fill_pj : level.read_pj);
    cycles = std::max(cycles, LevelCycles(level, here ? 0 : words, here ? words : 0));
  }
  spent.cycles = static_cast<double>(cycles);
  return spent;
}

}  // namespace tessera::interlayer
