// tessera train: agents learn in an environment, with a log, checkpoints and resume.
#include <optional>

#include <fmt/format.h>

#include "tessera/cli/command.h"
#include "tessera/cli/play.h"
#include "tessera/cli/run_output.h"
#include "tessera/cli/training.h"
#include "tessera/runs.h"
#include "tessera/train.h"

namespace tessera {
namespace {

struct TrainArguments {
  TrainingFlags training;
  std::optional<int64_t> episodes, report_every, checkpoint_every;
  std::string device = "cpu";
  std::string curriculum;
  bool resume = false;
  bool render = false;
};

std::vector<Flag> Flags(TrainArguments& arguments) {
  std::vector<Flag> flags = MakeTrainingFlags(arguments.training);
  const std::vector<Flag> own = {
      {.name = "--episodes",
       .target = &arguments.episodes,
       .help = "episodes to train, those of a resumed run included (default: 60000)",
       .value = "N",
       .least = 1},
      {.name = "--report-every",
       .target = &arguments.report_every,
       .help = "episodes between rows of the log; also the window of its means (default: 1000)",
       .value = "N",
       .least = 1,
       .most = static_cast<double>(kMostReportEvery)},
      {.name = "--checkpoint-every",
       .target = &arguments.checkpoint_every,
       .help = "episodes between checkpoints, which need --out; one is also due after ten minutes "
               "(default: 5000)",
       .value = "N",
       .least = 1},
      MakeDeviceFlag(arguments.device),
      {.name = "--curriculum",
       .target = &arguments.curriculum,
       .help = "train a policy for --env mapping on the layers, machines and objectives of this "
               "file (docs/policies.md)",
       .value = "FILE"},
      {.name = "--resume",
       .target = &arguments.resume,
       .help = "go on with the run in --out, with the settings and the seed it has"},
      {.name = "--render",
       .target = &arguments.render,
       .help = "show an episode of the trained agents at the end"}};
  flags.insert(flags.end(), own.begin(), own.end());
  return flags;
}

Result<TrainSettings> SettingsOf(const TrainArguments& arguments, const TrainSettings& base) {
  Result<TrainingConfig> config = Apply(arguments.training, base.config);
  if (!config) return config.error();
  TrainSettings settings{
      .config = *std::move(config),
      .episodes = arguments.episodes.value_or(base.episodes),
      .checkpoint_every = arguments.checkpoint_every.value_or(base.checkpoint_every)};
  if (arguments.report_every) settings.config.report_every = *arguments.report_every;
  return settings;
}

// The run of --out, to go on with; flags may lengthen it and nothing else.
Result<RunDirectory> Reopen(const TrainArguments& arguments, const GlobalOptions& options) {
  if (options.out.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--resume needs the folder of the run",
                 .hint = "add --out DIR"};
  }
  Result<RunDirectory> directory = RunDirectory::Open(options.out);
  if (!directory) return directory;
  const auto refuse = [&](std::string message, std::string hint) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = std::move(message),
                 .where = {.file = directory->File("run.json")},
                 .hint = std::move(hint)};
  };
  if (directory->header().kind != kTrainRun) {
    return refuse("this is no run of train", "continue it with 'tessera resume'");
  }
  const Result<TrainSettings> stored = LoadTrainSettings(*directory);
  if (!stored) return stored.error();
  if (options.seed_given && static_cast<uint64_t>(options.seed) != stored->config.seed) {
    return refuse(fmt::format("a resumed run keeps its seed, which is {}, not {}",
                              stored->config.seed, options.seed),
                  "leave --seed out, or start a new run in another folder");
  }
  const Result<TrainSettings> settings = SettingsOf(arguments, *stored);
  if (!settings) return settings.error();
  if (settings->config != stored->config) {
    return refuse("a resumed run keeps its settings, but the flags say otherwise",
                  "leave them out, or start a new run in another folder");
  }
  if (Result<void> changed = ChangeTrainSettings(*settings, *directory); !changed) {
    return changed.error();
  }
  return directory;
}

Result<std::unique_ptr<RunResult>> TrainAndShow(const TrainArguments& arguments, Context& context) {
  const Device device = DeviceOf(arguments.device);
  if (arguments.resume) {
    Result<RunDirectory> directory = Reopen(arguments, context.options);
    if (!directory) return directory.error();
    return ContinueRun(*directory, context, device);
  }
  TrainSettings base;
  base.config.algorithm.clear();  // the environment says what can learn in it
  base.config.seed = static_cast<uint64_t>(context.options.seed);
  const Result<TrainSettings> settings = SettingsOf(arguments, base);
  if (!settings) return settings.error();
  // What cannot be trained leaves no folder behind.
  if (const Result<Training> made = MakeTraining(settings->config, 1, nullptr, device); !made) {
    return made.error();
  }
  if (!context.options.out.empty()) {
    Result<RunDirectory> directory = CreateTrainRun(context.options.out, *settings, context.origin);
    if (!directory) return directory.error();
    return ContinueRun(*directory, context, device);
  }
  Result<std::unique_ptr<RunResult>> result =
      RunTrain(*settings, nullptr, RunContextOf(context, device));
  if (Result<void> shown = ShowRun(kTrainRun, result, context); !shown) return shown.error();
  return result;
}

// --curriculum: a policy, which has a recipe of its own.
Result<void> TrainPolicyAndShow(const TrainArguments& arguments, Context& context) {
  const TrainingFlags& training = arguments.training;
  const bool other = (training.env && *training.env != "mapping") || training.algorithm ||
                     training.preset || training.agents || training.envs || training.sampler ||
                     training.replay || training.compat || !training.settings.empty() ||
                     !training.env_settings.empty() || arguments.episodes ||
                     arguments.report_every || arguments.checkpoint_every || arguments.resume ||
                     arguments.render || arguments.device != "cpu";
  if (other) {
    return Error{
        .kind = ErrorKind::kUsage,
        .message = "--curriculum goes with --env mapping, --seed, --threads and --out only",
        .hint = "the file says everything else; go on with 'tessera resume DIR'"};
  }
  const auto seed = static_cast<uint64_t>(context.options.seed);
  if (context.options.out.empty()) {
    return ShowRun(kPolicyRun,
                   RunPolicyTraining(arguments.curriculum, seed, nullptr, RunContextOf(context)),
                   context);
  }
  Result<RunDirectory> directory =
      CreatePolicyRun(context.options.out, arguments.curriculum, seed, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context);
  return result ? Result<void>() : result.error();
}

Result<void> Run(const TrainArguments& arguments, Context& context) {
  if (!arguments.curriculum.empty()) return TrainPolicyAndShow(arguments, context);
  const Result<std::unique_ptr<RunResult>> result = TrainAndShow(arguments, context);
  if (!result) return result.error();
  if (!arguments.render) return {};
  const Training& training = static_cast<const TrainRunResult&>(**result).outcome.training;
  return ShowEpisode(*training.env, *training.learner, context.output);
}

}  // namespace

extern const Command kTrainCommand = {
    .name = "train",
    .summary = "agents learn in an environment",
    .examples = {{"tessera train --env cooperative_navigation --agents 3 --episodes 2000",
                  "MADDPG, returns per 1,000 episodes"},
                 {"tessera train --preset openai --sampler neighbor --out run1",
                  "the reference recipe with neighbor sampling; log and checkpoints in run1"},
                 {"tessera train --resume --out run1 --episodes 80000", "the same run, longer"},
                 {"tessera train --algo mappo --envs 64 --set steps=64 --render",
                  "MAPPO on 64 environments, then an episode to look at"},
                 {"tessera train --env mapping --curriculum data/policies/loopnest.yaml --out run2",
                  "a policy that maps layers it has not seen; run2/policy.safetensors"}},
    .bind = Bind<TrainArguments, Flags, Run>,
    .details =
        "With --out the folder gets progress.csv, result.json, report.html, a TensorBoard event\n"
        "file and checkpoint.safetensors, which holds everything: a resumed run continues bit for\n"
        "bit. `tessera list algorithms`, `envs` and `samplers` show what there is; with a name\n"
        "after it, the settings of one.",
    .writes_out = true};

}  // namespace tessera
