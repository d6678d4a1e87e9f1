// Checks a mapping run from its files alone, without the code that searched. Every reported mapping
// is read from its text, checked for legality and priced again: by walking its loops where the
// layer is small, otherwise by the cost model. Bounds, gaps, statuses and totals are computed
// again; proved bounds are compared with the journal of the proof and with random mappings, and
// proved again as far as time allows; every journalled evaluation is repeated; exported files are
// compared with the mappings.
#ifndef TESSERA_MAPPER_VERIFY_H_
#define TESSERA_MAPPER_VERIFY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/map.h"
#include "tessera/mapping.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// Errors: files that are missing or cannot be read. Wrong numbers are discrepancies; bounds whose
// proofs could not be repeated in the time given are listed as trusted.
Result<Verification> VerifyMapRun(const RunDirectory& directory, const VerifyOptions& options);

// Proves a layer again, until `bound` is reached or SteadySeconds() passes the deadline.
struct ProvedAgain {
  bool reached = false;   // nothing is below `bound`
  bool complete = false;  // nothing is left to search
  double least = 0;       // value of the best mapping that was found or given; infinite: none
};
Result<ProvedAgain> ProveAgain(const MapJob& job, const LayerMapping& made,
                               const std::optional<Mapping>& known, double bound, double deadline);

}  // namespace tessera

#endif  // TESSERA_MAPPER_VERIFY_H_
