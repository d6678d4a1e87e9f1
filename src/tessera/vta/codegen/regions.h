// A buffer cut into regions that are ordered on their own.
#ifndef TESSERA_VTA_CODEGEN_REGIONS_H_
#define TESSERA_VTA_CODEGEN_REGIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/scheduler.h"

namespace tessera::vta {

class Regions {
 public:
  // A region begins at 0 and at each cut.
  Regions(Scheduler& code, std::set<int64_t> cuts) {
    cuts.insert(0);
    begins_.assign(cuts.begin(), cuts.end());
    first_slot_ = code.AddSlots(begins_.size());
  }

  // Those that a range has tiles of.
  Scheduler::Slots Of(const Extent& range) const {
    const auto first = std::ranges::upper_bound(begins_, range.begin) - 1 - begins_.begin();
    const auto end = std::ranges::lower_bound(begins_, range.end) - begins_.begin();
    return Scheduler::Slots::Range(first_slot_ + static_cast<Scheduler::Slot>(first),
                                   first_slot_ + static_cast<Scheduler::Slot>(end));
  }

 private:
  std::vector<int64_t> begins_;
  Scheduler::Slot first_slot_ = 0;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_REGIONS_H_
