// Comparisons in folders.
#include "tessera/mapper/compare_run.h"
#include "tessera/base/json_text.h"
#include "tessera/map.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/mapper/compare.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/part.h"
#include "tessera/record/run_inputs.h"
#include "tessera/record/trial_journal.h"
#include "tessera/search/evaluator.h"

namespace tessera {
namespace {

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Result<std::optional<double>> ReadOptional(MapReader& reader, std::string_view key) {
  const Result<const Node*> node = reader.Require(key);
  if (!node) return node.error();
  if ((*node)->kind == Node::Kind::kNull) return std::optional<double>();
  const Result<double> value = (*node)->AsDouble();
  if (!value) return value.error();
  if (!(*value >= 0)) return (*node)->ErrorHere(ErrorKind::kBadValue, "this is below 0");
  return std::optional<double>(*value);
}

// Files that methods name go to the folder.
Result<std::vector<std::string>> SaveMethods(const std::vector<MethodChoice>& methods,
                                             RunDirectory::Files& inputs) {
  std::vector<std::string> texts;
  for (MethodChoice method : methods) {
    for (std::string* file : method.Files()) {
      const Result<std::string> text = ReadTextFile(*file);
      if (!text) return text.error();
      *file = fmt::format("inputs/method-{}-{}", texts.size() + 1,
                          std::filesystem::path(*file).filename().string());
      inputs[*file] = *text;
    }
    texts.push_back(method.ToString());
  }
  return texts;
}

Result<MethodChoice> LoadMethod(const std::string& text, const RunDirectory& directory) {
  Result<MethodChoice> method = ParseMethodChoice(text);
  if (!method) return method;
  for (std::string* file : method->Files()) {
    Result<std::string> path = InputFile(directory.path(), *file);
    if (!path) return path.error();
    *file = *std::move(path);
  }
  return method;
}

// What tables call a method is what the user called it, wherever its files are now.
std::string MethodName(const MethodChoice& method, const RunDirectory& directory) {
  std::string name = method.ToString();
  const std::string folder = directory.path() + "/";
  for (size_t at = name.find(folder); at != std::string::npos; at = name.find(folder)) {
    name.erase(at, folder.size());
  }
  return name;
}

struct Stored {
  Node root;
  MapSettings problem;
};
Result<Stored> ReadSettings(const RunDirectory& directory) {
  const std::string file = directory.File("run.json");
  Result<Node> root = ParseJson(directory.header().settings, file);
  if (!root) return root.error();
  const Json json = FromText(directory.header().settings);
  const std::string problem = json.contains("problem") ? ToLine(json["problem"]) : "{}";
  Result<MapSettings> settings = ParseMapSettings(problem, file);
  if (!settings) return settings.error();
  settings->seed = directory.header().seed;
  return Stored{*std::move(root), *std::move(settings)};
}

// No journal tells whether a clock or a user ended a search before its samples were spent: the
// result is believed where a clock could have.
void TrustClocks(const CompareJob& job, const RunDirectory& directory, Comparison& comparison,
                 Verification& found) {
  if (job.problem.settings.budget.seconds <= 0) return;
  const Result<std::string> text = ReadTextFile(directory.File("result.json"));
  const Json reported = FromText(text ? *text : "");
  int64_t trusted = 0;
  for (size_t i = 0; i < comparison.runs.size(); ++i) {
    StopReason& stop = comparison.runs[i].result.stop;
    if (stop != StopReason::kInterrupted) continue;
    const Json::json_pointer place(fmt::format("/results/{}/stopped_by", i));
    if (reported.value(place, "") != ToString(StopReason::kSeconds)) continue;
    stop = StopReason::kSeconds;
    ++trusted;
  }
  if (trusted > 0) {
    found.trusted.push_back(
        fmt::format("that the clock ended {} of {} searches", trusted, comparison.runs.size()));
  }
}

}  // namespace

Result<RunDirectory> CreateCompareRun(const std::string& path, const CompareJob& job,
                                      const RunOrigin& origin) {
  Result<SavedMapJob> saved = SaveMapJob(job.problem);
  if (!saved) return saved.error();
  const CompareOptions& options = job.options;
  const Result<std::vector<std::string>> methods = SaveMethods(options.methods, saved->inputs);
  if (!methods) return methods.error();
  Json settings = {{"problem", FromText(ToJsonText(saved->settings))},
                   {"methods", *methods},
                   {"seeds", options.seeds},
                   {"best_known", OrNull(options.best_known)},
                   {"stop_within", OrNull(options.stop_within)},
                   {"extend", Json::array()},
                   {"extend_within", options.extend_within}};
  for (const auto& [method, samples] : options.extend) {
    size_t index = 0;
    while (options.methods[index].ToString() != method) ++index;
    settings["extend"].push_back({{"method", (*methods)[index]}, {"samples", samples}});
  }
  return RunDirectory::Create(path,
                              {.kind = std::string(kCompareRun),
                               .origin = origin,
                               .settings = ToLine(settings),
                               .seed = job.problem.settings.seed},
                              saved->inputs);
}

Result<CompareJob> LoadCompareJob(const RunDirectory& directory) {
  const Result<Stored> stored = ReadSettings(directory);
  if (!stored) return stored.error();
  MapReader reader(stored->root, "run");
  reader.Find("problem");
  Result<MapJob> problem = LoadMapJob(stored->problem, directory);
  if (!problem) return problem.error();
  CompareJob job{.problem = *std::move(problem)};
  const Result<const Node*> methods = reader.Require("methods");
  if (!methods) return methods.error();
  for (const Node& item : (*methods)->items) {
    Result<MethodChoice> method = LoadMethod(item.scalar, directory);
    if (!method) return method.error();
    job.options.names.push_back(MethodName(*method, directory));
    job.options.methods.push_back(*std::move(method));
  }
  if (job.options.methods.empty()) {
    return (*methods)->ErrorHere(ErrorKind::kBadValue, "a comparison has one or more methods");
  }
  const Result<const Node*> seeds = reader.Require("seeds");
  if (!seeds) return seeds.error();
  const Result<int64_t> count = (*seeds)->AsInt(1, kMostSeeds);
  if (!count) return count.error();
  if (Result<void> checked = CheckSeeds(job.problem.settings, *count); !checked) {
    return checked.error();
  }
  job.options.seeds = *count;
  const Result<std::optional<double>> best_known = ReadOptional(reader, "best_known"),
                                      stop_within = ReadOptional(reader, "stop_within"),
                                      within = ReadOptional(reader, "extend_within");
  for (const auto* value : {&best_known, &stop_within, &within}) {
    if (!*value) return value->error();
  }
  job.options.best_known = *best_known;
  job.options.stop_within = *stop_within;
  job.options.extend_within = within->value_or(job.options.extend_within);
  const Result<const Node*> extend = reader.Require("extend");
  if (!extend) return extend.error();
  for (const Node& item : (*extend)->items) {
    const Node *method = item.Find("method"), *samples = item.Find("samples");
    const Result<int64_t> number =
        samples != nullptr ? samples->AsInt(1, INT64_MAX) : Result<int64_t>(int64_t{0});
    if (method == nullptr || !number || *number < 1) {
      return item.ErrorHere(ErrorKind::kBadValue, "an extension is a method and samples");
    }
    job.options.extend.emplace_back(method->scalar, *number);
  }
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return job;
}

Result<void> CheckCompareMayExecute(const RunDirectory& directory, bool allowed) {
  const Result<Stored> stored = ReadSettings(directory);
  return stored ? CheckMayExecute(stored->problem, allowed) : stored.error();
}

Result<Comparison> CompareAgain(const CompareJob& job, const RunDirectory& directory,
                                const VerifyOptions& options, Verification& found) {
  const NetworkLayer& layer = job.problem.network.layers.front();
  const Result<std::unique_ptr<MappingProblem>> problem =
      ProblemOf(job.problem, layer.layer, layer.name);
  if (!problem) return problem.error();
  ThreadPool pool(options.threads);
  found.part = "run";
  const size_t runs = job.options.methods.size() * static_cast<size_t>(job.options.seeds);
  std::vector<std::array<std::vector<Trial>, 2>> again(runs);
  for (size_t run = 0; run < runs; ++run) {
    const int64_t seeds = job.options.seeds;
    const auto method = run / static_cast<size_t>(seeds);
    found.parts.push_back(
        {.name = fmt::format("{} seed {}", job.options.NameOf(method),
                             job.problem.settings.seed + static_cast<int64_t>(run) % seeds)});
    for (const bool extended : {false, true}) {
      const Result<std::vector<Trial>> trials =
          ReadTrials(CompareJournal(directory, run, extended));
      if (!trials) return trials.error();
      std::vector<Trial>& repeated = again[run][extended ? 1 : 0];
      repeated = *trials;
      Evaluator(**problem, pool).Evaluate(repeated);
      found.parts.back().trials += std::ssize(repeated);
      for (size_t i = 0; i < repeated.size(); ++i) {
        const std::string was = TrialLine((*trials)[i]), is = TrialLine(repeated[i]);
        // Texts of users' programs are theirs to choose; numbers are not.
        if (was == is || ((*trials)[i].outcome.kind == repeated[i].outcome.kind &&
                          !repeated[i].outcome.feasible())) {
          repeated[i].outcome = (*trials)[i].outcome;
          continue;
        }
        found.discrepancies.push_back(
            {fmt::format("{}: evaluation {}", found.parts.back().name, i + 1), was, is});
      }
    }
  }
  CompareOptions replay = job.options;
  replay.replay = [&](size_t run, bool extended) { return again[run][extended ? 1 : 0]; };
  Result<Comparison> comparison = CompareMethods(job.problem, replay, options.threads, {});
  if (comparison) TrustClocks(job, directory, *comparison, found);
  return comparison;
}

}  // namespace tessera
