// Audits of runs: their proofs once more, with somebody looking at what is left out.
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tessera/map.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/proof_journal.h"
#include "tessera/mapper/verify.h"
#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/search/exact/audit.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {
namespace {

struct LayerAudit {
  std::array<exact::RuleAudit, exact::kRules> rules = {};
  std::string violation = {};
  double best = exact::kInfinity;  // that the repeated search found
};

Result<LayerAudit> Audit(const MapJob& job, const NetworkLayer& entry, const ProofRecord& proved,
                         int64_t most) {
  const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, entry.layer, entry.name);
  if (!problem) return problem.error();
  Result<exact::MapperOptions> options = exact::OptionsFor(**problem);
  if (!options) return options.error();
  options->any_factors = job.any_factors;
  exact::Auditor auditor(options->goal, static_cast<uint64_t>(job.settings.seed), /*per_part=*/1,
                         most);
  options->observer = &auditor;
  const auto& [loops, hierarchy] = *(*problem)->loops();
  const Result<std::unique_ptr<exact::Mapper>> mapper =
      exact::Mapper::Make(loops, hierarchy, *options);
  if (!mapper) return mapper.error();
  if (proved.mapping) (*mapper)->Offer(std::get<LoopMapping>(*proved.mapping));
  ThreadPool one(1);  // Layers are what runs side by side; an auditor is used by one thread.
  const auto enough = [&] {
    return std::all_of(auditor.rules().begin(), auditor.rules().end(),
                       [&](const exact::RuleAudit& rule) { return rule.audited >= most; });
  };
  for (int64_t round = 0; round < proved.proof.rounds && !enough(); ++round) {
    if (!(*mapper)->Step(one)) break;
  }
  LayerAudit audit{.rules = auditor.rules(), .violation = auditor.first_violation()};
  if (const auto best = (*mapper)->progress().best) audit.best = best->value;
  return audit;
}

}  // namespace

Result<ProvedAgain> ProveAgain(const MapJob& job, const LayerMapping& made,
                               const std::optional<Mapping>& known, double bound, double deadline) {
  const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, made.layer, made.name);
  if (!problem) return problem.error();
  Result<exact::MapperOptions> options = exact::OptionsFor(**problem);
  if (!options) return options.error();
  options->any_factors = job.any_factors;
  const auto& [loops, hierarchy] = *(*problem)->loops();
  const Result<std::unique_ptr<exact::Mapper>> mapper =
      exact::Mapper::Make(loops, hierarchy, *options);
  if (!mapper) return mapper.error();
  if (known) (*mapper)->Offer(std::get<LoopMapping>(*known));
  ThreadPool one(1);
  ProvedAgain again;
  bool more = true;
  while (more && !again.reached && SteadySeconds() < deadline) {
    more = (*mapper)->Step(one);
    const exact::Progress progress = (*mapper)->progress();
    again.complete = progress.open_nodes == 0;
    const double least = progress.best ? progress.best->value : exact::kInfinity;
    // A search that has come to its end has shown that nothing is below what it found.
    const double shown = again.complete ? std::max(progress.bound, least) : progress.bound;
    again.reached = shown >= bound * (1 - exact::kTolerance);
  }
  const auto best = (*mapper)->progress().best;
  again.least = best ? best->value : exact::kInfinity;
  return again;
}

Result<AuditResult> AuditRun(const RunDirectory& directory, int threads, int64_t most) {
  const Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error();
  if (!job->prove) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("the run's method {} makes no proofs to audit",
                                        job->settings.method.ToString()),
                 .hint = "leave out --audit"};
  }
  const std::vector<NetworkLayer>& layers = job->network.layers;
  std::vector<std::optional<Result<LayerAudit>>> audits(layers.size());
  std::vector<ProofRecord> records(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    Result<ProofRecord> record =
        ReadProofJournal(ProofJournal(directory, i), layers[i].layer, job->accelerator);
    if (!record) return record.error();
    records[i] = *std::move(record);
  }
  ThreadPool pool(threads);
  pool.ParallelFor(std::ssize(layers), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
    const auto i = static_cast<size_t>(begin);
    if (records[i].proof.rounds > 0) audits[i] = Audit(*job, layers[i], records[i], most);
  });
  AuditResult result;
  for (size_t r = 0; r < exact::kRules; ++r) result.rules.push_back({.rule = exact::kRuleNames[r]});
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!audits[i]) continue;
    if (!*audits[i]) return InLayer(layers[i].name, audits[i]->error());
    const LayerAudit& audit = **audits[i];
    for (size_t r = 0; r < exact::kRules; ++r) {
      result.rules[r].audited += audit.rules[r].audited;
      result.rules[r].violations += audit.rules[r].violations;
      result.rules[r].tightest = std::max(result.rules[r].tightest, audit.rules[r].tightest);
    }
    const std::string what = fmt::format("layer '{}': bound", layers[i].name);
    if (!audit.violation.empty()) {
      result.discrepancies.push_back({what, "no mapping below it", audit.violation});
    }
    if (audit.best < records[i].bound * (1 - exact::kTolerance)) {
      result.discrepancies.push_back(
          {what, fmt::format("{}", records[i].bound),
           fmt::format("at most {}, which a mapping costs", audit.best)});
    }
  }
  return result;
}

}  // namespace tessera
