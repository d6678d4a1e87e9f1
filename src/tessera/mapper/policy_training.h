// Trains a policy: its networks imitate the best mappings that the exact mapper and a search near
// by know, and then play themselves, learning from what their mappings cost.
#ifndef TESSERA_MAPPER_POLICY_TRAINING_H_
#define TESSERA_MAPPER_POLICY_TRAINING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/mapper/curriculum.h"
#include "tessera/part.h"
#include "tessera/policy/networks.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// A row of the log: after so many steps of the networks.
struct PolicyProgress {
  std::string phase = {};  // "labels", "imitation", "reinforcement"
  int64_t step = 0, steps = 0;
  double loss = 0;   // of imitation: mean -log p of a decision
  double first = 0;  // log2 of the most probable mapping's cost over the best known, mean
  double best = 0;   // the same for the best draw of a visit
};

// Contract: the networks after n steps are a function of curriculum and seed, on any number of
// threads. Used by one thread at a time.
class PolicyTrainer {
 public:
  // Errors: networks, machines and models that cannot be loaded.
  static Result<std::unique_ptr<PolicyTrainer>> Make(const Curriculum& curriculum, uint64_t seed);
  ~PolicyTrainer();

  // The best known mapping of some more exercises, or one step of the networks; false once all is
  // done. `stopped`, asked on any thread: a step that is cut short is an error of kind kInterrupted
  // and has changed nothing.
  Result<bool> Step(ThreadPool& pool, const std::function<bool()>& stopped = {});

  PolicyProgress progress() const;
  const policy::Networks& networks() const;

  // What the exercises are: equal ones have equal hashes.
  Result<std::string> DataHash(const std::function<bool()>& stopped = {}) const;

  // Of the labels of the first exercises, made anew: equal ones have equal hashes. A training that
  // has other labels ends in another file.
  Result<std::string> LabelHash(ThreadPool& pool, const std::function<bool()>& stopped = {}) const;

  // Everything that Step goes on from.
  void Save(TensorWriter& writer) const;
  Result<void> Load(const TensorReader& reader, const std::function<bool()>& stopped = {});

 private:
  struct State;
  explicit PolicyTrainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The problem of an exercise.
Result<std::unique_ptr<MappingProblem>> ProblemOf(const Exercise& exercise,
                                                  const std::string& model);

// A mapping and what it costs; the point is empty where nothing feasible is known.
struct KnownMapping {
  Point point = {};
  double value = 0;
  bool known = false;
};

// The best mapping that so many rounds of the exact mapper know. Unknown where it cannot take the
// problem. `stopped`: some mapping or none.
KnownMapping TeachExactly(const MappingProblem& problem, int64_t rounds,
                          const std::function<bool()>& stopped = {});

// The best one found by so many evaluations of walks from random starts, or by fewer if `stopped`:
// a function of space, cost model and random numbers, whatever the exact mapper does. Unknown where
// nothing is feasible.
KnownMapping TeachByWalks(const MappingProblem& problem, int64_t evaluations, CounterRng& rng,
                          const std::function<bool()>& stopped = {});

// The best one found by so many steps from neighbour to neighbour, or by fewer if `stopped`.
void ImproveNearBy(const MappingProblem& problem, int64_t evaluations, CounterRng& rng,
                   KnownMapping& known, const std::function<bool()>& stopped = {});

}  // namespace tessera

#endif  // TESSERA_MAPPER_POLICY_TRAINING_H_
