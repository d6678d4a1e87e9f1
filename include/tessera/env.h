// Environments and learners: what agents learn in, and what learns. An environment is a batch of
// equal worlds that step together; one world is a batch of one. To train agents in a world of your
// own: derive from Env, fill in an EnvInfo, call RegisterEnv, and name it in TrainSettings
// (tessera/train.h); docs/cpp.md has a whole one.
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

  // Whether it decides together with the agent before it: one policy, where a learner has one per
  // agent, which sees the observations of both. Default: false.
  bool with_previous = false;
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
struct FoundMapping;  // of Tessera's own reports

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

  // Where actions are mappings: the best one of all steps so far. Default: none.
  virtual std::shared_ptr<const FoundMapping> Found() const { return nullptr; }
};

// ---- Environments by name ----------------------------------------------------------------------
//
// One descriptor per environment: training, --help, lists and bindings read it.

// A setting that may name a file. A run keeps a copy of it and reads nothing else.
struct FileSetting {
  std::string_view name;
  // Whether a value names a file, and not a part of the program or a word of the setting.
  bool (*is_file)(const std::string& value);
  // What a copy of it holds: text that needs no further file.
  Result<std::string> (*copy)(const std::string& value);
};

struct EnvInfo {
  std::string_view name;
  std::string_view summary;
  // Its settings; Describe of its ParameterList. Default: none.
  std::vector<ParameterInfo> (*parameters)() = [] { return std::vector<ParameterInfo>(); };
  // A batch of environments. The pool, if any, must outlive it.
  Result<std::unique_ptr<Env>> (*make)(const Assignments& assignments, int64_t batch,
                                       ThreadPool* pool);
  // Default: none of its settings names a file.
  std::span<const FileSetting> files = {};
};

// All environments, in the order of `tessera list envs`.
std::span<const EnvInfo* const> Envs();

// Adds an environment, which has to outlive the program, at the end of the list. Errors: a name
// that is taken.
Result<void> RegisterEnv(const EnvInfo& env);

Result<const EnvInfo*> FindEnv(std::string_view name);

// ---- Learners ----------------------------------------------------------------------------------
//
// Algorithms that learn to act: choose actions, take what they led to, and improve. All agents of a
// team are one learner. The loop around it is Train (tessera/train.h), or a caller that asks for
// actions and reports rewards itself.

enum class ActMode {
  kExplore,  // as training acts
  kGreedy,   // the most probable action, without noise
};

// One step of every environment, row by row as Env shows them.
struct TransitionBatch {
  std::span<const float> observations, states, actions, rewards, next_observations, next_states;
  std::span<const EpisodeEnd> ends;

  // [rows x agents]: whether an agent's action had an effect. A learner of policies leaves actions
  // without one out; others may ignore it. Default: empty, all had.
  std::span<const uint8_t> acted = {};
};

// Means over agents of what an update round computed.
struct UpdateReport {
  double q_loss = 0;   // of critics or value functions
  double p_loss = 0;   // of actors
  double entropy = 0;  // of policies
};

// Contract, checked for every learner of Tessera:
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

  // Brings what lies on a device to where Save reads it; before every Save. An error leaves nothing
  // that should be saved.
  virtual Result<void> PrepareSave() { return {}; }
  // Everything that the future depends on; names start with `prefix`.
  virtual void Save(const std::string& prefix, TensorWriter& writer) const = 0;
  virtual Result<void> Load(const std::string& prefix, const TensorReader& reader) = 0;
};

class Profiler;
class UpdateTrace;

// Where a learner keeps its networks and its experience, and computes.
enum class Device : int {
  kCpu = 0,
  kCuda,  // errors where the build or the machine has none
};

struct LearnerSetup {
  const EnvSpec* spec = nullptr;
  int64_t lanes = 1;  // environments that step together
  uint64_t seed = 1;
  ThreadPool* pool = nullptr;    // may be null; outlives the learner
  Profiler* profiler = nullptr;  // of Tessera's own measurements; may be null
  UpdateTrace* trace = nullptr;  // of its comparisons with other programs; may be null
  Device device = Device::kCpu;
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

// Where a run stands. Returns are undiscounted sums of an episode's rewards.
struct TrainProgress {
  int64_t episodes = 0;  // finished
  int64_t env_steps = 0;
  int64_t updates = 0;  // rounds
  // Over the last `window` episodes:
  int64_t window = 0;
  double team_return = 0;       // summed over agents, as the MADDPG reference reports it
  double agent_return = 0;      // mean over agents
  double team_return_ci95 = 0;  // half-width of the 95 % interval of the mean
  UpdateReport losses = {};     // of the last round
};

// An episode to look at: as frames of text and as a drawing.
struct PlayedEpisode {
  std::vector<std::string> frames = {};  // text, the start included; or a line per step
  std::string svg = {};                  // the whole episode, animated; empty without a view
  double team_return = 0;                // rewards of all agents over all steps
};

// Plays an episode in the first environment of a batch, greedily or (learner null) at random; a
// function of the environment, the learner and the seed. Only the particle worlds have a view; of
// other environments the rewards of the steps are shown.
Result<PlayedEpisode> PlayEpisode(Env& env, Learner* learner, uint64_t seed);

// Plays one recorded episode again and returns it as a line with the same keys: `pos`, `lm`,
// `obs0` and, at every step, `a`, `r`, `p`, `v`, `o`. Of each step only `a` is read: per agent an
// integer 0..4 or five weights. Without `pos` and `lm` the start is the one that the original
// program draws from `seed`. `compat` (the argument if absent), `local_ratio`, `predators`,
// `prey`, `agents` and `landmarks` describe the world (the last two may be left to the lengths of
// `pos` and `lm`); further keys are passed through.
Result<std::string> ReplayEpisode(std::string_view line, const Where& where,
                                  const std::string& compat = "openai");

}  // namespace tessera

#endif  // TESSERA_ENV_H_
