// Proved optima of problems that are rows of a file.
#include "tessera/map.h"

#include <chrono>

#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/part.h"
#include "tessera/search/exact/audit.h"
#include "tessera/search/exact/count.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/row.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename Factors, typename Order>
Json LoopsJson(const LoopProblem& problem, const Factors& factors, const Order& order) {
  std::string names;
  Json values = Json::object();
  for (size_t k = 0; k < problem.dims().size(); ++k) {
    names += problem.dimensions[order[k]].name.view();
    values[std::string(problem.dimensions[k].name.view())] = factors[k];
  }
  return {{"perm", names}, {"factors", values}};
}

// A mapping as rows of `tessera evaluate --batch` have it.
Json RowMappingJson(const LoopMapping& mapping, const LoopProblem& problem,
                    const Hierarchy& hierarchy) {
  Json levels = Json::array();
  for (size_t i = 0; i < mapping.view().size(); ++i) {
    const LoopLevel& level = mapping.levels[i];
    Json keep = Json::array();
    for (int v = 0; v < problem.num_tensors; ++v) {
      if (level.Keeps(v)) keep.push_back(problem.tensors[static_cast<size_t>(v)].name.view());
    }
    Json spatial;
    if (FanoutX(hierarchy, i) * FanoutY(hierarchy, i) > 1) {
      spatial = LoopsJson(problem, level.spatial, level.spatial_order);
      spatial["split"] = level.split;
    }
    levels.push_back({{"name", hierarchy.levels[i].name},
                      {"keep", keep},
                      {"temporal", LoopsJson(problem, level.temporal, level.temporal_order)},
                      {"spatial", spatial}});
  }
  return {{"levels", levels}};
}

Json AuditJson(const exact::Auditor& auditor) {
  Json json = Json::object();
  for (size_t r = 0; r < exact::kRules; ++r) {
    const exact::RuleAudit& rule = auditor.rules()[r];
    json[std::string(exact::kRuleNames[r])] = {
        {"audited", rule.audited}, {"violations", rule.violations}, {"tightest", rule.tightest}};
  }
  return json;
}

struct Solver {
  const exact::ProblemRow& row;
  const ExactRowOptions& options;
  int64_t evaluations = 0;

  Result<Json> Solve(exact::Goal goal) {
    const Clock::time_point start = Clock::now();
    const Hierarchy& hierarchy = *row.machine.hierarchy;
    exact::Auditor auditor(goal, options.seed, /*per_part=*/1, options.audit);
    const auto mapper = exact::Mapper::Make(row.problem, hierarchy,
                                            {.goal = goal,
                                             .semantics = options.semantics,
                                             .keep = row.keep,
                                             .observer = options.audit > 0 ? &auditor : nullptr});
    if (!mapper) {
      if (mapper.error().kind != ErrorKind::kInfeasible) return mapper.error();
      return Json{{"status", exact::kStatusNames[static_cast<size_t>(exact::Status::kInfeasible)]},
                  {"bound", nullptr},
                  {"reason", mapper.error().message}};
    }
    ThreadPool one(1);  // Rows are what runs side by side.
    while ((*mapper)->Step(one)) {
      const double limit = options.time_limit_seconds;
      if (limit > 0 && SecondsSince(start) >= limit) break;
    }
    const exact::Progress progress = (*mapper)->progress();
    evaluations += progress.counters.evaluations;
    Json json = {{"status", exact::kStatusNames[static_cast<size_t>(progress.status)]},
                 {"bound", progress.bound}};
    if (options.audit > 0) json["audit"] = AuditJson(auditor);
    if (!progress.best) return json;
    json["value"] = progress.best->value;
    json["cycles"] = static_cast<int64_t>(progress.best->cycles);
    json["energy"] = progress.best->energy_pj;
    json["mapping"] = RowMappingJson(progress.best->mapping, row.problem, hierarchy);
    return json;
  }
};

}  // namespace

Result<std::string> AnswerExactRow(std::string_view line, const Where& where,
                                   const ExactRowOptions& options) {
  const Clock::time_point start = Clock::now();
  const Result<Node> node = ParseJson(line, where.file, where.line);
  if (!node) return node.error();
  const Result<exact::ProblemRow> row = exact::ReadProblemRow(*node);
  if (!row) return row.error();
  Solver solver{*row, options};
  Json optimum = Json::object();
  for (const auto& [goal, name] :
       {std::pair(exact::Goal::kCycles, "cycles"), std::pair(exact::Goal::kEnergy, "energy"),
        std::pair(exact::Goal::kEdp, "edp")}) {
    Result<Json> solved = solver.Solve(goal);
    if (!solved) return solved.error();
    optimum[name] = *std::move(solved);
  }
  const double mappings = exact::CountMappings(row->problem, *row->machine.hierarchy);
  constexpr double kLargestExact = 9'007'199'254'740'992;  // 2^53
  Json space = {{"mappings", mappings}};
  if (mappings <= kLargestExact) space["mappings"] = static_cast<int64_t>(mappings);
  return ToLine({{"id", row->id},
                 {"space", space},
                 {"optimum", optimum},
                 {"evaluations", solver.evaluations},
                 {"seconds", SecondsSince(start)}});
}

}  // namespace tessera
