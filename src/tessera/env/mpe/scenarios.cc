// The two particle worlds as registered environments, with the settings that users may choose.
#include <algorithm>
#include <string>

#include "tessera/env.h"
#include "tessera/env/mpe/mpe_env.h"

namespace tessera {
namespace {

struct PredatorPreyOptions {
  int64_t agents = 3;
  int64_t prey = -1;
  int64_t landmarks = -1;
  std::string controller = "flee";
  std::string compat = "openai";
  int64_t horizon = 25;
};

struct NavigationOptions {
  int64_t agents = 3;
  int64_t landmarks = -1;
  std::string compat = "openai";
  double local_ratio = 0.5;
  int64_t horizon = 25;
};

// Zero agents pass here and fail in Check with a reason.
constexpr Range kCount{0, 10'000}, kCountOrAuto{-1, 10'000}, kHorizon{1, 1'000'000};
const char kHorizonText[] = "steps of an episode";
const char kCompatText[] = "whose rules: of the original environments or of MPE2 1.1.1";

Choices ControllerNames() {
  Choices names;
  for (const PreyController& controller : PreyControllers()) names.emplace_back(controller.name);
  return names;
}

const ParameterList<PredatorPreyOptions>& PredatorPreyParameters() {
  using O = PredatorPreyOptions;
  static const ParameterList<O> parameters = {
      {"agents", &O::agents, kCount, "predators"},
      {"prey", &O::prey, kCountOrAuto, "prey; -1: one for three predators"},
      {"landmarks", &O::landmarks, kCountOrAuto, "obstacles; -1: 2, 3, 4, 8, 16 for 3 to 48"},
      {"controller", &O::controller, ControllerNames(), "what moves the prey"},
      {"compat", &O::compat, {"openai", "mpe2"}, kCompatText},
      {"horizon", &O::horizon, kHorizon, kHorizonText}};
  return parameters;
}

const ParameterList<NavigationOptions>& NavigationParameters() {
  using O = NavigationOptions;
  static const ParameterList<O> parameters = {
      {"agents", &O::agents, kCount, "agents"},
      {"landmarks", &O::landmarks, kCountOrAuto, "targets; -1: as many as agents"},
      {"compat", &O::compat, {"openai", "mpe2"}, kCompatText},
      {"local_ratio", &O::local_ratio, Range{0, 1}, "mpe2: weight of an agent's own contacts"},
      {"horizon", &O::horizon, kHorizon, kHorizonText}};
  return parameters;
}

MpeCompat CompatOf(const std::string& name) {
  return name == "mpe2" ? MpeCompat::kMpe2 : MpeCompat::kOpenai;
}

// The table of the efficient-MARL papers: 2, 3, 4, 8, 16 obstacles for 3, 6, 12, 24, 48 predators.
int64_t ObstaclesFor(int64_t predators) {
  return predators < 6 ? 2 : predators < 12 ? 3 : predators / 3;
}

Result<std::unique_ptr<Env>> Finish(const MpeOptions& options, int64_t batch, ThreadPool* pool) {
  Result<std::unique_ptr<MpeEnv>> env = MakeMpeEnv(options, batch, pool);
  if (!env) return env.error();
  return std::unique_ptr<Env>(std::move(*env));
}

Result<std::unique_ptr<Env>> MakePredatorPrey(const Assignments& assignments, int64_t batch,
                                              ThreadPool* pool) {
  const Result<PredatorPreyOptions> o =
      ReadOptions("environment predator_prey", PredatorPreyParameters(), assignments);
  if (!o) return o.error();
  return Finish({.world = {.scenario = MpeScenario::kPredatorPrey,
                           .compat = CompatOf(o->compat),
                           .predators = o->agents,
                           .prey = o->prey >= 0 ? o->prey : std::max<int64_t>(1, o->agents / 3),
                           .landmarks = o->landmarks >= 0 ? o->landmarks : ObstaclesFor(o->agents)},
                 .prey = o->controller,
                 .horizon = o->horizon},
                batch, pool);
}

Result<std::unique_ptr<Env>> MakeNavigation(const Assignments& assignments, int64_t batch,
                                            ThreadPool* pool) {
  const Result<NavigationOptions> o =
      ReadOptions("environment cooperative_navigation", NavigationParameters(), assignments);
  if (!o) return o.error();
  return Finish({.world = {.scenario = MpeScenario::kNavigation,
                           .compat = CompatOf(o->compat),
                           .predators = o->agents,
                           .prey = 0,
                           .landmarks = o->landmarks >= 0 ? o->landmarks : o->agents,
                           .local_ratio = o->local_ratio},
                 .horizon = o->horizon},
                batch, pool);
}

}  // namespace

extern const EnvInfo kPredatorPreyEnv = {
    .name = "predator_prey",
    .summary = "predators learn to catch faster prey among obstacles (simple_tag)",
    .parameters = [] { return Describe(PredatorPreyParameters()); },
    .make = MakePredatorPrey};

extern const EnvInfo kNavigationEnv = {
    .name = "cooperative_navigation",
    .summary = "agents learn to cover all landmarks without touching each other (simple_spread)",
    .parameters = [] { return Describe(NavigationParameters()); },
    .make = MakeNavigation};

}  // namespace tessera
