#include "tessera/coopt/simulator.h"

namespace tessera::coopt {

size_t RequestHash::operator()(const Request& request) const {
  return HashOf(request.point) ^
         ((uint64_t{request.hardware} << 32 | request.layer) * 0x9e3779b97f4a7c15u);
}

void Simulator::Measure(std::span<Measured> batch) const {
  // Tasks are made by one thread.
  for (const Measured& item : batch) problem_.task(item.request.hardware, item.request.layer);
  pool_.ParallelFor(std::ssize(batch), /*chunk=*/1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const Request& request = batch[i].request;
      MeasuredOutcome& outcome = batch[i].outcome;
      outcome = problem_.task(request.hardware, request.layer).space.Measure(request.point);
      if (!outcome.valid) continue;
      outcome.value =
          problem_.Value(request.hardware, request.layer, outcome.cycles, outcome.energy_pj);
    }
  });
}

}  // namespace tessera::coopt
