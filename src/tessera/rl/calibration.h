// What this machine can do at most, measured when a profile starts: the yardstick for GB/s and
// GFLOP/s of training phases.
#ifndef TESSERA_RL_CALIBRATION_H_
#define TESSERA_RL_CALIBRATION_H_

namespace tessera {

struct Calibration {
  double memcpy_gb_per_s = 0;  // copied, from memory to memory
  double fma_gflop_per_s = 0;  // one thread, single precision
};

// Takes about a tenth of a second and 256 MiB.
Calibration Calibrate();

}  // namespace tessera

#endif  // TESSERA_RL_CALIBRATION_H_
