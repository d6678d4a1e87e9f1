// How long a schedule takes at least, from counting alone: what the matrix unit, the ALU, the read
// bus and the store unit have to do, and which of them can work at the same time. It ranks
// schedules without a measurement; it does not replace one.
#ifndef TESSERA_COOPT_ROOFLINE_H_
#define TESSERA_COOPT_ROOFLINE_H_

#include "tessera/coopt/vta_space.h"

namespace tessera::coopt {

// Work of a whole program by stage, in cycles, and what it moves.
struct Work {
  double gemm = 0, alu = 0, load = 0, store = 0;
  double inp_bytes = 0, wgt_bytes = 0, acc_bytes = 0, out_bytes = 0;
  double tiles = 1;       // of outputs
  double chunks = 1;      // of the reduction, per tile
  bool overlaps = false;  // loads run while the matrix unit works
};
Work CountWork(const VtaSpace& space, const SchedulePoint& point);

double EstimateCycles(const VtaSpace& space, const SchedulePoint& point);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_ROOFLINE_H_
