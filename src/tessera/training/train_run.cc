// The loop around the trainer: when to report, when to save, when to stop.
#include "tessera/training/train_run.h"
#include "tessera/base/json_text.h"
#include "tessera/train.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/base/sha256.h"
#include "tessera/base/stop.h"
#include "tessera/env.h"
#include "tessera/record/clock.h"
#include "tessera/record/run_inputs.h"
#include "tessera/rl/profiler.h"
#include "tessera/rl/trainer.h"
#include "tessera/training/config.h"
#include "tessera/training/device_trainer.h"
#include "tessera/training/training_log.h"

namespace tessera {
namespace {

// Rounds of large teams take seconds: what is lost with the machine should not grow with the team.
constexpr double kSecondsBetweenCheckpoints = 600;
// An update that takes longer after a stop is left: what was trained since the last checkpoint is
// lost.
constexpr double kSecondsToFinish = 1;
// What verify may take for networks, whatever it was given.
constexpr double kSecondsToMake = 5;
// Of progress, where there is no terminal: a log should not fill up.
constexpr double kSecondsBetweenLines = 10;

std::string SettingsText(const TrainSettings& settings) {
  return ToLine({{"config", FromText(ToJsonText(settings.config))},
                 {"episodes", settings.episodes},
                 {"checkpoint_every", settings.checkpoint_every}});
}

// Calls `visit` for every setting of the environment that names a file.
template <typename Visit>
Result<void> EachFile(TrainingConfig& config, const Visit& visit) {
  const Result<const EnvInfo*> env = FindEnv(config.env);
  if (!env) return env.error();
  for (auto& [name, value] : config.env_settings) {
    const auto setting = std::ranges::find((*env)->files, name, &FileSetting::name);
    if (setting == (*env)->files.end() || !setting->is_file(value)) continue;
    if (Result<void> visited = visit(*setting, value); !visited) return visited;
  }
  return {};
}

// The episode of the next row of the log.
int64_t NextReport(const TrainSettings& settings, int64_t episodes) {
  const int64_t every = settings.config.report_every;
  const int64_t left = settings.episodes - episodes;
  return episodes + std::min(every - episodes % every, left);
}

class TrainLoop {
 public:
  TrainLoop(const TrainSettings& settings, int threads, const RunHooks& hooks, Device device)
      : settings_(settings), threads_(threads), hooks_(hooks), device_(device) {}

  Result<TrainOutcome> Go() {
    const AbandonScope scope([&] { return Late(); });
    if (Result<void> prepared = Prepare(); !prepared) return prepared.error();
    const Result<void> trained = Run();
    if (log_) {
      if (Result<void> flushed = log_->Flush(); trained.ok() && !flushed) return flushed.error();
    }
    if (!trained) return trained.error();
    return TrainOutcome{.settings = settings_,
                        .profiler = profiler_,
                        .training = std::move(training_),
                        .rows = log_ ? log_->rows() : rows_,
                        .episodes = episodes(),
                        .interrupted = episodes() < settings_.episodes};
  }

 private:
  int64_t episodes() const { return trainer_->progress().episodes; }
  bool Stopped() const { return hooks_.stopped && hooks_.stopped(); }

  // Whether it was asked to stop some time ago.
  bool Late() {
    if (!Stopped()) return false;
    if (!stopped_at_) stopped_at_ = SteadySeconds();
    return SteadySeconds() - *stopped_at_ >= kSecondsToFinish;
  }

  Result<void> Prepare() {
    const Result<TrainingConfig> config = hooks_.directory == nullptr
                                              ? settings_.config
                                              : ConfigInFolder(*hooks_.directory, settings_.config);
    if (!config) return config.error();
    Result<Training> training = MakeTraining(*config, threads_, profiler_.get(), device_);
    if (!training) return training.error();
    training_ = *std::move(training);
    Result<std::unique_ptr<Trainer>> trainer =
        MakeTrainer(training_, {.window = settings_.config.report_every});
    if (!trainer) return trainer.error();
    trainer_ = *std::move(trainer);
    trainer_->Start(settings_.config.seed);
    if (hooks_.directory == nullptr) return {};
    const std::string checkpoint = hooks_.directory->File(kCheckpoint);
    if (std::error_code ignored; std::filesystem::exists(checkpoint, ignored)) {
      const Result<TensorReader> reader = TensorReader::Open(checkpoint);
      if (!reader) return reader.error();
      if (Result<void> loaded = trainer_->Load(*reader); !loaded) return loaded;
    }
    Result<TrainingLog> log = TrainingLog::Open(*hooks_.directory, episodes());
    if (!log) return log.error();
    log_.emplace(*std::move(log));
    return {};
  }

  void Show(ProgressEvent event) {
    shown_at_ = SteadySeconds();
    if (hooks_.progress == nullptr) return;
    const TrainProgress progress = trainer_->progress();
    hooks_.progress->OnProgress(event, {.name = settings_.config.algorithm,
                                        .best = progress.team_return,
                                        .samples = progress.episodes,
                                        .budget = settings_.episodes});
  }

  Result<void> Run() {
    begin_ = shown_at_ = SteadySeconds();
    double saved_at = begin_, line_at = begin_;
    const auto keep_going = [&] {
      if (SteadySeconds() - shown_at_ > 1) Show(ProgressEvent::kAdvanced);
      return !Stopped();
    };
    int64_t saved = episodes();
    while (episodes() < settings_.episodes && !Stopped()) {
      const int64_t next = NextReport(settings_, episodes());
      if (Result<void> ran = trainer_->Run(next, keep_going); !ran) return ran;
      if (episodes() < next) break;
      if (Result<void> added = Report(); !added) return added;
      const double now = SteadySeconds();
      const bool line_due = now - line_at > kSecondsBetweenLines;
      if (line_due) line_at = now;
      Show(episodes() >= settings_.episodes ? ProgressEvent::kDone
           : line_due                       ? ProgressEvent::kMilestone
                                            : ProgressEvent::kAdvanced);
      const bool due = episodes() - saved >= settings_.checkpoint_every ||
                       now - saved_at > kSecondsBetweenCheckpoints;
      if (!due) continue;
      if (Result<void> written = Checkpoint(); !written) return written;
      saved = episodes();
      saved_at = SteadySeconds();
    }
    return episodes() > saved || Stopped() ? Checkpoint() : Result<void>();
  }

  Result<void> Report() {
    const TrainingRow row{trainer_->progress(), SteadySeconds() - begin_};
    if (log_) return log_->Add(row);
    rows_.push_back(row);
    return {};
  }

  Result<void> Checkpoint() {
    if (hooks_.directory == nullptr) return {};
    if (Result<void> prepared = trainer_->PrepareSave(); !prepared) return prepared;
    // The log first: a run that is resumed takes its rows from there.
    if (Result<void> flushed = log_->Flush(); !flushed) return flushed;
    TensorWriter writer;
    trainer_->Save(writer);
    return writer.Write(hooks_.directory->File(kCheckpoint), hooks_.directory->token());
  }

  const TrainSettings& settings_;
  const int threads_;
  const RunHooks& hooks_;
  const Device device_;
  // Where the time goes, by the clock. A device would have to wait after every phase to tell.
  const std::shared_ptr<Profiler> profiler_ =
      device_ == Device::kCpu ? std::make_shared<Profiler>() : nullptr;
  Training training_;
  std::unique_ptr<Trainer> trainer_;
  std::optional<TrainingLog> log_;  // none without a folder
  std::vector<TrainingRow> rows_;   // then they are kept here
  double begin_ = 0, shown_at_ = 0;
  std::optional<double> stopped_at_;
};

// What the folder's checkpoint says of itself has to be the last row of its log.
Result<void> CheckCheckpoint(const RunDirectory& directory, const std::vector<TrainingRow>& rows,
                             Trainer& trainer, Verification& found) {
  const Result<TensorReader> reader = TensorReader::Open(directory.File(kCheckpoint));
  if (!reader) return reader.error();
  if (Result<void> loaded = trainer.Load(*reader); !loaded) return loaded;
  const TrainingRow stored{trainer.progress()};
  ++found.parts.front().files;
  if (rows.empty() || rows.back().progress.episodes != stored.progress.episodes) return {};
  found.parts.front().numbers += std::ssize(TrainingColumns());
  const std::string was = TrainingLine(rows.back()), is = TrainingLine(stored);
  if (was != is) found.discrepancies.push_back({"last row of the log", was, is});
  return {};
}

// Rows of the log, trained again until the deadline; true if all were.
Result<bool> CheckRows(const TrainSettings& settings, const std::vector<TrainingRow>& rows,
                       Trainer& trainer, double deadline, Verification& found) {
  const auto in_time = [&] { return SteadySeconds() < deadline && !StopRequested(); };
  const AbandonScope scope([&] { return !in_time(); });
  for (const TrainingRow& row : rows) {
    const Result<void> ran = trainer.Run(row.progress.episodes, in_time);
    if (!ran && !WasAbandoned()) return ran.error();
    if (!ran || trainer.progress().episodes < row.progress.episodes) {
      found.trusted.push_back(fmt::format(
          "rows of the log from episode {} on: {} of {} episodes were trained again in the time "
          "given",
          row.progress.episodes, trainer.progress().episodes, settings.episodes));
      return false;
    }
    const TrainingRow again{trainer.progress()};
    found.parts.front().numbers += std::ssize(TrainingColumns());
    found.parts.front().trials = again.progress.episodes;
    const std::string was = TrainingLine(row), is = TrainingLine(again);
    if (was == is) continue;
    found.discrepancies.push_back({"row of the log", was, is});
    return false;
  }
  return true;
}

}  // namespace

Result<RunDirectory> CreateTrainRun(const std::string& path, const TrainSettings& settings,
                                    const RunOrigin& origin) {
  TrainSettings saved = settings;
  RunDirectory::Files inputs;
  const auto copy = [&](const FileSetting& setting, std::string& value) -> Result<void> {
    Result<std::string> text = setting.copy(value);
    if (!text) return text.error();
    value = fmt::format("inputs/{}.yaml", setting.name);
    inputs[value] = *std::move(text);
    return {};
  };
  if (Result<void> copied = EachFile(saved.config, copy); !copied) return copied.error();
  return RunDirectory::Create(path,
                              {.kind = std::string(kTrainRun),
                               .origin = origin,
                               .settings = SettingsText(saved),
                               .seed = static_cast<int64_t>(settings.config.seed)},
                              inputs);
}

Result<TrainingConfig> ConfigInFolder(const RunDirectory& directory, const TrainingConfig& config) {
  TrainingConfig found = config;
  const auto find = [&](const FileSetting&, std::string& value) -> Result<void> {
    Result<std::string> path = InputFile(directory.path(), value);
    if (!path) return path.error();
    value = *std::move(path);
    return {};
  };
  if (Result<void> all = EachFile(found, find); !all) return all.error();
  return found;
}

Result<TrainSettings> LoadTrainSettings(const RunDirectory& directory) {
  const Result<Node> root = ParseJson(directory.header().settings, directory.File("run.json"));
  if (!root) return root.error();
  MapReader reader(*root, "run");
  TrainSettings settings;
  const Result<const Node*> config = reader.Require("config");
  if (!config) return config.error();
  Result<TrainingConfig> read = ReadTrainingConfig(**config);
  if (!read) return read.error();
  settings.config = *std::move(read);
  for (const auto& [key, target] : {std::pair("episodes", &settings.episodes),
                                    std::pair("checkpoint_every", &settings.checkpoint_every)}) {
    const Result<const Node*> node = reader.Require(key);
    if (!node) return node.error();
    const Result<int64_t> value = (*node)->AsInt(1, INT64_MAX);
    if (!value) return value.error();
    *target = *value;
  }
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return settings;
}

Result<void> ChangeTrainSettings(const TrainSettings& settings, RunDirectory& directory) {
  return directory.ChangeSettings(SettingsText(settings));
}

Result<TrainOutcome> Train(const TrainSettings& settings, int threads, const RunHooks& hooks,
                           Device device) {
  return TrainLoop(settings, threads, hooks, device).Go();
}

Result<TrainOutcome> TrainAgain(const RunDirectory& directory, const VerifyOptions& options,
                                Verification& found) {
  const double deadline = SteadySeconds() + options.seconds;
  const Result<TrainSettings> settings = LoadTrainSettings(directory);
  if (!settings) return settings.error();
  const Result<TrainingConfig> config = ConfigInFolder(directory, settings->config);
  if (!config) return config.error();
  Result<std::vector<TrainingRow>> rows = ReadTrainingRows(directory);
  if (!rows) return rows.error();
  const auto fresh = [&]() -> Result<Training> {
    const AbandonScope scope(
        [&] { return SteadySeconds() >= deadline + kSecondsToMake || StopRequested(); });
    Result<Training> made = MakeTraining(*config, options.threads, nullptr);
    if (!scope.abandoned()) return made;
    if (StopRequested()) return made;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("making the networks takes longer than {} s",
                                        options.seconds + kSecondsToMake),
                 .hint = "give it more with --seconds"};
  };
  const TrainerOptions window{.window = settings->config.report_every};
  found.part = "agents";
  found.parts.push_back({.name = settings->config.algorithm});
  Result<Training> training = fresh();
  if (!training) return training.error();
  Trainer stored(*training->env, *training->learner, nullptr, window);
  stored.Start(settings->config.seed);
  Result<void> checked = CheckCheckpoint(directory, *rows, stored, found);
  if (!checked) return checked.error();
  Result<Training> second = fresh();
  if (!second) return second.error();
  Trainer trainer(*second->env, *second->learner, nullptr, window);
  trainer.Start(settings->config.seed);
  const Result<bool> all = CheckRows(*settings, *rows, trainer, deadline, found);
  if (!all) return all.error();
  const int64_t episodes = stored.progress().episodes;
  // The whole state, if training got that far: equal arrays have equal bytes.
  if (*all && trainer.progress().episodes == episodes) {
    TensorWriter writer;
    trainer.Save(writer);
    const Result<std::string> hash = Sha256OfFile(directory.File(kCheckpoint), /*stops=*/true);
    if (!hash) return hash.error();
    if (Sha256Hex(writer.Bytes()) != *hash) {
      found.discrepancies.push_back(
          {std::string(kCheckpoint), "another state", "what training again ends with"});
    }
  } else if (*all) {
    found.trusted.push_back(
        fmt::format("the checkpoint of episode {}, which is no row of the log", episodes));
  }
  return TrainOutcome{.settings = *settings,
                      .training = *std::move(training),
                      .rows = *std::move(rows),
                      .episodes = episodes,
                      .interrupted = episodes < settings->episodes};
}

}  // namespace tessera
