// The mapping environment by name: method `marl` seen from the side of reinforcement learning, with
// the choices of `tessera map` as its parameters.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/agents/assignment.h"
#include "tessera/arch/copy.h"
#include "tessera/cost.h"
#include "tessera/env.h"
#include "tessera/env/decision_env.h"
#include "tessera/env/found_mapping.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/space.h"
#include "tessera/workload/copy.h"

namespace tessera {
namespace {

struct Options {
  std::string network = "resnet18-gamma";
  std::string layer = "2";
  std::string accelerator = "maestro-256";
  std::string model;
  std::string objective = "latency";
  std::string sizes = "divisors";
  bool decide_pes = false;
  bool bypass = true;
  std::string constraints;
  std::string reward = "inverse";
  std::string agents = "each";
  std::string actions = "auto";
  int64_t assignment_samples = 2'000;
  double penalty = -1;
  bool repair = true;
  int64_t horizon = 100;
};

ParameterList<Options> OwnParameters() {
  return {
      {"network", &Options::network, Choices{}, "zoo network or file"},
      {"layer", &Options::layer, Choices{}, "a layer of it, by name or number"},
      {"accelerator", &Options::accelerator, Choices{}, "preset or file"},
      {"model", &Options::model, Choices{}, "cost model; empty: the first that suits the machine"},
      {"objective", &Options::objective, Choices(kObjectiveNames.begin(), kObjectiveNames.end()),
       "what is to be small"},
      {"sizes", &Options::sizes, Choices(kTileSizesNames.begin(), kTileSizesNames.end()),
       "tile sizes of dataflows"},
      {"decide_pes", &Options::decide_pes, "dataflows: the number of PEs is a decision"},
      {"bypass", &Options::bypass, "loops: whether a level holds a tensor is a decision"},
      {"constraints", &Options::constraints, Choices{},
       "YAML file with what mappings must be like"},
      {"reward", &Options::reward, Choices{"inverse", "log"},
       "reference / objective, or its logarithm"},
      {"agents", &Options::agents, Choices{},
       "each: an agent per decision; one: one for all; a number: groups by Algorithm 1; a file: "
       "groups of `tessera assign`"},
      {"actions", &Options::actions, Choices{"auto", "choice", "picks", "vector", "soft"},
       "choice: among values; picks: orders loop by loop; vector: real numbers; soft: weights, "
       "for maddpg and masac; auto: vector for one agent, otherwise choice"},
      {"assignment_samples", &Options::assignment_samples, Range{2, 1e7},
       "random points from which Algorithm 1 finds its groups"},
      {"penalty", &Options::penalty, Range{-1e6, 1e6}, "reward of refused mappings"},
      {"repair", &Options::repair, "whether illegal combinations are repaired"},
      {"horizon", &Options::horizon, Range{1, 1e9}, "steps of an episode"}};
}

// Settings of all models, each once.
std::vector<ParameterInfo> ModelParameters() {
  std::vector<ParameterInfo> all;
  for (const CostModelInfo* model : CostModels()) {
    if (model->takes_command) continue;
    for (const ParameterInfo& parameter : model->parameters()) {
      const bool known = std::ranges::any_of(
          all, [&](const ParameterInfo& other) { return other.name == parameter.name; });
      if (!known) all.push_back(parameter);
    }
  }
  return all;
}

std::vector<ParameterInfo> AllParameters() {
  std::vector<ParameterInfo> parameters = Describe(OwnParameters());
  for (ParameterInfo& parameter : ModelParameters()) parameters.push_back(std::move(parameter));
  return parameters;
}

Result<CostModelChoice> ModelOf(const Options& options, const Assignments& settings,
                                const Accelerator& accelerator) {
  if (options.model.empty()) {
    return CostModelChoice::Make(DefaultCostModel(accelerator), settings);
  }
  const Result<const CostModelInfo*> model = FindCostModel(options.model);
  if (!model) return model.error();
  if ((*model)->takes_command) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "environment mapping does not run programs",
                 .hint = "tessera map --method marl prices with one"};
  }
  return CostModelChoice::Make(**model, settings);
}

// What is mapped where, for the report of what was found.
struct Job {
  std::string name;
  Layer layer;
  Accelerator accelerator;
  std::shared_ptr<const MappingProblem> problem;
};

Result<Job> JobOf(const Options& options, const Assignments& model_settings) {
  const Result<Network> network = LoadNetwork(options.network);
  if (!network) return network.error();
  const Result<const NetworkLayer*> layer = FindLayer(*network, options.layer);
  if (!layer) return layer.error();
  Result<Accelerator> accelerator = LoadAccelerator(options.accelerator);
  if (!accelerator) return accelerator.error();
  const Result<CostModelChoice> model = ModelOf(options, model_settings, *accelerator);
  if (!model) return model.error();
  const Result<Objective> objective = FindObjective(options.objective);
  if (!objective) return objective.error();
  const auto sizes = FindName<TileSizes>("tile sizes", options.sizes, kTileSizesNames);
  if (!sizes) return sizes.error();
  const bool may_bypass = !accelerator->hierarchy || accelerator->hierarchy->bypass;
  MappingProblemOptions problem{.objective = *objective,
                                .space = {.sizes = *sizes,
                                          .decide_pes = options.decide_pes,
                                          .decide_keep = options.bypass && may_bypass}};
  if (!options.constraints.empty()) {
    Result<Constraints> constraints = ReadConstraints(options.constraints);
    if (!constraints) return constraints.error();
    problem.space.constraints = *std::move(constraints);
  }
  Result<std::unique_ptr<MappingProblem>> made =
      MappingProblem::Make((*layer)->layer, *accelerator, *model, problem);
  if (!made) return made.error();
  return Job{.name = (*layer)->name,
             .layer = (*layer)->layer,
             .accelerator = *std::move(accelerator),
             .problem = *std::move(made)};
}

// Algorithm 1 on random points of a fixed seed.
Result<DecisionGroups> Grouped(const MappingProblem& problem, int64_t agents, int64_t samples) {
  const auto workspace = problem.MakeWorkspace();
  std::vector<Trial> trials;
  for (int64_t i = 0; i < samples; ++i) {
    CounterRng rng(1, StreamId("env.mapping.assignment"), static_cast<uint64_t>(i));
    trials.push_back({problem.space().Sample(rng, 64), {}});
    trials.back().outcome = problem.Evaluate(trials.back().point, *workspace);
  }
  const Result<AssignmentStudy> study = AssignAgents(problem.space(), trials, {.agents = agents});
  if (!study) return study.error();
  return Apply(study->assignment, problem.space()).agents;
}

// A positive number of agents, if the setting is one.
std::optional<int64_t> NumberOf(const std::string& agents) {
  int64_t number = 0;
  const char* const end = agents.data() + agents.size();
  const auto parsed = std::from_chars(agents.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number > 0) return number;
  return std::nullopt;
}

Result<DecisionGroups> GroupsOf(const Options& options, const MappingProblem& problem) {
  if (options.agents == "each") return AgentForEach(problem.space());
  if (options.agents == "one") return OneAgent(problem.space());
  if (const std::optional<int64_t> number = NumberOf(options.agents)) {
    return Grouped(problem, *number, options.assignment_samples);
  }
  const Result<Assignment> assignment = ReadAssignment(options.agents);
  if (assignment) return Apply(*assignment, problem.space()).agents;
  Error error = assignment.error();
  if (error.hint.empty()) error.hint = "agents is each, one, a number, or a file of tessera assign";
  return error;
}

Result<ActionForm> FormOf(const Options& options) {
  const bool one = options.agents == "one";
  if (options.actions == "vector") return ActionForm::kVector;
  if (options.actions == "picks") return ActionForm::kPicks;
  if (options.actions == "choice") return ActionForm::kChoice;
  if (options.actions == "auto") return one ? ActionForm::kVector : ActionForm::kChoice;
  if (options.agents != "each") {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message =
                     "soft choices are for agents=each: their learners have an actor for "
                     "every choice"};
  }
  return ActionForm::kSoft;
}

Result<std::unique_ptr<Env>> Make(const Assignments& assignments, int64_t batch, ThreadPool* pool) {
  Assignments own, model_settings;
  const std::vector<ParameterInfo> models = ModelParameters();
  for (const auto& setting : assignments) {
    const bool of_model = std::ranges::any_of(
        models, [&](const ParameterInfo& parameter) { return parameter.name == setting.first; });
    (of_model ? model_settings : own).push_back(setting);
  }
  const Result<Options> options = ReadOptions("environment mapping", OwnParameters(), own);
  if (!options) return options.error();
  const Result<Job> job = JobOf(*options, model_settings);
  if (!job) return job.error();
  const Result<DecisionGroups> groups = GroupsOf(*options, *job->problem);
  if (!groups) return groups.error();
  const Result<ActionForm> form = FormOf(*options);
  if (!form) return form.error();
  const auto describe = [job = *job, agents = *groups](const Trial& best, int64_t step) {
    return std::make_shared<FoundMapping>(
        FoundMapping{.name = job.name,
                     .layer = job.layer,
                     .accelerator = job.accelerator,
                     .mapping = job.problem->space().Decode(best.point),
                     .cost = job.problem->CostOf(best),
                     .objective = job.problem->objective(),
                     .value = best.outcome.value,
                     .step = step,
                     .agents = NamesOf(job.problem->space(), agents)});
  };
  return MakeDecisionEnv(
      job->problem,
      {.reward = options->reward == "log" ? CostReward::kLog : CostReward::kInverse,
       .agents = *groups,
       .form = *form,
       .penalty = options->penalty,
       .repair = options->repair,
       .horizon = options->horizon,
       .describe = describe},
      batch, pool);
}

Result<std::string> TextCopy(const std::string& file) { return ReadTextFile(file); }

constexpr std::array<FileSetting, 4> kFiles = {
    {{"network", [](const std::string& value) { return !IsZooNetwork(value); }, NetworkCopy},
     {"accelerator", [](const std::string& value) { return !IsPreset(value); }, AcceleratorCopy},
     {"constraints", [](const std::string& value) { return !value.empty(); }, TextCopy},
     {"agents",
      [](const std::string& value) {
        return value != "each" && value != "one" && !NumberOf(value);
      },
      TextCopy}}};

}  // namespace

extern const EnvInfo kMappingEnv = {
    .name = "mapping",
    .summary = "mapping a layer: an action is a mapping, the reward is high where it costs little",
    .parameters = AllParameters,
    .make = Make,
    .files = kFiles};

}  // namespace tessera
