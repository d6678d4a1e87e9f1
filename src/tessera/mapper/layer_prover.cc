// Rounds of the exact mapper on a layer.
#include "tessera/mapper/layer_prover.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "tessera/map.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/proof_journal.h"
#include "tessera/record/clock.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {

Result<void> LayerProver::Make(int64_t max_nodes) {
  const Result<std::unique_ptr<MappingProblem>> problem =
      ProblemOf(job_, {layer_.name, layer_.layer});
  if (!problem) return problem.error();
  Result<exact::MapperOptions> options = exact::OptionsFor(**problem);
  if (!options) return options.error();
  options->max_nodes = std::min(options->max_nodes, max_nodes);
  constexpr int64_t kSplitSteps = 500'000;  // bounds a round's work
  options->split_steps = kSplitSteps;
  options->stopped = [this] { return SteadySeconds() >= stop_at_ || (stopped_ && stopped_()); };
  const auto& [loops, hierarchy] = *(*problem)->loops();
  Result<std::unique_ptr<exact::Mapper>> mapper = exact::Mapper::Make(loops, hierarchy, *options);
  if (!mapper) return mapper.error();
  mapper_ = *std::move(mapper);
  Result<std::unique_ptr<CostModel>> model = ModelOf(job_, layer_.layer);
  if (!model) return model.error();
  model_ = *std::move(model);
  bound_ = layer_.bound.value_or(0);
  return {};
}

Result<void> LayerProver::OpenJournal(const JournalFile& file, bool restore) {
  ProofRecord record;
  if (restore) {
    Result<ProofRecord> read = ReadProofJournal(file, layer_.layer, job_.accelerator);
    if (!read) return read.error();
    record = *std::move(read);
  }
  Result<std::unique_ptr<LineJournal>> opened = LineJournal::Open(file, record.text);
  if (!opened) return opened.error();
  journal_ = *std::move(opened);
  before_ = proof_ = written_ = record.proof;
  bound_ = std::max(bound_, record.bound);
  if (!record.mapping) return {};
  // Priced again: a journal is no reason to believe a number.
  const Result<Cost> cost = Evaluate(*model_, *record.mapping);
  if (!cost) return cost.error();
  mapping_ = std::get<LoopMapping>(*record.mapping);
  cost_ = *cost;
  value_ = ValueOf(*cost, job_.problem.objective);
  mapper_->Offer(*mapping_);
  done_ = proof_.complete;
  return {};
}

double LayerProver::Gap() const {
  return bound_ > 0 ? value_ / bound_ - 1 : std::numeric_limits<double>::infinity();
}

Result<void> LayerProver::Run(double seconds, double deadline, ThreadPool& pool) {
  const double start = SteadySeconds();
  stop_at_ = deadline;
  double now = start;
  do {
    if (Result<void> done = Round(pool); !done) return done;
    now = SteadySeconds();
  } while (!done_ && now < std::min(start + seconds, deadline) && !(stopped_ && stopped_()));
  spent_seconds_ += now - start;
  return {};
}

Result<void> LayerProver::Round(ThreadPool& pool) {
  const bool more = mapper_->Step(pool);
  ++rounds_here_;
  const MapSettings& settings = job_.settings;
  if (Result<void> taken = Take(mapper_->progress()); !taken) return taken;
  done_ = !more || proof_.complete ||
          (settings.proof_rounds > 0 && proof_.rounds >= settings.proof_rounds) ||
          Gap() <= std::max(exact::kTolerance, settings.target_gap.value_or(0));
  return {};
}

Result<void> LayerProver::Take(const exact::Progress& progress) {
  proof_ = {
      .rounds = before_.rounds + rounds_here_,
      .evaluations = before_.evaluations + progress.counters.evaluations,
      .complete = progress.open_nodes == 0 && (progress.status == exact::Status::kOptimal ||
                                               progress.status == exact::Status::kInfeasible)};
  const bool better = progress.best && progress.best->value < value_;
  if (better) {
    // Priced like every other mapping, so that all numbers come from one place.
    const Result<Cost> cost = Evaluate(*model_, progress.best->mapping);
    if (!cost) return cost.error();
    mapping_ = progress.best->mapping;
    cost_ = *cost;
    value_ = ValueOf(*cost, job_.problem.objective);
    better_ = true;
  }
  // Bounds are sums of doubles: rounding aside, a complete proof leaves no gap.
  const double bound = std::min(std::max(bound_, progress.bound), value_);
  const bool raised = bound != std::exchange(bound_, bound);
  return raised || better || proof_.complete ? Write(better) : Result<void>();
}

Result<void> LayerProver::Write(bool new_mapping) {
  if (journal_ == nullptr) return {};
  std::string text;
  if (new_mapping) {
    Result<std::string> made = MappingJson(layer_.layer, job_.accelerator, *mapping_);
    if (!made) return made.error();
    text = *std::move(made);
  }
  written_ = proof_;
  return journal_->Append(std::vector{ProofLine(proof_, bound_, value_, text)});
}

Result<void> LayerProver::Close() {
  return written_ == proof_ ? Result<void>() : Write(/*new_mapping=*/false);
}

void LayerProver::Offer() {
  if (!layer_.mapping || layer_.value >= value_) return;
  mapping_ = std::get<LoopMapping>(*layer_.mapping);
  cost_ = layer_.cost;
  value_ = layer_.value;
  mapper_->Offer(*mapping_);
  if (Gap() <= exact::kTolerance) done_ = true;
}

void LayerProver::Publish() {
  improved_ = std::exchange(better_, false);
  layer_.proof = proof_;
  if (bound_ > 0) layer_.bound = bound_;
  if (!mapping_) return;
  layer_.mapping = *mapping_;
  layer_.cost = cost_;
  layer_.value = value_;
  layer_.status = StatusOf(value_, layer_.bound);
}

double LayerProver::Urgency() const {
  if (!layer_.mapping) return std::numeric_limits<double>::infinity();
  // A network's EDP is bounded by the square of a sum of roots, so roots are what adds up.
  const bool edp = job_.problem.objective == Objective::kEdp;
  const double bound = layer_.bound.value_or(0);
  const double share = edp ? std::sqrt(layer_.value) - std::sqrt(bound) : layer_.value - bound;
  constexpr double kStart = 0.1;  // seconds; the first ones are the most rewarding
  return static_cast<double>(layer_.count) * share / (kStart + spent_seconds_);
}

}  // namespace tessera
