// tessera env: an environment's spec and settings, an episode to look at, recorded episodes again.
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/batch.h"
#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/play.h"
#include "tessera/cli/training.h"
#include "tessera/env.h"
#include "tessera/report/train_report.h"
#include "tessera/train.h"

namespace tessera {
namespace {

struct EnvArguments {
  std::string env;
  std::string replay, svg, run;
  bool render = false;
  std::optional<int64_t> agents;
  std::optional<std::string> compat;
  std::vector<std::string> settings;
};

std::vector<Flag> Flags(EnvArguments& arguments) {
  return {{.name = "ENV",
           .target = &arguments.env,
           .help = "environment",
           .choices = [] { return NamesOf(Envs()); }},
          {.name = "--replay",
           .target = &arguments.replay,
           .help = "recorded episodes (.jsonl, .jsonl.gz) to compute again, one JSON line each",
           .value = "FILE"},
          {.name = "--render",
           .target = &arguments.render,
           .help = "play an episode and show it as text"},
          {.name = "--svg",
           .target = &arguments.svg,
           .help = "play an episode and write it as an animated drawing",
           .value = "FILE"},
          {.name = "--run",
           .target = &arguments.run,
           .help = "agents of a training run play (default: random actions)",
           .value = "DIR"},
          {.name = "--agents", .target = &arguments.agents, .help = "agents", .value = "N"},
          {.name = "--compat",
           .target = &arguments.compat,
           .help = "rules: openai, mpe2",
           .value = "NAME"},
          {.name = "--env-set",
           .target = &arguments.settings,
           .help = "a setting of the environment",
           .value = "NAME=VALUE"}};
}

bool NamesWorld(const EnvArguments& arguments) {
  return !arguments.env.empty() || arguments.agents || !arguments.settings.empty();
}

// Episodes describe their worlds themselves; --compat only says whose rules apply to those that
// do not say.
Result<void> Replay(const EnvArguments& arguments, Context& context) {
  if (NamesWorld(arguments)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--replay takes neither an environment nor its settings",
                 .hint = "the episodes of the file name their own"};
  }
  const std::string compat = arguments.compat.value_or("openai");
  const auto replay = [&](std::string_view line, const Where& where) {
    return ReplayEpisode(line, where, compat);
  };
  return AnswerLines(arguments.replay, replay, context);
}

std::string_view KindName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kChoice: return "choice";
    case ActionKind::kSoftChoice: return "soft choice";
    case ActionKind::kBox: return "box";
  }
  return "";
}

Result<void> ShowSpec(const EnvInfo& info, const Env& env, Output& output) {
  const EnvSpec& spec = env.spec();
  output.Set("env", info.name);
  output.Set("horizon", spec.horizon);
  output.Set("state_size", spec.state_size);
  if (Result<void> shown = output.ShowText(
          fmt::format("{}: {}\n{} steps per episode, compact state of {} numbers\n\n", info.name,
                      info.summary, spec.horizon, spec.state_size));
      !shown) {
    return shown;
  }
  Table agents({"agent", "observation_size", "action", "action_size"});
  for (const AgentSpec& agent : spec.agents) {
    agents.Add(agent.name, agent.observation_size, KindName(agent.action.kind), agent.action.size);
  }
  if (Result<void> shown = output.Show(agents, "agents"); !shown) return shown;
  if (Result<void> shown = output.ShowText("\n"); !shown) return shown;
  Table settings({"setting", "type", "default", "range", "text"});
  for (const ParameterInfo& parameter : info.parameters()) {
    settings.Add(parameter.name, TypeName(parameter), ToString(parameter.fallback),
                 RangeText(parameter), parameter.text);
  }
  return output.Show(settings, "settings");
}

// The agents of a run play in its own environment.
Result<void> PlayRun(const EnvArguments& arguments, Context& context) {
  if (NamesWorld(arguments) || arguments.compat) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--run takes neither an environment nor its settings",
                 .hint = "the run has its own"};
  }
  const Result<RunDirectory> directory = RunDirectory::ReadOnly(arguments.run);
  if (!directory) return directory.error();
  const Result<TrainSettings> settings = LoadTrainSettings(*directory);
  if (!settings) return settings.error();
  const Result<TrainingConfig> config = ConfigInFolder(*directory, settings->config);
  if (!config) return config.error();
  Result<Training> training = MakeTraining(*config, context.options.threads, nullptr);
  if (!training) return training.error();
  const Result<TensorReader> reader = TensorReader::Open(directory->File(kCheckpoint));
  if (!reader) return reader.error();
  if (Result<void> loaded = training->learner->Load("learner.", *reader); !loaded) return loaded;
  if (Result<void> loaded = training->env->Load("env.", *reader); !loaded) return loaded;
  if (Result<void> shown = ShowFound(*training->env, context.output); !shown) return shown;
  return ShowEpisode(*training->env, training->learner.get(),
                     static_cast<uint64_t>(context.options.seed), arguments.svg, context.output);
}

Result<void> Run(const EnvArguments& arguments, Context& context) {
  if (!arguments.replay.empty()) return Replay(arguments, context);
  if (!arguments.run.empty()) return PlayRun(arguments, context);
  if (arguments.env.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "which environment?",
                 .hint = "name one of `tessera list envs`, or give --replay FILE"};
  }
  const Result<const EnvInfo*> info = FindEnv(arguments.env);
  if (!info) return info.error();
  TrainingFlags flags;
  flags.agents = arguments.agents;
  flags.compat = arguments.compat;
  flags.env_settings = arguments.settings;
  const Result<TrainingConfig> config = Apply(flags, {});
  if (!config) return config.error();
  Result<std::unique_ptr<Env>> env = (*info)->make(config->env_settings, 1, nullptr);
  if (!env) return env.error();
  if (!arguments.render && arguments.svg.empty()) return ShowSpec(**info, **env, context.output);
  return ShowEpisode(**env, nullptr, static_cast<uint64_t>(context.options.seed), arguments.svg,
                     context.output);
}

}  // namespace

extern const Command kEnvCommand = {
    .name = "env",
    .summary = "environments: their agents and settings, episodes to look at or to check",
    .examples = {{"tessera env predator_prey --agents 6", "agents, observations and settings"},
                 {"tessera env cooperative_navigation --render --seed 3", "an episode as text"},
                 {"tessera env --run run1 --svg episode.svg", "trained agents as a drawing"},
                 {"tessera env --replay episodes.jsonl.gz", "recorded episodes computed again"}},
    .bind = Bind<EnvArguments, Flags, Run>};

}  // namespace tessera
