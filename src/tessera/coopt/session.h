// Runs a method on a problem within a budget and keeps the score: what every accelerator achieves,
// which is the best one, and how it got there. This is the only place that counts measurements.
#ifndef TESSERA_COOPT_SESSION_H_
#define TESSERA_COOPT_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tessera/coopt/searcher.h"
#include "tessera/coopt/simulator.h"
#include "tessera/result.h"

namespace tessera::coopt {

using Outcomes = std::unordered_map<Request, MeasuredOutcome, RequestHash>;

// Best schedules of one accelerator so far.
struct HardwareScore {
  std::vector<std::optional<Measured>> layers;
  size_t measured_layers = 0;
  double value = 0;   // of the measured layers
  double cycles = 0;  // per image, of the measured layers
  bool complete() const { return measured_layers == layers.size(); }
};

struct SessionResult {
  std::optional<size_t> hardware;          // the best; none if none has a schedule for every layer
  std::map<size_t, HardwareScore> scores;  // of all accelerators that were measured
  std::vector<JointImprovement> curve;     // of the network
  std::vector<std::vector<JointImprovement>> layer_curves;  // over the measurements of the layer
  std::vector<int64_t> layer_measurements;
  int64_t measurements = 0;
  int64_t invalid = 0;  // measurements of points that no program exists for
  int64_t refused = 0;  // points that the generator refused; they cost nothing
  bool interrupted = false;
  CooptimizeSeconds seconds;
  std::vector<CooptimizeSeconds> curve_seconds;  // spent at each improvement of the curve

  const HardwareScore* best() const { return hardware ? &scores.at(*hardware) : nullptr; }
};

struct SessionOptions {
  // Measurements per layer. Default: 1,000.
  int64_t measurements = 1'000;

  // As in JointSetup. Default: true.
  bool validity_filter = true;

  // Outcomes of an earlier, interrupted run; they are counted, but not measured again.
  // Default: none.
  const Outcomes* recorded = nullptr;

  // Told of every batch that was measured now, before the method sees it. An error ends the run.
  // May be empty. Default: empty.
  std::function<Result<void>(std::span<const Measured>, const SessionResult&)> observe = {};

  // Asked before every batch whether to stop. May be empty. Default: empty.
  std::function<bool()> interrupted = {};

  // Layers whose value (first measured accelerator) has come this close to `targets` are measured
  // no further; for experiments. Default: none.
  std::vector<double> targets = {};
};

Result<SessionResult> RunSession(JointSearcher& searcher, const CooptProblem& problem,
                                 const Simulator& simulator, const SessionOptions& options);

// Accelerators that are not beaten in both area and cycles, by area.
struct ParetoPoint {
  size_t hardware;
  double area_um2;
  double cycles;  // per image
};
std::vector<ParetoPoint> ParetoFront(const CooptProblem& problem, const SessionResult& result);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_SESSION_H_
