// A search method of one's own, registered with one line and compared with two of Tessera's.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/search.h"

using namespace tessera;

namespace {

struct ClimbOptions {
  int64_t redraws = 8;
};

// Steps from the best point so far to a neighbour of it.
class ClimbSearcher final : public Searcher {
 public:
  ClimbSearcher(const SearchSetup& setup, const ClimbOptions& options)
      : space_(setup.space), options_(options), seed_(setup.seed) {}

  std::vector<Point> Propose(int64_t n) override {
    std::vector<Point> points;
    while (std::ssize(points) < n) {
      CounterRng rng(seed_, StreamId("own.climb"), draws_++);
      points.push_back(best_ ? space_.Neighbor(best_->point, rng)
                             : space_.Sample(rng, options_.redraws));
    }
    return points;
  }

  void Observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials) {
      if (!trial.outcome.feasible()) continue;
      if (!best_ || trial.outcome.value < best_->outcome.value) best_ = trial;
    }
  }

 private:
  const DecisionSpace& space_;
  const ClimbOptions options_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  std::optional<Trial> best_;
};

Result<void> RegisterClimb() {
  return RegisterMethod(DeclareMethod<ClimbSearcher, ClimbOptions>(
      {.name = "climb", .summary = "steps from the best point to its neighbours"},
      {{"redraws", &ClimbOptions::redraws, Range{0, 10'000}, "tries for a legal first point"}}));
}

Result<Comparison> Compare() {
  Result<Network> network = LoadNetwork("alexnet");
  if (!network) return network.error();
  network->layers.resize(1);
  const Result<Accelerator> machine = LoadAccelerator("eyeriss-256");
  if (!machine) return machine.error();
  MapSettings settings;
  settings.budget.samples = 300;
  const Result<MapJob> job = MakeMapJob(settings, *network, *machine);
  if (!job) return job.error();
  CompareOptions options{.seeds = 2};
  for (const char* name : {"climb:redraws=16", "random", "ga"}) {
    Result<MethodChoice> method = ParseMethodChoice(name);
    if (!method) return method.error();
    options.methods.push_back(*std::move(method));
  }
  return CompareMethods(*job, options, /*threads=*/2);
}

}  // namespace

int main() {
  if (!RegisterClimb() || RegisterClimb()) return 1;  // A name can be taken once.
  const Result<Comparison> comparison = Compare();
  if (!comparison) return std::puts(ToString(comparison.error()).c_str()), 2;
  const std::vector<MethodSummary> methods = Summarize(*comparison);
  for (const MethodSummary& method : methods) {
    std::printf("%s: %g cycles\n", method.method.c_str(), method.median);
  }
  return methods.size() == 3 && methods[0].median > 0 ? 0 : 3;
}
