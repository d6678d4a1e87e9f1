// The particle worlds of env/mpe/ on the device, thousands of them at once: the same arithmetic in
// double, the same random starts, the same observations and rewards.
#ifndef TESSERA_CUDA_WORLDS_H_
#define TESSERA_CUDA_WORLDS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/cuda/device.h"
#include "tessera/result.h"

namespace tessera::cuda {

// What an observed number is made of: entry `plus` of the world less entry `minus`, where a world
// is positions, velocities and landmarks, and entry -1 is zero.
struct ObservedNumber {
  int32_t plus = -1, minus = -1;
};

// How the device moves prey that nobody learns for; kNone: it does not.
enum class PreyMotion { kNone, kFlee, kRandom };

struct WorldSpec {
  bool navigation = false;  // else predators and prey
  bool mpe2 = false;        // whose rules
  int predators = 0, prey = 0, landmarks = 0;
  int actors = 0;  // agents with actions; the rest are prey that move as follows
  PreyMotion prey_motion = PreyMotion::kNone;
  double local_ratio = 0.5;
  int64_t horizon = 25, worlds = 1;
  std::vector<ObservedNumber> observed = {};  // of all actors

  int agents() const { return predators + prey; }
  int size() const { return 4 * agents() + 2 * landmarks; }
};

inline constexpr int kMostWorldAgents = 128;
inline constexpr int kGeneratorWords = 625;  // MT19937: its state and how many words are used

// Everything that the next steps depend on, world by world as env/mpe/ keeps it.
struct WorldImage {
  std::span<double> worlds;  // [worlds x size]
  std::span<int64_t> steps, clocks;
  std::span<uint32_t> generators;  // [worlds x kGeneratorWords], openai rules
  std::span<uint64_t> pcg;         // [worlds x 4], mpe2 rules
};

class WorldBatch {
 public:
  // Errors: no device, too little memory, too many agents.
  static Result<std::unique_ptr<WorldBatch>> Make(const WorldSpec& spec);
  virtual ~WorldBatch() = default;

  virtual const WorldSpec& spec() const = 0;
  virtual Result<void> Set(const WorldImage& from, uint64_t seed) = 0;
  virtual Result<void> Get(const WorldImage& to) = 0;
  // Fills all worlds with those of a smaller image, over and over: to measure speed.
  virtual Result<void> SetAlike(const WorldImage& from, uint64_t seed) = 0;

  // One step with the actions of the host, [worlds x actors x 5]; worlds whose episode ends start
  // anew. Rewards are those of the step, observations those of the new start.
  virtual Result<void> Step(std::span<const float> actions) = 0;
  // `steps` steps with choices drawn at random on the device.
  virtual Result<void> StepAtRandom(int64_t steps, uint64_t seed) = 0;
  virtual Result<void> Wait() = 0;

  virtual Result<void> GetObservations(std::span<float> to) = 0;
  virtual Result<void> GetRewards(std::span<float> to) = 0;

  // Returns of episodes, kept while worlds play with a learner: the running one of each world, and
  // a ring of finished ones.
  virtual Result<void> SetReturns(std::span<const double> running,
                                  std::span<const double> ring) = 0;
  virtual Result<void> GetReturns(std::span<double> running, std::span<double> ring) = 0;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_WORLDS_H_
