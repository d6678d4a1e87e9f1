// Training of policies as a run: its log, checkpoints and the file that it ends with.
#include "tessera/mapper/policy_run.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/arch/copy.h"
#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/base/stop.h"
#include "tessera/base/text.h"
#include "tessera/map.h"
#include "tessera/mapper/curriculum.h"
#include "tessera/mapper/policy_training.h"
#include "tessera/record/clock.h"
#include "tessera/record/run_inputs.h"
#include "tessera/training/training_log.h"
#include "tessera/workload/copy.h"

namespace tessera {
namespace {

constexpr std::string_view kCurriculum = "inputs/curriculum.yaml";
constexpr std::string_view kCheckpointFile = "checkpoint.safetensors";
constexpr std::string_view kEvents = "events.out.tfevents.0.tessera";
constexpr double kSecondsBetweenCheckpoints = 60;
constexpr int64_t kRows = 100;  // of the log, about
constexpr std::array<std::string_view, 3> kPhases = {"labels", "imitation", "reinforcement"};

class PolicyLoop {
 public:
  PolicyLoop(PolicyTrainer& trainer, const RunHooks& hooks) : trainer_(trainer), hooks_(hooks) {}

  Result<void> Go(ThreadPool& pool) {
    if (Result<void> restored = Restore(); !restored) return restored;
    double saved = SteadySeconds();
    // A training that has ended has no more rows.
    bool more = trainer_.progress().step < trainer_.progress().steps;
    while (more && !Stopped()) {
      const Result<bool> stepped = trainer_.Step(pool, hooks_.stopped);
      // A step that was cut short is none: what came before it is kept.
      if (!stepped && stepped.error().kind == ErrorKind::kInterrupted) break;
      if (!stepped) return stepped.error();
      more = *stepped;
      Note(!more);
      if (hooks_.directory == nullptr || SteadySeconds() - saved < kSecondsBetweenCheckpoints)
        continue;
      if (Result<void> written = Checkpoint(); !written) return written;
      saved = SteadySeconds();
    }
    return hooks_.directory == nullptr ? Result<void>() : Checkpoint();
  }

  const std::vector<PolicyRow>& rows() const { return rows_; }

 private:
  bool Stopped() const { return hooks_.stopped && hooks_.stopped(); }

  void Note(bool last) {
    const PolicyProgress at = trainer_.progress();
    const int64_t every = std::max<int64_t>(1, at.steps / kRows);
    const bool due = last || at.step % every == 0;
    if (due) {
      rows_.push_back({.phase = at.phase,
                       .step = at.step,
                       .loss = at.loss,
                       .first_log2 = at.first,
                       .best_log2 = at.best});
    }
    if (hooks_.progress == nullptr) return;
    hooks_.progress->OnProgress(last  ? ProgressEvent::kDone
                                : due ? ProgressEvent::kMilestone
                                      : ProgressEvent::kAdvanced,
                                {.name = at.phase,
                                 .best = at.phase == kPhases[2] ? at.first : at.loss,
                                 .samples = at.step,
                                 .budget = at.steps});
  }

  Result<void> Restore() {
    if (hooks_.directory == nullptr) return {};
    const std::string path = hooks_.directory->File(kCheckpointFile);
    if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return {};
    const Result<TensorReader> reader = TensorReader::Open(path);
    if (!reader) return reader.error();
    if (Result<void> loaded = trainer_.Load(*reader, hooks_.stopped); !loaded) return loaded;
    const Result<int64_t> count = reader->Count("log.numbers");
    if (!count) return count.error();
    std::vector<double> numbers(static_cast<size_t>(*count));
    if (Result<void> read = reader->Read<double>("log.numbers", numbers); !read) return read;
    for (size_t i = 0; i + 4 < numbers.size(); i += 5) {
      const double phase = std::clamp(numbers[i], 0.0, 2.0),
                   step = std::clamp(numbers[i + 1], 0.0, 1e15);
      rows_.push_back({.phase = std::string(kPhases[static_cast<size_t>(phase)]),
                       .step = static_cast<int64_t>(step),
                       .loss = numbers[i + 2],
                       .first_log2 = numbers[i + 3],
                       .best_log2 = numbers[i + 4]});
    }
    return {};
  }

  // Everything to go on from, and the curves for TensorBoard.
  Result<void> Checkpoint() const {
    std::vector<double> numbers;
    std::string events = TensorBoardEvent(0, 0, {});
    for (const PolicyRow& row : rows_) {
      const auto phase = std::ranges::find(kPhases, row.phase) - kPhases.begin();
      numbers.insert(numbers.end(), {static_cast<double>(phase), static_cast<double>(row.step),
                                     row.loss, row.first_log2, row.best_log2});
      events += TensorBoardEvent(0, row.step,
                                 {{"loss", static_cast<float>(row.loss)},
                                  {"first_log2", static_cast<float>(row.first_log2)},
                                  {"best_log2", static_cast<float>(row.best_log2)}});
    }
    TensorWriter writer;
    trainer_.Save(writer);
    writer.Add("log.numbers", std::span<const double>(numbers));
    const RunDirectory& directory = *hooks_.directory;
    Result<void> written = writer.Write(directory.File(kCheckpointFile), directory.token());
    if (!written) return written;
    return WriteFileAtomically(directory.File(kEvents), events, directory.token());
  }

  PolicyTrainer& trainer_;
  const RunHooks& hooks_;
  std::vector<PolicyRow> rows_;
};

Result<Curriculum> ReadCurriculum(const std::string& file) {
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  return ParseCurriculum(*text, file);
}

// Copies of the user's own networks and machines; where they are by the names in the curriculum.
Result<nlohmann::ordered_json> CopyOwnFiles(const Curriculum& curriculum,
                                            RunDirectory::Files& inputs) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  const auto put = [&](const std::string& name, Result<std::string> text) -> Result<void> {
    if (!text) return text.error();
    files[name] = fmt::format("inputs/own-{}.yaml", files.size() + 1);
    inputs[files[name]] = *std::move(text);
    return {};
  };
  for (const std::vector<std::string>* names : {&curriculum.networks, &curriculum.held_out}) {
    for (const std::string& name : *names) {
      if (IsZooNetwork(name) || files.contains(name)) continue;
      if (Result<void> copied = put(name, NetworkCopy(name)); !copied) return copied.error();
    }
  }
  for (const std::string& name : curriculum.presets) {
    if (IsPreset(name) || files.contains(name)) continue;
    if (Result<void> copied = put(name, AcceleratorCopy(name)); !copied) return copied.error();
  }
  return files;
}

// The curriculum of a run, whose own files are read from its folder and from nowhere else.
Result<Curriculum> CurriculumOf(const RunDirectory& directory) {
  Result<Curriculum> curriculum = ReadCurriculum(directory.File(kCurriculum));
  if (!curriculum) return curriculum;
  const Json settings = FromText(directory.header().settings);
  const Json files = settings.is_object() ? settings.value("files", Json::object()) : Json();
  const auto own = [&](std::string& name) -> Result<void> {
    const auto file = files.is_object() ? files.find(name) : files.end();
    if (!files.is_object() || file == files.end() || !file->is_string()) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("{} is a file that the run has no copy of", Quoted(name)),
                   .where = {.file = directory.File(kCurriculum)},
                   .hint = "a run reads nothing outside of its folder"};
    }
    Result<std::string> path = InputFile(directory.path(), file->get<std::string>());
    if (!path) return path.error();
    name = *std::move(path);
    return {};
  };
  for (std::vector<std::string>* names : {&curriculum->networks, &curriculum->held_out}) {
    for (std::string& name : *names) {
      if (IsZooNetwork(name)) continue;
      if (Result<void> found = own(name); !found) return found.error();
    }
  }
  for (std::string& name : curriculum->presets) {
    if (IsPreset(name)) continue;
    if (Result<void> found = own(name); !found) return found.error();
  }
  return curriculum;
}

Result<std::unique_ptr<PolicyTrainer>> MakeTrainer(const Curriculum& curriculum, uint64_t seed,
                                                   const RunHooks& hooks) {
  const AbandonScope scope([&] { return hooks.stopped && hooks.stopped(); });
  Result<std::unique_ptr<PolicyTrainer>> made = PolicyTrainer::Make(curriculum, seed);
  if (scope.abandoned()) return Interrupted("making the networks");
  return made;
}

Result<PolicyTraining> Train(const Curriculum& curriculum, uint64_t seed, int threads,
                             const RunHooks& hooks) {
  const Result<std::unique_ptr<PolicyTrainer>> trainer = MakeTrainer(curriculum, seed, hooks);
  if (!trainer) return trainer.error();
  ThreadPool pool(threads);
  PolicyLoop loop(**trainer, hooks);
  if (Result<void> trained = loop.Go(pool); !trained) return trained.error();
  TensorWriter writer;
  (*trainer)->networks().Save(writer);
  const PolicyProgress at = (*trainer)->progress();
  const bool interrupted = at.step < at.steps;
  // Exercises of a training that has not ended are counted by the one that ends it.
  Result<std::string> hash =
      interrupted ? Result<std::string>("") : (*trainer)->DataHash(hooks.stopped);
  if (!hash) return hash.error();
  Result<std::string> labels =
      interrupted ? Result<std::string>("") : (*trainer)->LabelHash(pool, hooks.stopped);
  if (!labels) return labels.error();
  return PolicyTraining{.model = curriculum.model,
                        .rows = loop.rows(),
                        .step = at.step,
                        .steps = at.steps,
                        .exercises = curriculum.problems,
                        .data_hash = *std::move(hash),
                        .label_hash = *std::move(labels),
                        .policy = writer.Bytes(),
                        .interrupted = interrupted};
}

}  // namespace

Result<RunDirectory> CreatePolicyRun(const std::string& path, const std::string& curriculum_file,
                                     uint64_t seed, const RunOrigin& origin) {
  const Result<std::string> text = ReadTextFile(curriculum_file);
  if (!text) return text.error();
  const Result<Curriculum> curriculum = ParseCurriculum(*text, curriculum_file);
  if (!curriculum) return curriculum.error();
  // What cannot be trained leaves no folder behind.
  const auto trainer = PolicyTrainer::Make(*curriculum, seed);
  if (!trainer) return trainer.error();
  RunDirectory::Files inputs = {{std::string(kCurriculum), *text}};
  const Result<nlohmann::ordered_json> own = CopyOwnFiles(*curriculum, inputs);
  if (!own) return own.error();
  nlohmann::ordered_json settings = {{"curriculum", kCurriculum}};
  if (!own->empty()) settings["files"] = *own;
  return RunDirectory::Create(path,
                              {.kind = std::string(kPolicyRun),
                               .origin = origin,
                               .settings = ToLine(settings),
                               .seed = static_cast<int64_t>(seed)},
                              inputs);
}

Result<PolicyTraining> TrainPolicy(const std::string& curriculum_file, uint64_t seed, int threads,
                                   const RunHooks& hooks) {
  const Result<Curriculum> curriculum =
      hooks.directory != nullptr ? CurriculumOf(*hooks.directory) : ReadCurriculum(curriculum_file);
  if (!curriculum) return curriculum.error();
  return Train(*curriculum, seed, threads, hooks);
}

Result<PolicyTraining> TrainPolicyAgain(const RunDirectory& directory, int threads,
                                        const std::function<bool()>& stopped) {
  const Result<Curriculum> curriculum = CurriculumOf(directory);
  if (!curriculum) return curriculum.error();
  return Train(*curriculum, static_cast<uint64_t>(directory.header().seed), threads,
               {.stopped = stopped});
}

}  // namespace tessera
