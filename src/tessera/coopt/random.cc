// Uniform random configurations, each measured once: the baseline that every method has to beat.
#include "tessera/coopt/group.h"
#include "tessera/search.h"

namespace tessera::coopt {
namespace {

struct RandomOptions {
  int64_t batch = 16;
};

class RandomTuner final : public GroupTuner {
 public:
  RandomTuner(const Group& group, int64_t batch) : group_(group), batch_(batch) {}

  std::vector<Configuration> Propose() override {
    std::vector<Configuration> configurations;
    // A space may be smaller than the budget; so many draws in vain mean that it is used up.
    for (int64_t misses = 0; std::ssize(configurations) < batch_ && misses < 10'000;) {
      CounterRng rng(group_.setup().seed, StreamId("coopt.random"), draws_++);
      Configuration configuration = group_.Sample(rng);
      if (seen_.insert(HashOf(configuration)).second) {
        configurations.push_back(std::move(configuration));
      } else {
        ++misses;
      }
    }
    return configurations;
  }

  void Observe(std::span<const ConfigurationOutcome> /*outcomes*/) override {}

 private:
  const Group& group_;
  const int64_t batch_;
  uint64_t draws_ = 0;
  std::unordered_set<uint64_t> seen_;
};

class RandomSearcher final : public GroupSearcher {
 public:
  RandomSearcher(const JointSetup& setup, const RandomOptions& options) : GroupSearcher(setup) {
    AddTuners(
        [&](const Group& group) { return std::make_unique<RandomTuner>(group, options.batch); });
  }
};

}  // namespace

MethodInfo JointRandomMethod() {
  return DeclareMethod<RandomSearcher, RandomOptions>(
      {.name = "random-joint",
       .summary = "random for hardware and all schedules together, without repetition",
       .joint_version_of = "random"},
      {{"batch", &RandomOptions::batch, Range{1, 1'000}, "configurations at a time"}});
}

}  // namespace tessera::coopt
