// The truth, where it is affordable: the best schedule of every layer by measuring all that a lower
// bound does not rule out, and the best accelerator by doing so for all of them.
#ifndef TESSERA_COOPT_EXHAUSTIVE_H_
#define TESSERA_COOPT_EXHAUSTIVE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/coopt/simulator.h"

namespace tessera::coopt {

// The best schedule of a task, of equal ones the first; none if nothing fits. `measured` counts
// what was simulated.
struct LayerOptimum {
  std::optional<Measured> best = {};
  int64_t measured = 0;
};
LayerOptimum BestOfLayer(const CooptProblem& problem, const Simulator& simulator, size_t hardware,
                         size_t layer);

// All candidates of a task with their outcomes.
std::vector<Measured> Landscape(const CooptProblem& problem, const Simulator& simulator,
                                size_t hardware, size_t layer);

struct NetworkOptimum {
  size_t hardware = 0;
  double value = 0;                   // of the objective
  std::vector<Measured> layers = {};  // best of every layer
  int64_t measured = 0;
  std::vector<int64_t> layer_measured = {};
  int64_t hardware_tried = 0;  // the others were ruled out by a lower bound
};

// Whether the schedules of all layers on all accelerators can be walked: those of spaces that do
// not enumerate their candidates have no bound but the floor, so nearly all have to be measured.
inline constexpr int64_t kMostUnbounded = 1'000'000;
Result<void> CheckSize(const CooptProblem& problem, std::span<const size_t> among);

// Told how much was simulated so far, and the best value if there is one; false ends the search.
using GoOn = std::function<bool(int64_t measured, std::optional<double> best)>;

// The best accelerator of `among`, each with the best schedule of every layer. For objectives other
// than energy only: the bounds are of cycles. Accelerators that differ in their buffers share what
// was measured, since their programs are the same. The error is for a space in which no accelerator
// runs all layers, and for a search that was ended.
Result<NetworkOptimum> BestOfNetwork(const CooptProblem& problem, const Simulator& simulator,
                                     std::span<const size_t> among, const GoOn& go_on = {});

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_EXHAUSTIVE_H_
