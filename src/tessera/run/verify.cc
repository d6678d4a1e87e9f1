// Verification of runs.
#include "tessera/run/verify.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <tuple>
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

std::optional<double> NumberAt(const Json& json, std::string_view key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string TextAt(const Json& json, std::string_view key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end()) return "nothing";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// Reasons are words, which programs of users may choose as they like; everything else must agree.
bool SameNumbers(const Outcome& a, const Outcome& b) {
  const auto numbers = [](const Outcome& o) {
    return std::tuple(o.kind, o.value, o.cycles, o.energy_pj, o.power_mw, o.area_um2);
  };
  return numbers(a) == numbers(b);
}

class Verifier {
 public:
  Verifier(const RunDirectory& directory, const MapJob& job, const Json& report, int threads)
      : directory_(directory), job_(job), report_(report), pool_(threads) {}

  Result<Verification> Go() {
    CompareText(report_, "run", "network", job_.network.name);
    CompareText(report_, "run", "accelerator", job_.accelerator.name);
    CompareText(report_, "run", "model", job_.settings.model);
    CompareText(report_, "run", "objective", job_.settings.objective);
    CompareText(report_, "run", "method", job_.settings.method);
    CompareNumber(report_, "run", "seed", static_cast<double>(job_.settings.seed));
    const Json& layers = report_["layers"];
    const size_t count = job_.network.layers.size();
    if (!layers.is_array() || layers.size() != count) {
      Complain("layers", layers.is_array() ? fmt::format("{}", layers.size()) : "none",
               fmt::format("{}", count));
      return std::move(result_);
    }
    for (size_t i = 0; i < count; ++i) {
      result_.layers.push_back({.name = job_.network.layers[i].name});
      if (Result<void> checked = CheckLayer(i, layers[i]); !checked) return checked.error();
    }
    CheckTotal();
    return std::move(result_);
  }

 private:
  void Complain(std::string what, std::string reported, std::string computed) {
    result_.discrepancies.push_back({std::move(what), std::move(reported), std::move(computed)});
  }

  void CountNumber() {
    ++(result_.layers.empty() || in_total_ ? result_.total_numbers : result_.layers.back().numbers);
  }

  // JSON keeps all digits, so equal means equal.
  void CompareNumber(const Json& json, const std::string& what, std::string_view key,
                     const std::optional<double>& computed) {
    CountNumber();
    if (NumberAt(json, key) == computed) return;
    Complain(fmt::format("{}: {}", what, key), TextAt(json, key),
             computed ? fmt::format("{}", *computed) : "nothing");
  }

  void CompareText(const Json& json, const std::string& what, std::string_view key,
                   std::string_view computed) {
    CountNumber();
    if (TextAt(json, key) == computed) return;
    Complain(fmt::format("{}: {}", what, key), TextAt(json, key), std::string(computed));
  }

  Result<void> CheckLayer(size_t index, const Json& json) {
    const NetworkLayer& entry = job_.network.layers[index];
    const std::string what = fmt::format("layer '{}'", entry.name);
    CompareText(json, what, "name", entry.name);
    CompareNumber(json, what, "count", static_cast<double>(entry.count));
    const Result<std::unique_ptr<MappingProblem>> problem =
        MappingProblem::Make(entry.layer, job_.accelerator, job_.settings.model, job_.problem);
    if (!problem) return problem.error();
    const Result<JournalContents> journal = ReadJournal(directory_.JournalFile(index));
    if (!journal) return journal.error();
    LayerMapping made{.name = entry.name, .count = entry.count, .layer = entry.layer};
    const std::optional<Trial> best = CheckJournal(**problem, what, journal->trials);
    made.search.samples = std::ssize(journal->trials);
    CompareNumber(json, what, "samples", static_cast<double>(made.search.samples));
    if (best) made.value = best->outcome.value;
    CompareNumber(json, what, "value", best ? std::optional(made.value) : std::nullopt);
    if (!json.contains("mapping") || json["mapping"].is_null()) {
      if (best) Complain(what + ": mapping", "nothing", "a mapping");
      CompareText(json, what, "status", ToString(MapStatus::kNothing));
    } else if (Result<void> mapping = CheckMapping(index, **problem, what, json, made); !mapping) {
      return mapping;
    }
    if (Result<void> bound = CheckBound(what, json, made); !bound) return bound;
    layers_.push_back(std::move(made));
    return {};
  }

  // The reported mapping, read from its text, checked and priced anew.
  Result<void> CheckMapping(size_t index, const MappingProblem& problem, const std::string& what,
                            const Json& json, LayerMapping& made) {
    const Result<Mapping> mapping = ParseMappingJson(
        json["mapping"].dump(), directory_.File("result.json"), made.layer, job_.accelerator);
    if (!mapping) {
      Complain(what + ": mapping", "a mapping", mapping.error().message);
      return {};
    }
    const Result<Point> point = problem.space().Encode(*mapping);
    if (!point) {
      Complain(what + ": mapping", "a legal mapping", point.error().message);
      return {};
    }
    std::vector<Trial> trials = {{.point = *point}};
    Evaluator(problem, pool_).Evaluate(trials);
    if (!trials.front().outcome.feasible()) {
      Complain(what + ": mapping", "a feasible mapping", trials.front().outcome.why);
      return {};
    }
    const Cost cost = problem.CostOf(trials.front());
    CompareNumber(json, what, "cycles", static_cast<double>(cost.cycles));
    CompareNumber(json, what, "energy_pj", cost.energy_pj);
    CompareNumber(json, what, "edp", cost.edp());
    CompareNumber(json, what, "value", trials.front().outcome.value);
    CompareNumber(json, what, "power_mw", cost.power_mw);
    CompareNumber(json, what, "area_um2", cost.area_um2);
    CompareNumber(json, what, "utilization", cost.utilization);
    made.point = *point;
    made.cost = cost;
    return CheckFiles(index, what, *mapping, made);
  }

  Result<void> CheckFiles(size_t index, const std::string& what, const Mapping& mapping,
                          const LayerMapping& made) {
    const Result<std::vector<ExportedFile>> files =
        ExportMapping(MappingStem(index, made.name), made.layer, job_.accelerator, mapping);
    if (!files) return files.error();
    for (const ExportedFile& file : *files) {
      ++result_.layers.back().files;
      const Result<std::string> text = ReadTextFile(directory_.File(file.name));
      if (text && *text == file.contents) continue;
      Complain(fmt::format("{}: {}", what, file.name), text ? "another text" : "no such file",
               "the mapping's text");
    }
    return {};
  }

  // A bound that a method proved may be above the one known without search, never below it, and
  // never above the value.
  Result<void> CheckBound(const std::string& what, const Json& json, LayerMapping& made) {
    const Result<LayerBounds> bounds = BoundsOf(made.layer, job_);
    if (!bounds) return bounds.error();
    made.bounds = *bounds;
    made.bound = bounds->Of(job_.problem.objective);
    const std::optional<double> reported = NumberAt(json, "bound");
    const bool higher = reported && *reported > made.bound.value_or(0);
    constexpr double kEqual = 1e-9;  // as in StatusOf
    if (higher && made.point && *reported <= made.value * (1 + kEqual)) {
      made.bound = reported;
      result_.unchecked.push_back(
          fmt::format("{}: bound {} was proved by method {}; it is at most the value", what,
                      *reported, job_.settings.method));
    }
    CompareNumber(json, what, "bound", made.bound);
    CompareNumber(json, what, "gap", made.gap());
    if (made.point) CompareText(json, what, "status", ToString(StatusOf(made.value, made.bound)));
    return {};
  }

  // Evaluates everything again and returns the best trial.
  std::optional<Trial> CheckJournal(const MappingProblem& problem, const std::string& what,
                                    const std::vector<Trial>& trials) {
    std::vector<Trial> again = trials;
    Evaluator(problem, pool_).Evaluate(again);
    result_.layers.back().trials = std::ssize(trials);
    const auto text = [](const Outcome& outcome) {
      return outcome.feasible() ? fmt::format("{}", outcome.value) : outcome.why;
    };
    std::optional<Trial> best;
    for (size_t i = 0; i < trials.size(); ++i) {
      const Outcome &recorded = trials[i].outcome, &computed = again[i].outcome;
      if (!SameNumbers(recorded, computed)) {
        Complain(fmt::format("{}: evaluation {} of the journal", what, i + 1), text(recorded),
                 text(computed));
      }
      if (computed.feasible() && (!best || computed.value < best->outcome.value)) best = again[i];
    }
    return best;
  }

  void CheckTotal() {
    in_total_ = true;
    const Json& json = report_["total"];
    const NetworkTotal total = AddUp(layers_, job_.problem.objective);
    const std::pair<std::string_view, std::optional<double>> numbers[] = {
        {"layers", static_cast<double>(total.layers)},
        {"cycles", total.cycles},
        {"energy_pj", total.energy_pj},
        {"edp", total.edp()},
        {"value", total.value},
        {"bound", total.bound},
        {"gap", total.gap()},
        {"power_mw", total.power_mw},
        {"area_um2", total.area_um2},
        {"utilization", total.utilization},
        {"samples", static_cast<double>(total.samples)}};
    for (const auto& [key, value] : numbers) CompareNumber(json, "total", key, value);
  }

  const RunDirectory& directory_;
  const MapJob& job_;
  Json report_;
  ThreadPool pool_;
  std::vector<LayerMapping> layers_;  // as far as they could be checked
  bool in_total_ = false;
  Verification result_;
};

}  // namespace

Result<Verification> VerifyRun(const RunDirectory& directory, int threads) {
  const Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error();
  const std::string file = directory.File("result.json");
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("{} has no result.json: the run has not ended", directory.path()),
        .hint = fmt::format("finish it with 'tessera resume {}'", directory.path())};
  }
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
