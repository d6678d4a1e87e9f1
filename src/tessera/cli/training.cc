// Training configs from flags.
#include "tessera/cli/training.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/cli/choices.h"
#include "tessera/env.h"
#include "tessera/part.h"

namespace tessera {
namespace {

// A later value of the same name wins.
void Assign(Assignments& assignments, const std::string& name, const std::string& value) {
  for (auto& [known, old] : assignments) {
    if (known == name) {
      old = value;
      return;
    }
  }
  assignments.emplace_back(name, value);
}

Result<void> AssignAll(const std::vector<std::string>& texts, std::string_view flag,
                       Assignments& assignments) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{
          .kind = ErrorKind::kUsage,
          .message = fmt::format("{} {} is not of the form name=value", flag, Quoted(text))};
    }
    Assign(assignments, text.substr(0, equals), text.substr(equals + 1));
  }
  return {};
}

// What learns in an environment when nobody says: MADDPG, the baseline of the particle worlds,
// where every action may be weights of choices, which is all it knows, and otherwise IPPO.
Result<std::string> AlgorithmFor(const TrainingConfig& config) {
  const Result<const EnvInfo*> info = FindEnv(config.env);
  if (!info) return info.error();
  const Result<std::unique_ptr<Env>> env = (*info)->make(config.env_settings, 1, nullptr);
  if (!env) return env.error();
  const bool soft = std::ranges::all_of((*env)->spec().agents, [](const AgentSpec& agent) {
    return agent.action.kind == ActionKind::kSoftChoice;
  });
  return std::string(soft ? "maddpg" : "ippo");
}

}  // namespace

std::vector<Flag> MakeTrainingFlags(TrainingFlags& flags) {
  return {
      {.name = "--env",
       .target = &flags.env,
       .help = "environment (default: predator_prey)",
       .value = "NAME",
       .choices = [] { return NamesOf(Envs()); }},
      {.name = "--algo",
       .target = &flags.algorithm,
       .help =
           "algorithm (default: maddpg; train takes ippo where actions are not weights of choices)",
       .value = "NAME",
       .choices = [] { return NamesOf(Learners()); }},
      {.name = "--preset",
       .target = &flags.preset,
       .help = "recipe of the algorithm: tessera, openai, tf2marl (default: tessera)",
       .value = "NAME"},
      {.name = "--agents", .target = &flags.agents, .help = "agents that learn", .value = "N"},
      {.name = "--envs",
       .target = &flags.envs,
       .help = "environments that step together (default: 1)",
       .value = "N",
       .least = 1,
       .most = kMostEnvs},
      {.name = "--sampler",
       .target = &flags.sampler,
       .help = "replay sampler, as in neighbor:radius=3",
       .value = "NAME"},
      {.name = "--replay",
       .target = &flags.replay,
       .help = "replay layout: joint, compact, per_agent",
       .value = "NAME"},
      {.name = "--compat",
       .target = &flags.compat,
       .help = "rules of the environment: openai, mpe2",
       .value = "NAME"},
      {.name = "--set",
       .target = &flags.settings,
       .help = "a setting of the algorithm",
       .value = "NAME=VALUE"},
      {.name = "--env-set",
       .target = &flags.env_settings,
       .help = "a setting of the environment",
       .value = "NAME=VALUE"},
  };
}

Flag MakeDeviceFlag(std::string& device) {
  return {.name = "--device",
          .target = &device,
          .help = "where agents learn",
          .value = "NAME",
          .choices =
              [] {
                return Choices{"cpu", "cuda"};
              },
          .closed = true};
}

Device DeviceOf(const std::string& name) { return name == "cuda" ? Device::kCuda : Device::kCpu; }

Result<TrainingConfig> Apply(const TrainingFlags& flags, TrainingConfig config) {
  if (flags.env) config.env = *flags.env;
  if (flags.algorithm) config.algorithm = *flags.algorithm;
  if (flags.preset) config.preset = *flags.preset;
  if (flags.envs) config.envs = *flags.envs;
  if (flags.agents) Assign(config.env_settings, "agents", std::to_string(*flags.agents));
  if (flags.compat) Assign(config.env_settings, "compat", *flags.compat);
  if (flags.sampler) Assign(config.settings, "sampler", *flags.sampler);
  if (flags.replay) Assign(config.settings, "replay", *flags.replay);
  if (Result<void> r = AssignAll(flags.settings, "--set", config.settings); !r) return r.error();
  if (Result<void> r = AssignAll(flags.env_settings, "--env-set", config.env_settings); !r) {
    return r.error();
  }
  if (config.algorithm.empty()) {
    Result<std::string> algorithm = AlgorithmFor(config);
    if (!algorithm) return algorithm.error();
    config.algorithm = *std::move(algorithm);
  }
  return config;
}

}  // namespace tessera
