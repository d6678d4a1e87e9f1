// Training configs from flags and files.
#include "tessera/cli/training.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cli/choices.h"
#include "tessera/env.h"

namespace tessera {
namespace {

constexpr int64_t kMostEnvs = 1 << 20;

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

Json ToJson(const Assignments& assignments) {
  Json object = Json::object();
  for (const auto& [name, value] : assignments) object[name] = value;
  return object;
}

Result<Assignments> ReadAssignments(const Node& node) {
  Assignments assignments;
  for (const Node::Entry& entry : node.entries) {
    const Result<std::string> value = entry.value.AsString();
    if (!value) return value.error();
    assignments.emplace_back(entry.key, *value);
  }
  return assignments;
}

}  // namespace

Json ToJson(const TrainingConfig& config) {
  return {{"env", config.env},
          {"env_settings", ToJson(config.env_settings)},
          {"algorithm", config.algorithm},
          {"preset", config.preset},
          {"settings", ToJson(config.settings)},
          {"envs", config.envs},
          {"seed", config.seed},
          {"report_every", config.report_every}};
}

Result<TrainingConfig> ReadTrainingConfig(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  const Result<Node> node = ParseDocument(*text, path);
  if (!node) return node.error();
  MapReader reader(*node, "config");
  if (Result<void> checked = reader.Check(); !checked) return checked.error();
  TrainingConfig config;
  const std::pair<const char*, std::string*> texts[] = {
      {"env", &config.env}, {"algorithm", &config.algorithm}, {"preset", &config.preset}};
  for (const auto& [key, field] : texts) {
    const Result<const Node*> value = reader.Require(key);
    if (!value) return value.error();
    const Result<std::string> parsed = (*value)->AsString();
    if (!parsed) return parsed.error();
    *field = *parsed;
  }
  const std::pair<const char*, Assignments*> maps[] = {{"env_settings", &config.env_settings},
                                                       {"settings", &config.settings}};
  for (const auto& [key, field] : maps) {
    const Result<const Node*> value = reader.Require(key);
    if (!value) return value.error();
    const Result<Assignments> parsed = ReadAssignments(**value);
    if (!parsed) return parsed.error();
    *field = *parsed;
  }
  struct Number {
    const char* key;
    int64_t least, most, value = 0;
  };
  Number envs{"envs", 1, kMostEnvs}, seed{"seed", INT64_MIN, INT64_MAX},
      report_every{"report_every", 1, INT64_MAX};
  for (Number* number : {&envs, &seed, &report_every}) {
    const Result<const Node*> value = reader.Require(number->key);
    if (!value) return value.error();
    const Result<int64_t> parsed = (*value)->AsInt(number->least, number->most);
    if (!parsed) return parsed.error();
    number->value = *parsed;
  }
  config.envs = envs.value;
  config.seed = static_cast<uint64_t>(seed.value);
  config.report_every = report_every.value;
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return config;
}

std::vector<Flag> MakeTrainingFlags(TrainingFlags& flags) {
  return {
      {.name = "--env",
       .target = &flags.env,
       .help = "environment (default: predator_prey)",
       .value = "NAME",
       .choices = [] { return NamesOf(Envs()); }},
      {.name = "--algo",
       .target = &flags.algorithm,
       .help = "algorithm (default: maddpg)",
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
  return config;
}

Result<Training> MakeTraining(const TrainingConfig& config, int64_t threads, Profiler* profiler) {
  const Result<const EnvInfo*> env_info = FindEnv(config.env);
  if (!env_info) return env_info.error();
  const Result<const LearnerInfo*> learner_info = FindLearner(config.algorithm);
  if (!learner_info) return learner_info.error();
  Training training;
  training.pool = std::make_unique<ThreadPool>(static_cast<int>(threads));
  Result<std::unique_ptr<Env>> env =
      (*env_info)->make(config.env_settings, config.envs, training.pool.get());
  if (!env) return env.error();
  training.env = std::move(*env);
  const std::string preset =
      config.preset.empty() ? std::string((*learner_info)->presets()[0].name) : config.preset;
  Result<std::unique_ptr<Learner>> learner = MakeLearner(**learner_info, preset, config.settings,
                                                         {.spec = &training.env->spec(),
                                                          .lanes = config.envs,
                                                          .seed = config.seed,
                                                          .pool = training.pool.get(),
                                                          .profiler = profiler});
  if (!learner) return learner.error();
  training.learner = std::move(*learner);
  return training;
}

}  // namespace tessera
