// Search methods against each other on one layer: the same space, the same evaluator, the same
// budget, several seeds.
#ifndef TESSERA_MAPPER_COMPARE_H_
#define TESSERA_MAPPER_COMPARE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/map.h"
#include "tessera/result.h"
#include "tessera/search.h"
#include "tessera/search/driver.h"

namespace tessera {

// The journal of a run of a comparison: 001.jsonl, or 001.extended.jsonl, which starts again.
JournalFile CompareJournal(const RunDirectory& directory, size_t run, bool extended);

// Seeds are counted up from the first; all have to be numbers.
Result<void> CheckSeeds(const MapSettings& settings, int64_t seeds);

}  // namespace tessera

#endif  // TESSERA_MAPPER_COMPARE_H_
