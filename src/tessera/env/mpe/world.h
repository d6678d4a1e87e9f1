// The particle worlds of "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments":
// predator_prey (simple_tag) and cooperative_navigation (simple_spread), for any number of agents.
// All arithmetic is in double, in the order of the original programs, so that trajectories equal
// theirs bit for bit.
#ifndef TESSERA_ENV_MPE_WORLD_H_
#define TESSERA_ENV_MPE_WORLD_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/result.h"

namespace tessera {

enum class MpeScenario { kPredatorPrey, kNavigation };

// Whose rules apply; they differ in integration, signs of actions, rewards and starts.
enum class MpeCompat {
  kOpenai,  // multiagent-particle-envs
  kMpe2,    // MPE2 1.1.1, the maintained successor
};

// Numbers of an action: nothing, and a push in each of four directions.
inline constexpr int64_t kMpeActionSize = 5;

// What a world consists of. Agents are predators first, then prey; in navigation all are alike.
struct MpeWorld {
  MpeScenario scenario = MpeScenario::kPredatorPrey;
  MpeCompat compat = MpeCompat::kOpenai;
  int64_t predators = 3, prey = 1;  // navigation: predators counts all agents, prey is 0
  int64_t landmarks = 2;
  double local_ratio = 0.5;  // MPE2 navigation: weight of an agent's own contacts

  int64_t agents() const { return predators + prey; }
  bool is_predator(int64_t agent) const { return agent < predators; }
  double size(int64_t agent) const;
  double acceleration(int64_t agent) const;
  double max_speed(int64_t agent) const;  // 0: none
  double landmark_size() const;
  bool landmarks_collide() const { return scenario == MpeScenario::kPredatorPrey; }
  int64_t observation_size(int64_t agent) const;
};

// Errors: no agents, negative numbers, more than 10,000 entities, a ratio outside 0..1.
Result<void> Check(const MpeWorld& world);

// Positions and velocities of one world, x and y of each agent and landmark. Not owned.
struct MpeState {
  double* positions;
  double* velocities;
  double* landmarks;
};

// The force of an action, acceleration included. A vector is read in float as the originals do;
// MPE2 clips it to 0..1 first. Doubles that no float can hold stay doubles, as they do there.
void DecodeVector(const MpeWorld& world, int64_t agent, std::span<const float> action,
                  double force[2]);
void DecodeVector(const MpeWorld& world, int64_t agent, std::span<const double> action,
                  double force[2]);
// 0: none, 1: -x, 2: +x, 3: -y, 4: +y.
void DecodeChoice(const MpeWorld& world, int64_t agent, int64_t choice, double force[2]);

// One step of physics. `forces` [agents x 2] are the agents' own; it is used up as scratch.
void StepWorld(const MpeWorld& world, double* forces, MpeState state);

// Rewards of all agents in a state.
void WriteRewards(const MpeWorld& world, MpeState state, std::span<double> rewards);
// The same with another exponential function: NumPy's own differs from the C library's in the last
// place, on some machines.
void WriteRewards(const MpeWorld& world, MpeState state, std::span<double> rewards,
                  const std::function<double(double)>& exp);

// Observation of one agent: computed in double, then rounded to Value.
template <typename Value>
void WriteObservation(const MpeWorld& world, MpeState state, int64_t agent, Value* out);

// A new start: positions uniform, velocities zero, drawn in the originals' order. Random has
// double Uniform(double low, double high).
template <typename Random>
void DrawStart(const MpeWorld& world, Random& random, MpeState state) {
  for (int64_t i = 0; i < 2 * world.agents(); ++i) {
    state.positions[i] = random.Uniform(-1, 1);
    state.velocities[i] = 0;
  }
  const double range = world.scenario == MpeScenario::kPredatorPrey ? 0.9 : 1.0;
  for (int64_t i = 0; i < 2 * world.landmarks; ++i) {
    state.landmarks[i] = random.Uniform(-range, range);
  }
}

// The start that the original program draws from a seed.
void DrawSeededStart(const MpeWorld& world, uint64_t seed, MpeState state);

}  // namespace tessera

#endif  // TESSERA_ENV_MPE_WORLD_H_
