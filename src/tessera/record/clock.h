// The clock of budgets and progress.
#ifndef TESSERA_RECORD_CLOCK_H_
#define TESSERA_RECORD_CLOCK_H_

namespace tessera {

// Seconds of a clock that never goes back.
double SteadySeconds();

}  // namespace tessera

#endif  // TESSERA_RECORD_CLOCK_H_
