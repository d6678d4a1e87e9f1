// Proximal policy optimisation for one agent or a team. Algorithms differ in who decides and what
// a critic sees: a unit is one policy with its critic (rl/policy_unit.h).
#ifndef TESSERA_RL_ON_POLICY_H_
#define TESSERA_RL_ON_POLICY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/env.h"
#include "tessera/part.h"

namespace tessera {

struct PpoOptions {
  int64_t hidden = 64, layers = 2;
  int64_t steps = 128, epochs = 4, minibatches = 4;
  double gamma = 0.99, lambda = 0.95, clip = 0.2;
  double entropy = 0.01, actor_rate = 3e-4, critic_rate = 1e-3, clip_norm = 0.5;
  double initial_log_deviation = -0.5;
  bool normalize_advantages = true;
  // What advantages are divided by at least, when they are normalised: differences far below it are
  // noise to which policies should not be driven. Default: 1e-8.
  double advantage_floor = 1e-8;
  // Of products on a device; names of cuda/device.h. Default: "fp32".
  std::string precision = "fp32";
};

const ParameterList<PpoOptions>& PpoParameters();

enum class UnitKind {
  kJoint,        // PPO: one policy sees everything and acts for all agents
  kIndependent,  // IPPO: a policy and a critic of its own observation per agent
  kCentral,      // MAPPO: a policy per agent, critics see all observations
  kShared,       // the same with one critic for all, which learns the mean of their rewards
};

// A learner whose critics can be asked, and whose agents can begin with what others have learned.
class OnPolicyLearner : public Learner {
 public:
  // How likely the choices of an agent are at first: the biases of its policy's outputs become
  // these logarithms. For agents that choose.
  virtual void Prefer(int64_t agent, std::span<const float> logarithms) = 0;

  // From now on each choice of an agent is drawn uniformly with this chance, and by its network
  // otherwise: its policy is that mixture, which gradients are those of. 0: the networks alone.
  virtual void Explore(double chance) = 0;

  // From now on advantages of a rollout count by their order: those of its best part `top` are
  // good, the better the more, all others are equally bad. 0: by their size.
  virtual void RankAdvantages(double top) = 0;

  // From now on what an agent learns of a choice it learns of those beside it as well, with each
  // step away this part of it. For agents whose choices are numbers in order; 0: of that one only.
  virtual void Smooth(int64_t agent, double part) = 0;

  // From now on updates weigh the entropy of policies with this, whatever the options say.
  virtual void SetEntropy(double weight) = 0;

  // From now on updates also raise the logarithm of the probability of these actions, rows of all
  // agents' ones, each in its turn, with this weight (self-imitation: what did best so far). For
  // agents that choose; 0: no longer.
  virtual void Imitate(std::span<const float> actions, double weight) = 0;

  // The networks alone, for learners of the same agents with any number of lanes.
  virtual void SaveNetworks(const std::string& prefix, TensorWriter& writer) const = 0;
  virtual Result<void> LoadNetworks(const std::string& prefix, const TensorReader& reader) = 0;

  // What `rows` rows of all agents' observations are worth, to values: the mean over the units'
  // critics. Not between an Act and its Observe.
  virtual void Values(int64_t rows, std::span<const float> observations,
                      std::span<float> values) = 0;
};

std::unique_ptr<OnPolicyLearner> MakeOnPolicy(const LearnerSetup& setup, const PpoOptions& options,
                                              UnitKind kind);

// The same as a Learner.
Result<std::unique_ptr<Learner>> MakePpo(const LearnerSetup& setup, const PpoOptions& options,
                                         UnitKind kind);
// From settings by name.
Result<std::unique_ptr<Learner>> MakePpo(const LearnerSetup& setup, const Assignments& assignments,
                                         UnitKind kind);

inline constexpr std::string_view kPpoNames[] = {"ppo", "ippo", "mappo"};  // as UnitKind counts
std::vector<Preset> PpoPresets();

// How ppo.cc, ippo.cc and mappo.cc declare themselves.
template <UnitKind kKind>
constexpr LearnerInfo DeclarePpo(std::string_view summary) {
  return {
      .name = kPpoNames[static_cast<int>(kKind)],
      .summary = summary,
      .parameters = [] { return Describe(PpoParameters()); },
      .presets = PpoPresets,
      .make = [](const LearnerSetup& setup,
                 const Assignments& assignments) { return MakePpo(setup, assignments, kKind); }};
}

}  // namespace tessera

#endif  // TESSERA_RL_ON_POLICY_H_
