// How much room and bandwidth an element of each tensor takes at a level of a hierarchy, where
// tensors have widths of their own (docs/cost-loopnest.md, "Bits per tensor").
#ifndef TESSERA_MAPPING_WIDTHS_H_
#define TESSERA_MAPPING_WIDTHS_H_

#include <array>
#include <cstdint>
#include <limits>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"

namespace tessera {

// All in units, of which a word and an element of any tensor have a whole number: the largest that
// there is. Where nobody gives widths, a unit is a word, and so is an element.
struct LevelWidths {
  int64_t word_units = 1;
  int64_t unit_bits = 1;
  std::array<int64_t, LoopProblem::kMaxTensors> units = {1, 1, 1, 1, 1, 1};

  // Words of the level that an element of a tensor takes: 1 exactly where nobody gives widths.
  double words(int tensor) const {
    return static_cast<double>(units[static_cast<size_t>(tensor)]) /
           static_cast<double>(word_units);
  }
  // Whether an element of every tensor is a word.
  bool plain(int num_tensors) const;
  // Of the narrowest tensor.
  int64_t least_units(int num_tensors) const;
};

// Of a level that has so many above it: at the outermost one a read-write tensor has the width of
// outputs, further in that of partial sums.
LevelWidths WidthsAt(const LoopProblem& problem, const Hierarchy& hierarchy, size_t level);

// Units that tiles may fill of so many entries: multiple buffering divides them. Whatever is beyond
// 64 bits is as good as unlimited.
int64_t UsableUnits(const LevelWidths& widths, const MemoryLevel& level, int64_t entries);

}  // namespace tessera

#endif  // TESSERA_MAPPING_WIDTHS_H_
