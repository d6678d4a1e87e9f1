#include "tessera/coopt/session.h"

#include <algorithm>

#include "tessera/base/stop.h"
#include "tessera/record/clock.h"

namespace tessera::coopt {
namespace {

// A method that asks this often for nothing but what is known already has run dry.
constexpr int kMaxIdleRounds = 100;

// Adds what the processor takes for a scope to a sum.
class TimedScope {
 public:
  explicit TimedScope(double& sum) : sum_(sum) {}
  ~TimedScope() { sum_ += ProcessorSeconds() - begin_; }
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;

 private:
  double& sum_;
  const double begin_ = ProcessorSeconds();
};

class Session {
 public:
  Session(JointSearcher& searcher, const CooptProblem& problem, const Simulator& simulator,
          const SessionOptions& options)
      : searcher_(searcher), problem_(problem), simulator_(simulator), options_(options) {
    result_.layer_curves.resize(problem.layers().size());
    result_.layer_measurements.resize(problem.layers().size());
  }

  Result<SessionResult> Run() {
    int idle = 0;
    while (!Spent() && idle < kMaxIdleRounds) {
      if (options_.interrupted && options_.interrupted()) {
        result_.interrupted = true;
        break;
      }
      // Nobody waits for what a method learns once the program was asked to stop.
      const AbandonScope scope(StopRequested);
      const std::vector<Request> requests = Proposed();
      if (scope.abandoned()) {
        result_.interrupted = true;
        break;
      }
      if (requests.empty()) break;
      const int64_t before = result_.measurements;
      Result<std::vector<Measured>> answers = Answer(requests);
      if (!answers) return answers.error();
      Tell(*answers);
      idle = result_.measurements == before ? idle + 1 : 0;
    }
    return std::move(result_);
  }

 private:
  std::vector<Request> Proposed() {
    const TimedScope timed(result_.seconds.search);
    return searcher_.Propose();
  }
  void Tell(const std::vector<Measured>& answers) {
    const TimedScope timed(result_.seconds.search);
    searcher_.Observe(answers);
  }

  bool Done(size_t layer) const {
    if (result_.layer_measurements[layer] >= options_.measurements) return true;
    if (options_.targets.empty()) return false;
    const std::vector<JointImprovement>& curve = result_.layer_curves[layer];
    return !curve.empty() && curve.back().value <= options_.targets[layer];
  }
  bool Spent() const {
    for (size_t layer = 0; layer < problem_.layers().size(); ++layer) {
      if (!Done(layer)) return false;
    }
    return true;
  }

  // Outcomes of all requests that the budget allows, in order.
  Result<std::vector<Measured>> Answer(const std::vector<Request>& requests) {
    std::vector<Measured> fresh;
    std::vector<int64_t> planned(problem_.layers().size());
    Outcomes batch;  // what this batch asks for, to measure it once
    for (const Request& request : requests) {
      if (outcomes_.contains(request) || !batch.try_emplace(request).second) continue;
      const size_t layer = request.layer;
      if (Done(layer) ||
          result_.layer_measurements[layer] + planned[layer] >= options_.measurements) {
        batch.erase(request);
        continue;
      }
      ++planned[layer];
      fresh.push_back({request});
    }
    if (Result<void> measured = MeasureFresh(fresh); !measured) return measured.error();
    std::vector<Measured> answers;
    for (const Request& request : requests) {
      const auto known = outcomes_.find(request);
      if (known != outcomes_.end()) answers.push_back({request, known->second});
    }
    return answers;
  }

  Result<void> MeasureFresh(std::vector<Measured>& fresh) {
    std::vector<Measured> to_measure;
    for (Measured& item : fresh) {
      const auto known =
          options_.recorded ? options_.recorded->find(item.request) : Outcomes::const_iterator{};
      if (options_.recorded && known != options_.recorded->end()) {
        item.outcome = known->second;
      } else {
        to_measure.push_back(item);
      }
    }
    {
      const TimedScope timed(result_.seconds.measuring);
      simulator_.Measure(to_measure);
    }
    size_t next = 0;
    for (Measured& item : fresh) {
      if (next < to_measure.size() && to_measure[next].request == item.request) {
        item = to_measure[next++];
      }
      Take(item);
    }
    if (options_.observe && !fresh.empty()) return options_.observe(to_measure, result_);
    return {};
  }

  void Take(const Measured& item) {
    outcomes_.emplace(item.request, item.outcome);
    if (!item.outcome.valid && options_.validity_filter) {
      ++result_.refused;
      return;
    }
    const size_t layer = item.request.layer;
    ++result_.measurements;
    ++result_.layer_measurements[layer];
    if (!item.outcome.valid) {
      ++result_.invalid;
      return;
    }
    std::vector<JointImprovement>& curve = result_.layer_curves[layer];
    if (curve.empty() || item.outcome.value < curve.back().value) {
      curve.push_back(
          {result_.layer_measurements[layer], item.outcome.value, CyclesPerImage(item)});
    }
    HardwareScore& score = result_.scores[item.request.hardware];
    if (score.layers.empty()) score.layers.resize(problem_.layers().size());
    std::optional<Measured>& best = score.layers[layer];
    if (best && best->outcome.value <= item.outcome.value) return;
    score.measured_layers += best ? 0 : 1;
    best = item;
    Update(item.request.hardware, score);
  }

  double CyclesPerImage(const Measured& item) const {
    return static_cast<double>(item.outcome.cycles) /
           static_cast<double>(problem_.images(item.request.hardware));
  }

  void Update(size_t hardware, HardwareScore& score) {
    score.value = score.cycles = 0;  // summed anew in layer order: equal bits whatever came first
    for (size_t layer = 0; layer < score.layers.size(); ++layer) {
      if (!score.layers[layer]) continue;
      score.value += score.layers[layer]->outcome.value;
      score.cycles += static_cast<double>(problem_.layers()[layer].count) *
                      CyclesPerImage(*score.layers[layer]);
    }
    if (!score.complete()) return;
    if (!result_.curve.empty() && score.value >= result_.curve.back().value) return;
    result_.hardware = hardware;
    result_.curve.push_back({result_.measurements, score.value, score.cycles});
    result_.curve_seconds.push_back(result_.seconds);
  }

  JointSearcher& searcher_;
  const CooptProblem& problem_;
  const Simulator& simulator_;
  const SessionOptions& options_;
  SessionResult result_;
  Outcomes outcomes_;
};

}  // namespace

Result<SessionResult> RunSession(JointSearcher& searcher, const CooptProblem& problem,
                                 const Simulator& simulator, const SessionOptions& options) {
  return Session(searcher, problem, simulator, options).Run();
}

std::vector<ParetoPoint> ParetoFront(const CooptProblem& problem, const SessionResult& result) {
  std::vector<ParetoPoint> points;
  for (const auto& [hardware, score] : result.scores) {
    if (!score.complete()) continue;
    const HardwareCost cost = problem.hardware().Cost(hardware, problem.options().clock_mhz);
    points.push_back({hardware, cost.area_um2, score.cycles});
  }
  std::stable_sort(points.begin(), points.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return a.area_um2 != b.area_um2 ? a.area_um2 < b.area_um2 : a.cycles < b.cycles;
  });
  std::vector<ParetoPoint> front;
  for (const ParetoPoint& point : points) {
    if (front.empty() || point.cycles < front.back().cycles) front.push_back(point);
  }
  return front;
}

}  // namespace tessera::coopt
