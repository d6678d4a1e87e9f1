// Training configs to and from JSON, and what they describe.
#include "tessera/training/config.h"

#include "tessera/base/json_text.h"
#include "tessera/base/stop.h"
#include "tessera/env.h"

namespace tessera {
namespace {

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

std::string ToJsonText(const TrainingConfig& config) {
  const Json json = {{"env", config.env},
                     {"env_settings", ToJson(config.env_settings)},
                     {"algorithm", config.algorithm},
                     {"preset", config.preset},
                     {"settings", ToJson(config.settings)},
                     {"envs", config.envs},
                     {"seed", config.seed},
                     {"report_every", config.report_every}};
  return ToLine(json);
}

Result<TrainingConfig> ReadTrainingConfig(const Node& node) {
  MapReader reader(node, "config");
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
      report_every{"report_every", 1, kMostReportEvery};
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

Result<Training> MakeTraining(const TrainingConfig& config, int64_t threads, Profiler* profiler,
                              Device device) {
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
  // Wide networks take minutes to make.
  const AbandonScope scope(StopRequested);
  const std::string preset =
      config.preset.empty() ? std::string((*learner_info)->presets()[0].name) : config.preset;
  Result<std::unique_ptr<Learner>> learner = MakeLearner(**learner_info, preset, config.settings,
                                                         {.spec = &training.env->spec(),
                                                          .lanes = config.envs,
                                                          .seed = config.seed,
                                                          .pool = training.pool.get(),
                                                          .profiler = profiler,
                                                          .device = device});
  if (!learner) return learner.error();
  if (scope.abandoned()) return Interrupted("making the networks");
  training.learner = std::move(*learner);
  return training;
}

}  // namespace tessera
