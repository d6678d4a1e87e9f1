// An algorithm that learns to act in an environment: chooses actions, takes what they led to, and
// improves. All agents of a team are one learner. The loop around it is rl/trainer.h, or a caller
// that asks for actions and reports rewards itself (search/).
#ifndef TESSERA_RL_LEARNER_H_
#define TESSERA_RL_LEARNER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/parameter.h"
#include "tessera/base/result.h"
#include "tessera/base/tensor_file.h"
#include "tessera/base/thread_pool.h"
#include "tessera/rl/env.h"
#include "tessera/rl/profiler.h"

namespace tessera {

enum class ActMode {
  kExplore,  // as training acts
  kGreedy,   // the most probable action, without noise
};

// One step of every environment, row by row as Env shows them.
struct TransitionBatch {
  std::span<const float> observations, states, actions, rewards, next_observations, next_states;
  std::span<const EpisodeEnd> ends;
};

// Means over agents of what an update round computed.
struct UpdateReport {
  double q_loss = 0;   // of critics or value functions
  double p_loss = 0;   // of actors
  double entropy = 0;  // of policies
};

// Contract, checked for every registered learner by learner_conformance.h:
//   Threads      used by one thread at a time; the pool of its setup works inside the calls.
//   Determinism  everything is a function of (spec, options, seed, calls so far), for any number of
//                threads.
//   Memory       Act, Observe and Update allocate nothing once each has run; data is read only
//                through the spans of a call, so that a learner may keep its own copies anywhere.
//   Resume       Load of what Save wrote continues bit for bit.
class Learner {
 public:
  virtual ~Learner() = default;

  // Actions for `rows` environments, row by row; rows is at most the lanes of the setup.
  virtual void Act(int64_t rows, std::span<const float> observations, ActMode mode,
                   std::span<float> actions) = 0;

  // Takes a step of every lane. `actions` are those of the last Act with kExplore. A reward that is
  // not finite is an error that names agent and environment, and nothing is stored.
  virtual Result<void> Observe(const TransitionBatch& batch) = 0;

  // Whether the schedule asks for an update now.
  virtual bool UpdateDue() const = 0;
  // One round: every agent of the team is updated.
  virtual Result<UpdateReport> Update() = 0;

  // Everything that the future depends on; names start with `prefix`.
  virtual void Save(const std::string& prefix, TensorWriter& writer) const = 0;
  virtual Result<void> Load(const std::string& prefix, const TensorReader& reader) = 0;
};

class UpdateTrace;  // rl/off_policy.h

struct LearnerSetup {
  const EnvSpec* spec = nullptr;
  int64_t lanes = 1;  // environments that step together
  uint64_t seed = 1;
  ThreadPool* pool = nullptr;    // may be null; outlives the learner
  Profiler* profiler = nullptr;  // may be null; outlives the learner
  UpdateTrace* trace = nullptr;  // for comparisons with other programs; may be null
};

// A named set of options, such as the recipe of a published code base.
struct Preset {
  std::string_view name;
  std::string_view summary;
  Assignments assignments;
};

struct LearnerInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<ParameterInfo> (*parameters)();
  std::vector<Preset> (*presets)();  // the first is the default
  // `assignments` win over the preset.
  Result<std::unique_ptr<Learner>> (*make)(const LearnerSetup& setup,
                                           const Assignments& assignments);
  bool replays = false;  // learns from replay: `tessera profile` can measure its updates
};

std::span<const LearnerInfo* const> Learners();
Result<const LearnerInfo*> FindLearner(std::string_view name);

// A learner by preset and further assignments. Errors: unknown preset or parameter, an environment
// that the algorithm cannot handle, a batch larger than replay.
Result<std::unique_ptr<Learner>> MakeLearner(const LearnerInfo& info, std::string_view preset,
                                             const Assignments& assignments,
                                             const LearnerSetup& setup);

// The error for a reward that is not finite, or nothing.
Result<void> CheckRewards(const EnvSpec& spec, std::span<const float> rewards);

}  // namespace tessera

#endif  // TESSERA_RL_LEARNER_H_
