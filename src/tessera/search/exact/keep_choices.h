// Which choices of kept tensors a mapper searches: what the options fix, or every subset of it.
#ifndef TESSERA_SEARCH_EXACT_KEEP_CHOICES_H_
#define TESSERA_SEARCH_EXACT_KEEP_CHOICES_H_

#include <cstdint>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/result.h"
#include "tessera/search/exact/mapper.h"

namespace tessera::exact {

// Which tensors each level holds, bit by bit, levels[0] first.
using KeepSet = std::vector<uint8_t>;

struct KeepChoices {
  // Those that hold less come before those that hold more; the last one holds all that is allowed.
  std::vector<KeepSet> sets = {};
  // What differs between them.
  KeepSet open = {};
  // Choices beyond kMostKeepChoices, which are not in the list.
  double left_out = 0;
};

// Choices that a search looks at one by one: five levels with three tensors each have as many. Of
// more, those that pass the fewest tensors by are taken.
inline constexpr int64_t kMostKeepChoices = 4096;

Result<KeepChoices> KeepChoicesOf(const LoopProblem& problem, const Hierarchy& hierarchy,
                                  const MapperOptions& options);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_KEEP_CHOICES_H_
