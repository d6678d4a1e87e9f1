// Verification of runs.
#include "tessera/run/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/thread_pool.h"
#include "tessera/run/export.h"
#include "tessera/run/journal.h"
#include "tessera/run/map_network.h"
#include "tessera/run/map_settings.h"
#include "tessera/search/evaluator.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

class Verifier {
 public:
  Verifier(const RunDirectory& directory, const MapJob& job, const Json& report, int threads)
      : directory_(directory), job_(job), report_(report), pool_(threads) {}

  Result<Verification> Go() {
    const Json& layers = report_["layers"];
    const size_t count = job_.network.layers.size();
    if (!layers.is_array() || layers.size() != count) {
      Complain("layers", layers.is_array() ? fmt::format("{}", layers.size()) : "none",
               fmt::format("{}", count));
      return std::move(result_);
    }
    for (size_t i = 0; i < count; ++i) {
      if (Result<void> checked = CheckLayer(i, layers[i]); !checked) return checked.error();
    }
    CheckTotal();
    return std::move(result_);
  }

 private:
  void Complain(std::string what, std::string reported, std::string computed) {
    result_.discrepancies.push_back({std::move(what), std::move(reported), std::move(computed)});
  }

  // Compares a number of the report; JSON keeps all digits, so equal means equal.
  void Compare(const Json& json, const std::string& what, std::string_view key,
               const std::optional<double>& computed) {
    if (!result_.layers.empty()) ++result_.layers.back().numbers;
    const auto found = json.find(key);
    const bool given = found != json.end() && found->is_number();
    if (!given && !computed) return;
    if (given && computed && found->get<double>() == *computed) return;
    Complain(fmt::format("{}: {}", what, key), given ? found->dump() : "nothing",
             computed ? fmt::format("{}", *computed) : "nothing");
  }

  Result<void> CheckLayer(size_t index, const Json& json) {
    const NetworkLayer& entry = job_.network.layers[index];
    result_.layers.push_back({.name = entry.name});
    const std::string what = fmt::format("layer '{}'", entry.name);
    if (json.value("name", "") != entry.name) {
      Complain(what + ": name", json.value("name", "nothing"), entry.name);
    }
    const Result<std::unique_ptr<MappingProblem>> problem =
        MappingProblem::Make(entry.layer, job_.accelerator, job_.settings.model, job_.problem);
    if (!problem) return problem.error();
    const Result<JournalContents> journal = ReadJournal(directory_.JournalFile(index));
    if (!journal) return journal.error();
    const std::optional<Trial> best = CheckJournal(**problem, what, journal->trials);
    Compare(json, what, "samples", static_cast<double>(journal->trials.size()));
    Compare(json, what, "count", static_cast<double>(entry.count));
    std::optional<double> value;
    if (best) value = best->outcome.value;
    Compare(json, what, "value", value);
    const Result<LayerBounds> bounds = BoundsOf(entry.layer, job_);
    if (!bounds) return bounds.error();
    const std::optional<double> bound = bounds->Of(job_.problem.objective);
    Compare(json, what, "bound", bound);
    Compare(json, what, "gap", bound && value ? std::optional(*value / *bound - 1) : std::nullopt);
    if (!json.contains("mapping") || json["mapping"].is_null()) {
      if (best) Complain(what + ": mapping", "nothing", "a mapping");
      return {};
    }
    return CheckMapping(**problem, entry, what, json);
  }

  // The reported mapping, read from its text and evaluated anew.
  Result<void> CheckMapping(const MappingProblem& problem, const NetworkLayer& entry,
                            const std::string& what, const Json& json) {
    const Result<Mapping> mapping = ParseMappingJson(
        json["mapping"].dump(), directory_.File("result.json"), entry.layer, job_.accelerator);
    if (!mapping) return mapping.error();
    const Result<Point> point = problem.space().Encode(*mapping);
    if (!point) {
      Complain(what + ": mapping", "a mapping outside the space", point.error().message);
      return {};
    }
    const Cost cost = problem.CostAt(*point);
    Compare(json, what, "cycles", static_cast<double>(cost.cycles));
    Compare(json, what, "energy_pj", cost.energy_pj);
    Compare(json, what, "edp", cost.edp());
    Compare(json, what, "value", ValueOf(cost, job_.problem.objective));
    Compare(json, what, "power_mw", cost.power_mw);
    Compare(json, what, "area_um2", cost.area_um2);
    Compare(json, what, "utilization", cost.utilization);
    total_cycles_ += static_cast<double>(entry.count) * static_cast<double>(cost.cycles);
    total_energy_pj_ += static_cast<double>(entry.count) * cost.energy_pj;
    return {};
  }

  // Evaluates everything again and returns the best trial.
  std::optional<Trial> CheckJournal(const MappingProblem& problem, const std::string& what,
                                    const std::vector<Trial>& trials) {
    std::vector<Trial> again = trials;
    Evaluator(problem, pool_).Evaluate(again);
    result_.layers.back().trials = std::ssize(trials);
    std::optional<Trial> best;
    for (size_t i = 0; i < trials.size(); ++i) {
      const Outcome &recorded = trials[i].outcome, &computed = again[i].outcome;
      if (recorded.kind != computed.kind || recorded.value != computed.value) {
        Complain(fmt::format("{}: trial {} of the journal", what, i + 1),
                 fmt::format("{}", recorded.value), fmt::format("{}", computed.value));
      }
      if (computed.feasible() && (!best || computed.value < best->outcome.value)) best = again[i];
    }
    return best;
  }

  void CheckTotal() {
    const Json& total = report_["total"];
    Compare(total, "total", "cycles", total_cycles_);
    Compare(total, "total", "energy_pj", total_energy_pj_);
    Compare(total, "total", "edp", total_cycles_ * total_energy_pj_);
  }

  const RunDirectory& directory_;
  const MapJob& job_;
  Json report_;
  ThreadPool pool_;
  double total_cycles_ = 0, total_energy_pj_ = 0;
  Verification result_;
};

}  // namespace

Result<Verification> VerifyRun(const RunDirectory& directory, int threads) {
  const Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error();
  const std::string file = directory.File("result.json");
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  const Json report = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || !report.contains("layers") || !report.contains("total")) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = "this is not the result of a mapping run",
                 .where = {.file = file}};
  }
  return Verifier(directory, *job, report, threads).Go();
}

}  // namespace tessera
