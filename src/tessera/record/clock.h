// The clocks of budgets, progress and reports of time.
#ifndef TESSERA_RECORD_CLOCK_H_
#define TESSERA_RECORD_CLOCK_H_

namespace tessera {

// Seconds of a clock that never goes back.
double SteadySeconds();

// Seconds that all threads of this process have computed.
double ProcessorSeconds();

}  // namespace tessera

#endif  // TESSERA_RECORD_CLOCK_H_
