// What a policy is trained on: a declared distribution of layers, machines and objectives.
#ifndef TESSERA_MAPPER_CURRICULUM_H_
#define TESSERA_MAPPER_CURRICULUM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// As a file says it (docs/policies.md).
struct Curriculum {
  std::string model{CostModels().front()->name};  // Default: the first.

  // Layers: from networks, and of sizes that are drawn. Layers that a held-out network has are
  // never taken, whichever way they come about.
  std::vector<std::string> networks = {};
  double synthetic = 0.5;  // part of the layers that is drawn
  std::vector<std::string> held_out = {};

  // Machines: presets as they are, with other numbers, and drawn from scratch.
  std::vector<std::string> presets = {};
  double varied = 0.35, sampled = 0.15;

  std::vector<Objective> objectives = {Objective::kEdp};  // each as often as it is named
  double bypass = 0.8;  // part of the problems in which levels may pass tensors by

  int64_t problems = 1000;  // different ones
  int64_t rounds = 1;       // of the exact mapper for each; 0: none
  double taught = 1;        // part of the problems that the exact mapper looks at
  int64_t improve = 1000;   // evaluations that look for something better near by
  int64_t epochs = 8;       // of imitation
  int64_t visits = 4;       // of each problem, for reinforcement
  int64_t draws = 16;       // mappings per visit
  int64_t batch = 16;       // problems between two steps of the networks
  double imitate = 1;       // weight of the best known mapping beside the draws
  double entropy = 0.002;
  double learning_rate = 1e-3;  // it falls to a tenth
  std::vector<int64_t> hidden = {64, 64};
};

// Errors: keys and values that are none, with their place.
Result<Curriculum> ParseCurriculum(std::string_view text, const std::string& file);

// One problem of a curriculum.
struct Exercise {
  Layer layer = {};
  Accelerator machine = {};
  Objective objective = Objective::kEdp;
  bool bypass = true;
};

// Draws exercises. Const; any number of threads may use it.
class ExerciseSource {
 public:
  // Errors: networks and machines that cannot be loaded.
  static Result<ExerciseSource> Make(const Curriculum& curriculum);

  // A function of seed and number.
  Exercise Draw(uint64_t seed, uint64_t number) const;

  // Whether a held-out network has a layer with the same loops; no exercise is about one.
  bool IsHeldOut(const Layer& layer) const;

 private:
  Layer DrawLayer(CounterRng& rng) const;
  Accelerator DrawMachine(CounterRng& rng) const;

  Curriculum curriculum_;
  std::vector<Layer> layers_;
  std::vector<Accelerator> machines_;
  std::unordered_set<std::string> held_out_;  // the loops of their layers
};

}  // namespace tessera

#endif  // TESSERA_MAPPER_CURRICULUM_H_
