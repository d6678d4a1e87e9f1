// Verification of runs.
#include "tessera/mapper/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/cost/loopnest/interpreter.h"
#include "tessera/map.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/proof_journal.h"
#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/record/trial_journal.h"
#include "tessera/search/evaluator.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;        // relative; as in StatusOf
constexpr int64_t kWalkedMacs = 100'000;  // walking takes some ten microseconds each
constexpr int64_t kRandom = 2'000;        // mappings per layer that are compared with its bound

constexpr std::string_view kNothing = "nothing";

// What a complaint shows of it.
std::string ShownAt(const Json& json, std::string_view key) {
  if (!json.is_object() || !json.contains(key)) return std::string(kNothing);
  const Json& value = json[key];
  return value.is_string() ? value.get<std::string>() : ToLine(value);
}

// Reasons are words, which programs of users may choose as they like; everything else must agree.
bool SameNumbers(const Outcome& a, const Outcome& b) {
  const auto numbers = [](const Outcome& o) {
    return std::tuple(o.kind, o.value, o.cycles, o.energy_pj, o.power_mw, o.area_um2);
  };
  return numbers(a) == numbers(b);
}

// None where the model knows no area.
std::optional<double> AreaOf(double area_um2) {
  return area_um2 > 0 ? std::optional(area_um2) : std::nullopt;
}

class Verifier {
 public:
  Verifier(const RunDirectory& directory, const MapJob& job, const Json& report,
           const VerifyOptions& options)
      : directory_(directory),
        job_(job),
        report_(report),
        pool_(options.threads),
        deadline_(SteadySeconds() + options.seconds) {}

  Result<Verification> Go() {
    result_ = {.part = "layer", .remarks = {"mapping", "bound"}};
    CompareText(report_, "run", "network", job_.network.name);
    CompareText(report_, "run", "accelerator", job_.accelerator.name);
    CompareText(report_, "run", "model", job_.settings.model.ToString());
    CompareText(report_, "run", "objective", ObjectivesText(job_.settings));
    CompareText(report_, "run", "space", DescribeSpace(job_));
    CompareText(report_, "run", "method", job_.settings.method.ToString());
    CompareNumber(report_, "run", "seed", static_cast<double>(job_.settings.seed));
    CheckBudget();
    CheckWords();
    const Json& layers = report_["layers"];
    const size_t count = job_.network.layers.size();
    if (!layers.is_array() || layers.size() != count) {
      Complain("layers", layers.is_array() ? fmt::format("{}", layers.size()) : "none",
               fmt::format("{}", count));
      return std::move(result_);
    }
    for (size_t i = 0; i < count; ++i) {
      result_.parts.push_back({.name = job_.network.layers[i].name, .remarks = {"", ""}});
      if (Result<void> checked = CheckLayer(i, layers[i]); !checked) return checked.error();
    }
    CheckTotal();
    CheckTotalStop();
    CheckGains();
    SayTrusted();
    return std::move(result_);
  }

 private:
  void Complain(std::string what, std::string reported, std::string computed) {
    result_.discrepancies.push_back({std::move(what), std::move(reported), std::move(computed)});
  }

  void CountNumber() {
    ++(result_.parts.empty() || in_total_ ? result_.total_numbers : result_.parts.back().numbers);
  }

  // JSON keeps all digits, so equal means equal.
  void CompareNumber(const Json& json, const std::string& what, std::string_view key,
                     const std::optional<double>& computed) {
    CountNumber();
    const bool there = json.is_object() && json.contains(key);
    if (there && NumberAt(json, key) == computed) return;
    Complain(fmt::format("{}: {}", what, key), there ? ShownAt(json, key) : "left out",
             computed ? fmt::format("{}", *computed) : "nothing");
  }

  void CompareText(const Json& json, const std::string& what, std::string_view key,
                   std::string_view computed) {
    CountNumber();
    if (ShownAt(json, key) == computed) return;
    Complain(fmt::format("{}: {}", what, key), ShownAt(json, key), std::string(computed));
  }

  // Words beside the numbers, which say how to read them.
  void CheckWords() {
    const std::string note = job_.settings.model->PowerNote();
    if (!note.empty() || report_.contains("power_note")) {
      CompareText(report_, "result", "power_note", note);
    }
    StopAt(report_, "result");
    const std::string interrupted = ShownAt(report_, "interrupted");
    if (!report_.value("interrupted", Json()).is_boolean()) {
      Complain("interrupted", interrupted, "true or false");
    } else if (interrupted == "true") {
      result_.trusted.push_back("that the run was interrupted");
    }
  }

  // One of the names of what may end a run, or a complaint.
  std::optional<MapStop> StopAt(const Json& json, const std::string& what) {
    const std::string stop = ShownAt(json, "stopped_by");
    const auto found = std::ranges::find(kMapStopNames, stop);
    if (found != kMapStopNames.end()) return static_cast<MapStop>(found - kMapStopNames.begin());
    Complain(what + ": stopped_by", stop, fmt::format("one of {}", fmt::join(kMapStopNames, ", ")));
    return std::nullopt;
  }

  // No journal tells what ended a search. It has to go with what the search has found; where it
  // was the clock, the memory or a user, that is believed.
  void CheckStop(const std::string& what, const Json& json, LayerMapping& made) {
    const std::optional<MapStop> stop = StopAt(json, what);
    if (!stop) return;
    made.stopped_by = *stop;
    const MapSettings& settings = job_.settings;
    const bool interrupted = ShownAt(report_, "interrupted") == "true";
    const double enough = std::max(kRounding, settings.target_gap.value_or(0));
    const bool reached = made.gap() && *made.gap() <= enough;
    const bool rounds_spent =
        made.proof && settings.proof_rounds > 0 && made.proof->rounds >= settings.proof_rounds;
    bool can_be = true, shown = false;  // shown: nothing else can have ended it
    switch (*stop) {
      case MapStop::kProved:
        shown = reached || (made.proof && made.proof->complete);
        can_be = shown || made.proof;
        break;
      case MapStop::kTime:
        can_be = settings.budget.seconds > 0 || settings.proof_seconds > 0;
        break;
      case MapStop::kMemory: can_be = made.proof.has_value(); break;
      case MapStop::kRounds:
        can_be = rounds_spent;
        shown = !reached;
        break;
      case MapStop::kSamples:
        can_be = !made.proof;
        shown = !reached || !settings.target_gap;
        break;
      case MapStop::kInterrupted: can_be = interrupted; break;
    }
    if (!can_be) {
      Complain(what + ": stopped_by", ShownAt(json, "stopped_by"), "what its numbers allow");
    } else if (!shown) {
      ++trusted_stops_;
    }
  }

  // What no journal tells, in a line each.
  void SayTrusted() {
    const auto say = [&](std::string_view what, int64_t count) {
      if (count == 0) return;
      result_.trusted.push_back(
          fmt::format("{} {} of {} layers", what, count, job_.network.layers.size()));
    };
    say("what ended the search of", trusted_stops_);
    say("whether a proof is behind the next objectives of", trusted_next_);
  }

  // What the run was allowed: without it nobody knows how its numbers are to be read.
  void CheckBudget() {
    const MapSettings& settings = job_.settings;
    const Json budget = report_.value("budget", Json());
    std::vector<std::pair<std::string_view, double>> allowed = {
        {"samples", static_cast<double>(settings.budget.samples)},
        {"seconds", settings.budget.seconds}};
    if (job_.prove) {
      allowed.emplace_back("proof_seconds", settings.proof_seconds);
      allowed.emplace_back("proof_rounds", static_cast<double>(settings.proof_rounds));
      allowed.emplace_back("proof_memory_mib", static_cast<double>(settings.proof_memory_mib));
    }
    for (const auto& [key, value] : allowed) {
      if (NumberAt(budget, key) == value) continue;
      Complain(fmt::format("budget: {}", key), ShownAt(budget, key), fmt::format("{}", value));
    }
    const bool clock = settings.budget.seconds > 0 || settings.proof_seconds > 0;
    if (ShownAt(budget, "reproducible") == (clock ? "false" : "true")) return;
    Complain("budget: reproducible", ShownAt(budget, "reproducible"), clock ? "false" : "true");
  }

  Result<void> CheckLayer(size_t index, const Json& json) {
    const NetworkLayer& entry = job_.network.layers[index];
    const std::string what = fmt::format("layer '{}'", entry.name);
    CompareText(json, what, "name", entry.name);
    CompareNumber(json, what, "count", static_cast<double>(entry.count));
    const Result<std::unique_ptr<MappingProblem>> problem =
        ProblemOf(job_, entry.layer, entry.name);
    if (!problem) return problem.error();
    const Result<std::vector<Trial>> trials = ReadTrials(SearchJournal(directory_, index));
    if (!trials) return trials.error();
    LayerMapping made{.name = entry.name, .count = entry.count, .layer = entry.layer};
    const Result<std::unique_ptr<MappingProblem>> searched =
        SearchProblem(job_, entry.layer, entry.name);
    if (!searched) return searched.error();
    const std::optional<Trial> best = CheckJournal(**searched, what, *trials);
    made.search.samples = std::ssize(*trials);
    for (const Trial& trial : *trials) {
      made.search.infeasible += trial.outcome.kind == OutcomeKind::kInfeasible;
      made.search.failed += trial.outcome.kind == OutcomeKind::kFailed;
    }
    CompareNumber(json, what, "infeasible_samples", static_cast<double>(made.search.infeasible));
    CompareNumber(json, what, "failed_samples", static_cast<double>(made.search.failed));
    if (best) made.value = best->outcome.value;
    if (Result<void> words = CheckWords(**searched, what, json, entry.layer, *trials); !words) {
      return words;
    }
    ProofRecord proved;
    if (job_.prove) {
      Result<ProofRecord> record =
          ReadProofJournal(ProofJournal(directory_, index), entry.layer, job_.accelerator);
      if (!record) return record.error();
      proved = *std::move(record);
      CheckProof(what, json, proved, made);
    }
    CompareNumber(json, what, "samples", static_cast<double>(made.samples()));
    const bool found = best || proved.mapping;
    if (!made.proof) {
      CompareNumber(json, what, "value", best ? std::optional(made.value) : std::nullopt);
    } else {
      const double known =
          std::min(best ? best->outcome.value : kInfinity, proved.value.value_or(kInfinity));
      // What --within gives up for the next objective is no discrepancy.
      const double most = known * (1 + job_.settings.within);
      if (known < kInfinity && NumberAt(json, "value").value_or(0) > most) {
        Complain(what + ": value", ShownAt(json, "value"), fmt::format("at most {}", known));
      }
    }
    if (!json.contains("mapping") || json["mapping"].is_null()) {
      if (found) Complain(what + ": mapping", "nothing", "a mapping");
      CompareText(json, what, "status", ToString(MapStatus::kNothing));
    } else if (Result<void> mapping = CheckMapping(index, **problem, what, json, made); !mapping) {
      return mapping;
    }
    const double least = best ? best->outcome.value : kInfinity;
    Result<void> bound = CheckBound(**problem, what, json, proved, least, made);
    if (!bound) return bound;
    CheckStop(what, json, made);
    layers_.push_back(std::move(made));
    return {};
  }

  // What the method says of itself. A layer that was settled before its turn has no words.
  Result<void> CheckWords(const MappingProblem& problem, const std::string& what, const Json& json,
                          const Layer& layer, std::span<const Trial> trials) {
    const std::string notes = ShownAt(json, "notes"), agents = ShownAt(json, "agents");
    if (notes == "{}" && agents == kNothing) return {};
    const Result<std::optional<MethodWords>> again =
        WordsAfter(job_, problem, layer, trials, deadline_);
    if (!again) return again.error();
    if (!*again) {
      result_.trusted.push_back(what + ": what its method says of itself (notes, agents)");
      return {};
    }
    Json computed = Json::object();
    for (const Note& note : (*again)->notes) {
      std::visit([&](const auto& value) { computed[note.name] = value; }, note.value);
    }
    if (notes != ToLine(computed)) Complain(what + ": notes", notes, ToLine(computed));
    const std::string groups =
        (*again)->agents.empty() ? std::string(kNothing) : ToLine((*again)->agents);
    if (agents != groups) Complain(what + ": agents", agents, groups);
    return {};
  }

  // Exact search keeps no journal of what it evaluated, but one of what it has shown.
  void CheckProof(const std::string& what, const Json& json, const ProofRecord& proved,
                  LayerMapping& made) {
    made.proof = proved.proof;
    made.without_bypass = proved.held;
    made.perfect_factors = proved.perfect;
    const Json proof = json.value("proof", Json::object());
    CompareNumber(proof, what + ": proof", "rounds", static_cast<double>(proved.proof.rounds));
    CompareNumber(proof, what + ": proof", "evaluations",
                  static_cast<double>(proved.proof.evaluations));
    CompareText(proof, what + ": proof", "complete", proved.proof.complete ? "true" : "false");
    for (const auto& [key, part] : {std::pair{"without_bypass", &proved.held},
                                    std::pair{"perfect_factors", &proved.perfect}}) {
      if (!*part && !json.contains(key)) continue;
      const SubspaceResult known = part->value_or(SubspaceResult{});
      const Json reported = json.value(key, Json::object());
      CompareNumber(reported, fmt::format("{}: {}", what, key), "value", known.value);
      CompareNumber(reported, fmt::format("{}: {}", what, key), "bound",
                    std::isfinite(known.bound) ? std::optional(known.bound) : std::nullopt);
    }
  }

  // The reported mapping, read from its text, checked and priced anew.
  Result<void> CheckMapping(size_t index, const MappingProblem& problem, const std::string& what,
                            const Json& json, LayerMapping& made) {
    const Result<Mapping> mapping = ParseMappingJson(
        ToLine(json["mapping"]), directory_.File("result.json"), made.layer, job_.accelerator);
    if (!mapping) {
      Complain(what + ": mapping", "a mapping", mapping.error().message);
      return {};
    }
    // Sizes that are left out are read as 1, but no number of a report may come or go.
    const Result<std::string> written = MappingJson(made.layer, job_.accelerator, *mapping);
    if (!written || FromText(*written) != json["mapping"]) {
      Complain(what + ": mapping", "another text", "the text of this mapping");
    }
    // The space has perfect factors only.
    const Result<Point> point = job_.any_factors ? Point() : problem.space().Encode(*mapping);
    if (!point) {
      Complain(what + ": mapping", "a legal mapping", point.error().message);
      return {};
    }
    // Code of the user's prices loops, too, but by its own rules, which nothing here can walk.
    const bool own = job_.settings.model.info().takes_command;
    const Result<Cost> priced = problem.loops() != nullptr && !own
                                    ? PriceLoops(problem, what, *mapping, made)
                                    : PricePoint(problem, *point);
    if (!priced) {
      Complain(what + ": mapping", "a feasible mapping", priced.error().message);
      return {};
    }
    const Cost& cost = *priced;
    const double value = ValueOf(cost, job_.problem.objective);
    CompareNumber(json, what, "cycles", static_cast<double>(cost.cycles));
    CompareNumber(json, what, "energy_pj", cost.energy_pj);
    CompareNumber(json, what, "edp", cost.edp());
    CompareNumber(json, what, "value", value);
    CompareNumber(json, what, "power_mw", cost.power_mw);
    CompareNumber(json, what, "area_um2", AreaOf(cost.area_um2));
    CompareNumber(json, what, "utilization", cost.utilization);
    CheckNext(what, json, cost);
    if (!job_.any_factors) made.point = *point;
    made.cost = cost;
    if (made.proof) made.value = value;
    return CheckFiles(index, what, *mapping, made);
  }

  // Of the next objectives: what the mapping has of them.
  void CheckNext(const std::string& what, const Json& json, const Cost& cost) {
    const Json then = json.value("then", Json::array());
    if (!then.is_array()) {
      Complain(what + ": then", ShownAt(json, "then"), "a list");
      return;
    }
    for (const Json& next : then) {
      const Result<Objective> objective = FindObjective(ShownAt(next, "objective"));
      if (!objective) {
        Complain(what + ": then", ShownAt(next, "objective"), "an objective");
      } else if (!next.contains("proved") || !next["proved"].is_boolean()) {
        Complain(what + ": then: proved", ShownAt(next, "proved"), "true or false");
      } else {
        CompareNumber(next, fmt::format("{}: then {}", what, ToString(*objective)), "value",
                      ValueOf(cost, *objective));
      }
    }
    trusted_next_ += !then.empty();
  }

  // What ended a run follows from what ended its layers.
  void CheckTotalStop() {
    if (job_.settings.inter_layer != InterLayer::kNone) return;
    NetworkMapping mapping;
    mapping.layers = layers_;
    mapping.interrupted = ShownAt(report_, "interrupted") == "true";
    CompareText(report_, "result", "stopped_by", NameOf(StopOf(mapping), kMapStopNames));
    const bool any = std::ranges::count(layers_, MapStop::kInterrupted, &LayerMapping::stopped_by);
    if (any && !mapping.interrupted) Complain("interrupted", "false", "true, as of its layers");
  }

  // What lies outside the space, where every layer could be checked.
  void CheckGains() {
    if (job_.settings.inter_layer != InterLayer::kNone || !result_.discrepancies.empty() ||
        layers_.size() != job_.network.layers.size()) {
      return;
    }
    NetworkMapping mapping;
    mapping.layers = layers_;
    mapping.total = AddUp(layers_, job_.problem.objective);
    const std::vector<SpaceGain> gains = GainsOf(job_, mapping);
    const Json reported = report_.value("gains", Json::array());
    if (!reported.is_array() || reported.size() != gains.size()) {
      Complain("gains", fmt::format("{}", reported.size()), fmt::format("{}", gains.size()));
      return;
    }
    for (size_t i = 0; i < gains.size(); ++i) {
      const std::string what = fmt::format("gains of {}", gains[i].restriction);
      CompareText(reported[i], what, "restriction", gains[i].restriction);
      CompareNumber(reported[i], what, "gained", gains[i].gained);
      CompareNumber(reported[i], what, "could_gain", gains[i].could_gain);
      CompareText(reported[i], what, "text", gains[i].text);
    }
  }

  // By the cost model, from the loops alone.
  Result<Cost> PriceLoops(const MappingProblem& problem, const std::string& what,
                          const Mapping& mapping, const LayerMapping& made) {
    const Result<std::unique_ptr<CostModel>> model = ModelOf(job_, made.layer);
    if (!model) return model.error();
    const Result<Cost> cost = Evaluate(**model, mapping);
    if (!cost) return cost;
    result_.parts.back().remarks[0] = "priced by the model";
    const auto& [loops, hierarchy] = *problem.loops();
    const bool exact = problem.model()->semantics() == loopnest::Semantics::kExact;
    if (!exact || Macs(made.layer) > kWalkedMacs) return cost;
    // And once more by walking every iteration, which shares nothing with the model.
    const Interpreted walked = Interpret(loops, hierarchy, std::get<LoopMapping>(mapping));
    if (!walked.error.empty() || !walked.rejection.empty()) {
      Complain(what + ": mapping", "a feasible mapping", walked.error + walked.rejection);
    } else if (walked.cycles != cost->cycles ||
               std::abs(walked.energy - cost->energy_pj) > kRounding * walked.energy) {
      Complain(what + ": cost of the mapping",
               fmt::format("{} cycles, {} pJ", cost->cycles, cost->energy_pj),
               fmt::format("{} cycles, {} pJ by walking its loops", walked.cycles, walked.energy));
    }
    result_.parts.back().remarks[0] =
        fmt::format("priced by the model and by walking {} MACs", WithThousands(Macs(made.layer)));
    return cost;
  }

  // By the evaluator of the search, which may be a program of the user's.
  Result<Cost> PricePoint(const MappingProblem& problem, const Point& point) {
    std::vector<Trial> trials = {{.point = point}};
    Evaluator(problem, pool_).Evaluate(trials);
    if (!trials.front().outcome.feasible()) {
      return Error{.kind = ErrorKind::kInfeasible, .message = trials.front().outcome.why};
    }
    result_.parts.back().remarks[0] = "priced by the model";
    return problem.CostOf(trials.front());
  }

  Result<void> CheckFiles(size_t index, const std::string& what, const Mapping& mapping,
                          const LayerMapping& made) {
    const Result<std::vector<ExportedFile>> files =
        ExportMapping(MappingStem(index, made.name), made.layer, job_.accelerator, mapping);
    if (!files) return files.error();
    for (const ExportedFile& file : *files) {
      ++result_.parts.back().files;
      const Result<std::string> text = ReadTextFile(directory_.File(file.name));
      if (text && *text == file.contents) continue;
      Complain(fmt::format("{}: {}", what, file.name), text ? "another text" : "no such file",
               "the mapping's text");
    }
    return {};
  }

  // A bound is the one known without search, or what the journal of the proof has shown; and no
  // mapping that anybody has seen is below it.
  Result<void> CheckBound(const MappingProblem& problem, const std::string& what, const Json& json,
                          const ProofRecord& proved, double least, LayerMapping& made) {
    const Result<LayerBounds> bounds = BoundsOf(made.layer, job_);
    if (!bounds) return bounds.error();
    made.bounds = *bounds;
    made.bound = bounds->Of(job_.problem.objective);
    std::string& how = result_.parts.back().remarks[1];
    if (made.bound) how = "computed again";
    if (proved.bound > made.bound.value_or(0)) {
      made.bound = made.cost ? std::min(proved.bound, made.value) : proved.bound;
      how = "as in the proof's journal";
      if (Result<void> again = CheckProofAgain(what, proved, made); !again) return again;
    }
    CompareNumber(json, what, "bound", made.bound);
    CompareNumber(json, what, "gap", made.gap());
    if (made.cost) {
      made.status = StatusOf(made.value, made.bound);
      CompareText(json, what, "status", ToString(made.status));
    }
    if (proved.proof.complete && made.cost && made.value > *made.bound * (1 + kRounding)) {
      Complain(what + ": proof", "complete", fmt::format("a gap of {}", *made.gap()));
    }
    if (!made.bound || problem.loops() == nullptr) return {};
    const double found = std::min(least, LeastOfRandom(problem));
    if (found < *made.bound * (1 - kRounding)) {
      Complain(what + ": bound", fmt::format("{}", *made.bound),
               fmt::format("at most {}, which some mapping costs", found));
    }
    how += fmt::format("; {} random mappings are not below it", WithThousands(kRandom));
    return {};
  }

  // The proof once more, as far as time allows; what is left is said to be believed.
  Result<void> CheckProofAgain(const std::string& what, const ProofRecord& proved,
                               const LayerMapping& made) {
    const Result<ProvedAgain> again =
        ProveAgain(job_, made, proved.mapping, *made.bound, deadline_);
    if (!again) return again.error();
    if (again->least < *made.bound * (1 - kRounding)) {
      Complain(what + ": bound", fmt::format("{}", *made.bound),
               fmt::format("at most {}, which some mapping costs", again->least));
    } else if (again->reached) {
      result_.parts.back().remarks[1] = "proved again";
    } else {
      result_.trusted.push_back(
          fmt::format("{}: bound {}, which its proof has reached", what, *made.bound));
    }
    return {};
  }

  // The least value of some random mappings of the space.
  double LeastOfRandom(const MappingProblem& problem) {
    std::vector<Trial> trials(kRandom);
    for (size_t i = 0; i < trials.size(); ++i) {
      CounterRng rng(static_cast<uint64_t>(job_.settings.seed), StreamId("run.verify"), i);
      trials[i].point = problem.space().Sample(rng, /*redraws=*/4);
    }
    Evaluator(problem, pool_).Evaluate(trials);
    double least = kInfinity;
    for (const Trial& trial : trials) {
      if (trial.outcome.feasible()) least = std::min(least, trial.outcome.value);
    }
    return least;
  }

  // Evaluates everything again and returns the best trial.
  std::optional<Trial> CheckJournal(const MappingProblem& problem, const std::string& what,
                                    const std::vector<Trial>& trials) {
    std::vector<Trial> again = trials;
    Evaluator(problem, pool_).Evaluate(again);
    result_.parts.back().trials = std::ssize(trials);
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
      if (computed.feasible() && (!best || problem.Better(computed, best->outcome))) {
        best = again[i];
      }
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
        {"area_um2", AreaOf(total.area_um2)},
        {"utilization", total.utilization},
        {"samples", static_cast<double>(total.samples)}};
    for (const auto& [key, value] : numbers) {
      // With a plan for the whole network, the others are the plan's (interlayer/verify_plan.h).
      if (job_.settings.inter_layer == InterLayer::kNone || key == "layers") {
        CompareNumber(json, "total", key, value);
      }
    }
  }

  const RunDirectory& directory_;
  const MapJob& job_;
  Json report_;
  ThreadPool pool_;
  const double deadline_;             // of proofs
  std::vector<LayerMapping> layers_;  // as far as they could be checked
  bool in_total_ = false;
  int64_t trusted_stops_ = 0, trusted_next_ = 0;  // layers
  Verification result_;
};

}  // namespace

Result<Verification> VerifyMapRun(const RunDirectory& directory, const VerifyOptions& options) {
  const Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error();
  const std::string file = directory.File("result.json");
  const Result<Json> report = ReadJson(file);
  if (!report) return report.error();
  if (!report->is_object() || !report->contains("layers") || !report->contains("total")) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = "this is not the result of a mapping run",
                 .where = {.file = file}};
  }
  return Verifier(directory, *job, *report, options).Go();
}

}  // namespace tessera
