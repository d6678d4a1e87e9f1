// Environments: what agents learn in. An environment is a batch of equal worlds that step together;
// one world is a batch of one. To train agents in a world of your own: derive from Env, fill in an
// EnvInfo, call RegisterEnv, and name it in TrainSettings (tessera/train.h); docs/cpp.md has a
// whole one.
#ifndef TESSERA_ENV_H_
#define TESSERA_ENV_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// ---- Environments ------------------------------------------------------------------------------

enum class ActionKind {
  kChoice,      // one of `size` choices: one number, its index
  kSoftChoice,  // weights of `size` choices; a choice made outright is a one-hot vector
  kBox,         // `size` real numbers
};

struct ActionSpec {
  ActionKind kind = ActionKind::kSoftChoice;
  int64_t size = 1;

  // Numbers that one action takes.
  int64_t width() const { return kind == ActionKind::kChoice ? 1 : size; }
};

struct AgentSpec {
  std::string name;
  int64_t observation_size = 0;
  ActionSpec action = {};
};

// An observation as an affine map of a state: input[i] is offsets[i] plus the sum of its terms.
struct ObservationMap {
  // input[i] += factor * state[f]
  struct Term {
    int64_t input = 0, feature = 0;
    float factor = 1;
  };

  int64_t inputs = 0;
  std::vector<Term> terms = {};
  std::vector<float> offsets = {};  // empty: zeros
};

// What an environment is, as data: learners, bindings and docs need nothing else.
struct EnvSpec {
  std::string name;
  std::vector<AgentSpec> agents = {};

  // Steps after which every episode is cut. Default: 0 (episodes end by themselves).
  int64_t horizon = 0;

  // Size of a compact state from which all observations follow by affine maps, one per agent; 0 and
  // no maps if there is no such state. Replay then stores the state alone by itself.
  int64_t state_size = 0;
  std::vector<ObservationMap> observation_maps = {};

  int64_t num_agents() const { return std::ssize(agents); }
  int64_t observation_size() const;  // of all agents
  int64_t action_size() const;       // numbers in the actions of all agents
  // Where an agent's part starts in the row of all agents.
  int64_t observation_offset(int64_t agent) const;
  int64_t action_offset(int64_t agent) const;
};

enum class EpisodeEnd : uint8_t {
  kNone = 0,
  kTerminated = 1,  // a terminal state: nothing comes after it
  kTruncated = 2,   // cut by the horizon: the state has a value
};

// Contract, checked for every environment of Tessera:
//   Threads      used by one thread at a time; a pool given at construction works inside the calls.
//   Determinism  everything is a function of (options, seed, actions), for any number of threads;
//                environment e of a batch does what it would do with another batch size.
//   Ownership    spans stay valid until the environment is destroyed, their contents until the next
//                call. A training loop hands them on and never looks inside, so that they may lie
//                in any memory that the environment and its learner agree on.
//   Resume       Load of what Save wrote continues bit for bit.
class Env {
 public:
  virtual ~Env() = default;

  virtual const EnvSpec& spec() const = 0;
  virtual int64_t batch() const = 0;

  // Starts the first episode of every environment.
  virtual void Reset(uint64_t seed) = 0;

  // Takes one step in every environment. `actions` is [batch x action_size], agent after agent. A
  // NaN is an error that names environment and agent, and nothing has moved.
  virtual Result<void> Step(std::span<const float> actions) = 0;

  // Starts a new episode wherever one has ended. Until then observations() are the final ones.
  virtual void ResetFinished() = 0;

  // Row by row, one row per environment.
  virtual std::span<const float> observations() const = 0;      // [batch x observation_size]
  virtual std::span<const float> states() const { return {}; }  // [batch x state_size]
  virtual std::span<const float> rewards() const = 0;    // [batch x agents], of the last step
  virtual std::span<const EpisodeEnd> ends() const = 0;  // [batch], of the last step

  // Everything that the next steps depend on; names start with `prefix`.
  virtual void Save(const std::string& prefix, TensorWriter& writer) const = 0;
  virtual Result<void> Load(const std::string& prefix, const TensorReader& reader) = 0;
};

// ---- Environments by name ----------------------------------------------------------------------
//
// One descriptor per environment: training, --help, lists and bindings read it.

struct EnvInfo {
  std::string_view name;
  std::string_view summary;
  // Its settings; Describe of its ParameterList. Default: none.
  std::vector<ParameterInfo> (*parameters)() = [] { return std::vector<ParameterInfo>(); };
  // A batch of environments. The pool, if any, must outlive it.
  Result<std::unique_ptr<Env>> (*make)(const Assignments& assignments, int64_t batch,
                                       ThreadPool* pool);
};

// All environments, in the order of `tessera list envs`.
std::span<const EnvInfo* const> Envs();

// Adds an environment, which has to outlive the program, at the end of the list. Errors: a name
// that is taken.
Result<void> RegisterEnv(const EnvInfo& env);

Result<const EnvInfo*> FindEnv(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_ENV_H_
