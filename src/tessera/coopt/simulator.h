// Measuring schedules on the threads of a pool.
#ifndef TESSERA_COOPT_SIMULATOR_H_
#define TESSERA_COOPT_SIMULATOR_H_

#include <cstdint>
#include <span>
#include <string>

#include "tessera/coopt/problem.h"
#include "tessera/part.h"

namespace tessera::coopt {

// One thing to measure.
struct Request {
  uint32_t hardware = 0;  // index in the hardware space
  uint32_t layer = 0;
  SchedulePoint point = {};

  friend bool operator==(const Request&, const Request&) = default;
};
struct RequestHash {
  size_t operator()(const Request& request) const;
};

struct Measured {
  Request request = {};
  MeasuredOutcome outcome = {};
};

// Contract:
//   Determinism  an outcome is a function of problem and request, for any number of threads.
//   Errors       every request has an outcome.
class Simulator {
 public:
  // Both outlive the simulator.
  Simulator(const CooptProblem& problem, ThreadPool& pool) : problem_(problem), pool_(pool) {}

  void Measure(std::span<Measured> batch) const;

 private:
  const CooptProblem& problem_;
  ThreadPool& pool_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_SIMULATOR_H_
