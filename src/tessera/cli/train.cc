// tessera train: agents learn in an environment, with a log, checkpoints and resume.
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/folder_lock.h"
#include "tessera/cli/command.h"
#include "tessera/cli/play.h"
#include "tessera/cli/training.h"
#include "tessera/rl/trainer.h"
#include "tessera/rl/training_log.h"

namespace tessera {
namespace {

// Rounds of large teams take seconds: what is lost with the machine should not grow with the team.
constexpr double kSecondsBetweenCheckpoints = 600;
// Of progress, where there is no terminal: a log should not fill up.
constexpr double kSecondsBetweenLines = 10;

struct TrainArguments {
  TrainingFlags training;
  int64_t episodes = 60'000;
  std::optional<int64_t> report_every;
  int64_t checkpoint_every = 5'000;
  bool resume = false;
  bool render = false;
};

std::vector<Flag> Flags(TrainArguments& arguments) {
  std::vector<Flag> flags = MakeTrainingFlags(arguments.training);
  const std::vector<Flag> own = {
      {.name = "--episodes",
       .target = &arguments.episodes,
       .help = "episodes to train, those of a resumed run included",
       .value = "N",
       .least = 1},
      {.name = "--report-every",
       .target = &arguments.report_every,
       .help = "episodes between rows of the log; also the window of its means (default: 1000)",
       .value = "N",
       .least = 1},
      {.name = "--checkpoint-every",
       .target = &arguments.checkpoint_every,
       .help = "episodes between checkpoints, which need --out; one is also due after ten minutes",
       .value = "N",
       .least = 1},
      {.name = "--resume",
       .target = &arguments.resume,
       .help = "go on with the run in --out, with the settings and the seed it has"},
      {.name = "--render",
       .target = &arguments.render,
       .help = "show an episode of the trained agents at the end"}};
  flags.insert(flags.end(), own.begin(), own.end());
  return flags;
}

// The wall clock is for people; nothing that is learned depends on it.
double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class TrainRun {
 public:
  TrainRun(const TrainArguments& arguments, Context& context)
      : arguments_(arguments), context_(context), folder_(context.options.out) {}

  Result<void> Execute() {
    if (Result<void> prepared = Prepare(); !prepared) return prepared;
    const Result<void> trained = Train();
    if (Result<void> flushed = FlushLog(); trained.ok() && !flushed) return flushed;
    if (!trained) return trained;
    if (Result<void> shown = ShowSummary(); !shown) return shown;
    if (!arguments_.render) return {};
    return ShowEpisode(*training_.env, *training_.learner, context_.output);
  }

 private:
  std::string CheckpointPath() const { return folder_ + "/checkpoint.safetensors"; }
  std::string ConfigPath() const { return folder_ + "/config.json"; }

  Result<void> Prepare() {
    TrainingConfig base;
    base.seed = static_cast<uint64_t>(context_.options.seed);
    if (arguments_.resume) {
      if (folder_.empty()) {
        return Error{.kind = ErrorKind::kUsage,
                     .message = "--resume needs the folder of the run",
                     .hint = "add --out DIR"};
      }
      Result<TrainingConfig> stored = ReadTrainingConfig(ConfigPath());
      if (!stored) return stored.error();
      if (context_.options.seed_given && base.seed != stored->seed) {
        return Error{.kind = ErrorKind::kUsage,
                     .message = fmt::format("a resumed run keeps its seed, which is {}, not {}",
                                            stored->seed, base.seed),
                     .where = {.file = ConfigPath()},
                     .hint = "leave --seed out, or start a new run in another folder"};
      }
      base = *stored;
    }
    Result<TrainingConfig> config = Apply(arguments_.training, base);
    if (!config) return config.error();
    if (arguments_.report_every) config->report_every = *arguments_.report_every;
    if (arguments_.resume && *config != base) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = "a resumed run keeps its settings, but the flags say otherwise",
                   .where = {.file = ConfigPath()},
                   .hint = "leave them out, or start a new run in another folder"};
    }
    config_ = *config;
    Result<Training> training = MakeTraining(config_, context_.options.threads, nullptr);
    if (!training) return training.error();
    training_ = std::move(*training);
    trainer_ = std::make_unique<Trainer>(*training_.env, *training_.learner, nullptr,
                                         TrainerOptions{.window = config_.report_every});
    trainer_->Start(config_.seed);
    return arguments_.resume ? LoadRun() : StartRun();
  }

  Result<void> Lock() {
    Result<FolderLock> lock = FolderLock::Take(folder_);
    if (!lock) return lock.error();
    lock_.emplace(*std::move(lock));
    return {};
  }

  Result<void> StartRun() {
    if (folder_.empty()) return {};
    if (Result<void> made = MakeFolder(folder_); !made) return made;
    if (Result<void> locked = Lock(); !locked) return locked;
    if (std::error_code ignored; std::filesystem::exists(CheckpointPath(), ignored)) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = "the folder holds a run already",
                   .where = {.file = folder_},
                   .hint = "add --resume to go on with it, or choose another folder"};
    }
    log_ = std::make_unique<TrainingLog>(folder_);
    return WriteFileAtomically(ConfigPath(), ToText(ToJson(config_)));
  }

  Result<void> LoadRun() {
    if (Result<void> locked = Lock(); !locked) return locked;
    const Result<TensorReader> reader = TensorReader::Open(CheckpointPath());
    if (!reader) return reader.error();
    if (Result<void> loaded = trainer_->Load(*reader); !loaded) return loaded;
    const int64_t episodes = trainer_->progress().episodes;
    Result<TrainingLog> log = TrainingLog::Resume(folder_, episodes);
    if (!log) return log.error();
    log_ = std::make_unique<TrainingLog>(std::move(*log));
    seconds_before_ = log_->rows().empty() ? 0 : log_->rows().back().seconds;
    return {};
  }

  Result<void> Train() {
    const auto observer = context_.start_progress({.name_heading = "algorithm",
                                                   .samples_heading = "episodes",
                                                   .best_heading = "team_return",
                                                   .quiet_seconds = 2});
    begin_ = Seconds();
    double saved_at = begin_, shown_at = begin_, line_at = begin_;
    const auto show = [&](ProgressEvent event) {
      const TrainProgress progress = trainer_->progress();
      observer->OnProgress(event, {.name = config_.algorithm,
                                   .best = progress.team_return,
                                   .samples = progress.episodes,
                                   .budget = arguments_.episodes});
      shown_at = Seconds();
    };
    const auto keep_going = [&] {
      if (Seconds() - shown_at > 1) show(ProgressEvent::kAdvanced);
      return !context_.stopped();
    };
    int64_t reported = trainer_->progress().episodes, saved = reported;
    while (trainer_->progress().episodes < arguments_.episodes && !context_.stopped()) {
      const int64_t next = std::min((reported / config_.report_every + 1) * config_.report_every,
                                    arguments_.episodes);
      const Result<void> run = trainer_->Run(next, keep_going);
      if (!run) return run;
      if (trainer_->progress().episodes < next) break;
      reported = trainer_->progress().episodes;
      if (Result<void> added = Report(); !added) return added;
      const bool line_due = Seconds() - line_at > kSecondsBetweenLines;
      if (line_due) line_at = Seconds();
      show(reported >= arguments_.episodes ? ProgressEvent::kDone
           : line_due                      ? ProgressEvent::kMilestone
                                           : ProgressEvent::kAdvanced);
      const bool due = reported - saved >= arguments_.checkpoint_every ||
                       Seconds() - saved_at > kSecondsBetweenCheckpoints;
      if (!due) continue;
      if (Result<void> written = Checkpoint(); !written) return written;
      saved = reported;
      saved_at = Seconds();
    }
    return trainer_->progress().episodes > saved || context_.stopped() ? Checkpoint()
                                                                       : Result<void>();
  }

  Result<void> Report() {
    const TrainingRow row{trainer_->progress(), seconds_before_ + Seconds() - begin_};
    if (log_ != nullptr) {
      if (Result<void> added = log_->Add(row); !added) return added;
    } else {
      rows_.push_back(row);
    }
    return {};
  }

  Result<void> FlushLog() { return log_ != nullptr ? log_->Flush() : Result<void>(); }

  Result<void> Checkpoint() {
    if (folder_.empty()) return {};
    // The log first: a run that is resumed takes its rows from there.
    if (Result<void> flushed = FlushLog(); !flushed) return flushed;
    TensorWriter writer;
    trainer_->Save(writer);
    return writer.Write(CheckpointPath());
  }

  Result<void> ShowSummary() {
    const std::vector<TrainingRow>& rows = log_ != nullptr ? log_->rows() : rows_;
    std::vector<std::string> columns;
    for (const std::string_view column : TrainingColumns()) columns.emplace_back(column);
    Table table(columns);
    for (const TrainingRow& row : rows) {
      std::vector<Cell> cells;
      for (const double value : TrainingValues(row)) {
        const bool whole = value == static_cast<double>(static_cast<int64_t>(value));
        cells.push_back(whole ? Cell(static_cast<int64_t>(value)) : Cell(value));
      }
      table.AddRow(std::move(cells));
    }
    context_.output.Set("config", ToJson(config_));
    return context_.output.Show(table, "progress");
  }

  const TrainArguments& arguments_;
  Context& context_;
  const std::string folder_;
  std::optional<FolderLock> lock_;  // of the folder, if there is one
  TrainingConfig config_;
  Training training_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<TrainingLog> log_;  // null without a folder
  std::vector<TrainingRow> rows_;     // then they are kept here
  double begin_ = 0, seconds_before_ = 0;
};

Result<void> Run(const TrainArguments& arguments, Context& context) {
  return TrainRun(arguments, context).Execute();
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
                  "MAPPO on 64 environments, then an episode to look at"}},
    .bind = Bind<TrainArguments, Flags, Run>,
    .details =
        "With --out the folder gets config.json, progress.csv, progress.jsonl, a TensorBoard "
        "event\n"
        "file and checkpoint.safetensors, which holds everything: a resumed run continues bit for\n"
        "bit. `tessera list algorithms`, `envs` and `samplers` show what there is; with a name\n"
        "after it, the settings of one.",
    .writes_out = true};

}  // namespace tessera
