// Runs, explained: the mappings that a folder holds, priced again part by part.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/map.h"
#include "tessera/mapper/compare.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/trial_journal.h"

namespace tessera {
namespace {

Result<Json> ReadResult(const RunDirectory& directory) {
  const std::string file = directory.File("result.json");
  Result<Json> json = ReadJson(file);
  if (!json || json->is_object()) return json;
  return Error{.kind = ErrorKind::kSyntax,
               .message = "this is not the result of a run",
               .where = {.file = file}};
}

// The best trial of journals, or none.
Result<std::optional<Trial>> BestOf(const std::vector<JournalFile>& journals) {
  std::optional<Trial> best;
  for (const JournalFile& journal : journals) {
    Result<std::vector<Trial>> trials = ReadTrials(journal);
    if (!trials) return trials.error();
    for (Trial& trial : *trials) {
      if (!trial.outcome.feasible()) continue;
      if (!best || trial.outcome.value < best->outcome.value) best = std::move(trial);
    }
  }
  return best;
}

// Where a space decides the number of PEs, mappings do not say it; the point of the search does.
void TakePes(const MappingProblem& problem, const Point& point, Accelerator& accelerator) {
  const size_t decision = problem.space().pes_decision();
  if (!accelerator.pe_array || decision >= problem.space().size()) return;
  accelerator.pe_array->num_pes = problem.space().decisions()[decision].value(point[decision]);
}

Result<void> TakePesFromJournal(const JournalFile& journal, const NetworkLayer& entry,
                                MapJob& job) {
  if (!job.settings.decide_pes) return {};
  const Result<std::optional<Trial>> best = BestOf({journal});
  if (!best) return best.error();
  const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, entry.layer, entry.name);
  if (!problem) return problem.error();
  if (*best) TakePes(**problem, (*best)->point, job.accelerator);
  return {};
}

// What stands in the result must be what the mapping costs.
Result<void> CheckReported(const Json& json, const LayerExplanation& layer,
                           const std::string& file) {
  const Cost& cost = layer.parts.cost;
  const std::pair<const char*, double> numbers[] = {{"cycles", static_cast<double>(cost.cycles)},
                                                    {"energy_pj", cost.energy_pj}};
  for (const auto& [key, computed] : numbers) {
    const std::optional<double> reported = NumberAt(json, key);
    if (reported == computed) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format(
                     "layer '{}': the result says {} {}, but its mapping has {}", layer.name, key,
                     reported ? fmt::format("{}", *reported) : "nothing", computed),
                 .where = {.file = file},
                 .hint = "'tessera verify' checks the whole run"};
  }
  return {};
}

Result<LayerExplanation> ExplainLayer(const RunDirectory& directory, MapJob job, size_t index,
                                      const Json& json, const ExplainOptions& options) {
  const NetworkLayer& entry = job.network.layers[index];
  const std::string file = directory.File("result.json");
  LayerExplanation none{.name = entry.name, .count = entry.count, .layer = entry.layer};
  none.status = TextAt(json, "status");
  none.bound = NumberAt(json, "bound");
  const Json& written = ValueAt(json, "mapping");
  if (written.is_null()) return none;
  const Result<Mapping> mapping =
      ParseMappingJson(ToLine(written), file, entry.layer, job.accelerator);
  if (!mapping) return mapping.error();
  Result<void> pes = TakePesFromJournal(SearchJournal(directory, index), entry, job);
  if (!pes) return pes.error();
  if (options.accelerator) job.accelerator = *options.accelerator;
  Result<LayerExplanation> explained = ExplainMapping(job, entry, *mapping);
  if (!explained) return InLayer(entry.name, explained.error());
  if (options.accelerator) return explained;
  if (Result<void> same = CheckReported(json, *explained, file); !same) return same.error();
  explained->status = none.status;
  explained->bound = none.bound;
  return explained;
}

RunExplanation HeadOf(const RunDirectory& directory, const MapJob& job) {
  return {.folder = directory.path(),
          .network = job.network.name,
          .accelerator = job.accelerator.name,
          .model = job.settings.model.ToString(),
          .objective = std::string(ToString(job.settings.objective))};
}

Result<RunExplanation> ExplainMap(const RunDirectory& directory, const ExplainOptions& options) {
  const Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error();
  const Result<Json> result = ReadResult(directory);
  if (!result) return result.error();
  const Json& layers = ValueAt(*result, "layers");
  const size_t count = job->network.layers.size();
  if (!layers.is_array() || layers.size() != count) {
    return Error{
        .kind = ErrorKind::kSyntax,
        .message = fmt::format("the result does not have the {} layers of the network", count),
        .where = {.file = directory.File("result.json")}};
  }
  const NetworkLayer* only = nullptr;
  if (!options.layer.empty()) {
    const Result<const NetworkLayer*> found = FindLayer(job->network, options.layer);
    if (!found) return found.error();
    only = *found;
  }
  RunExplanation run = HeadOf(directory, *job);
  if (options.accelerator) run.accelerator = options.accelerator->name;
  for (size_t i = 0; i < count; ++i) {
    if (only != nullptr && only != &job->network.layers[i]) continue;
    Result<LayerExplanation> explained = ExplainLayer(directory, *job, i, layers[i], options);
    if (!explained) return explained.error();
    run.layers.push_back(*std::move(explained));
  }
  return run;
}

// The best mapping that any of the compared methods has found.
Result<RunExplanation> ExplainCompare(const RunDirectory& directory,
                                      const ExplainOptions& options) {
  const Result<CompareJob> compared = LoadCompareJob(directory);
  if (!compared) return compared.error();
  MapJob job = compared->problem;
  if (!options.layer.empty()) {
    const Result<const NetworkLayer*> found = FindLayer(job.network, options.layer);
    if (!found) return found.error();
  }
  const NetworkLayer& entry = job.network.layers.front();
  const size_t runs =
      compared->options.methods.size() * static_cast<size_t>(compared->options.seeds);
  std::vector<JournalFile> journals;
  for (size_t run = 0; run < runs; ++run) {
    for (const bool extended : {false, true}) {
      journals.push_back(CompareJournal(directory, run, extended));
    }
  }
  const Result<std::optional<Trial>> best = BestOf(journals);
  if (!best) return best.error();
  RunExplanation run = HeadOf(directory, job);
  if (!*best) {
    run.layers.push_back({.name = entry.name, .count = entry.count, .layer = entry.layer});
    return run;
  }
  const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, entry.layer, entry.name);
  if (!problem) return problem.error();
  const Point& point = (*best)->point;
  if (Result<void> legal = (*problem)->space().Check(point); !legal) return legal.error();
  TakePes(**problem, point, job.accelerator);
  if (options.accelerator) job.accelerator = *options.accelerator;
  Result<LayerExplanation> explained =
      ExplainMapping(job, entry, (*problem)->space().Decode(point));
  if (!explained) return InLayer(entry.name, explained.error());
  run.layers.push_back(*std::move(explained));
  return run;
}

}  // namespace

Result<RunExplanation> ExplainRun(const RunDirectory& directory, const ExplainOptions& options) {
  const std::string& kind = directory.header().kind;
  if (kind != kMapRun && kind != kCompareRun) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format(
                     "{} is a run of {}; mappings are explained of runs of map and compare",
                     directory.path(), kind),
                 .hint = "its result.json and report.html hold what is known of it"};
  }
  if (!directory.header().ended()) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("{} has no results: the run has not ended", directory.path()),
        .hint = fmt::format("finish it with 'tessera resume {}'", directory.path())};
  }
  return kind == kMapRun ? ExplainMap(directory, options) : ExplainCompare(directory, options);
}

}  // namespace tessera
