// Rounds of the exact mapper on a layer.
#include "tessera/mapper/layer_prover.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tessera/map.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/proof_journal.h"
#include "tessera/mapper/warm_start.h"
#include "tessera/record/clock.h"
#include "tessera/search/exact/audit.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {

Result<void> LayerProver::Make(int64_t max_nodes, std::vector<std::optional<int64_t>> known) {
  const Result<std::unique_ptr<MappingProblem>> problem =
      ProblemOf(job_, layer_.layer, layer_.name);
  if (!problem) return problem.error();
  Result<exact::MapperOptions> options = exact::OptionsFor(**problem);
  if (!options) return options.error();
  options->max_nodes = std::min(options->max_nodes, max_nodes);
  constexpr int64_t kSplitSteps = 500'000;  // bounds a round's work
  options->split_steps = kSplitSteps;
  options->stopped = [this] { return SteadySeconds() >= stop_at_ || (stopped_ && stopped_()); };
  if (!known.empty()) options->dive_width = 0;  // What is offered is a better start.
  options->begun = layer_.search.best.has_value();
  options->known_entries = std::move(known);
  options_ = *options;
  for (const Objective objective : job_.problem.ties) {
    if (exact::GoalOf(objective)) next_.push_back(objective);
  }
  const auto& [loops, hierarchy] = *(*problem)->loops();
  Result<std::unique_ptr<exact::Mapper>> mapper = exact::Mapper::Make(loops, hierarchy, *options);
  if (!mapper) return mapper.error();
  if (job_.any_factors) {
    options_.any_factors = true;
    perfect_ = *std::move(mapper);
    mapper = exact::Mapper::Make(loops, hierarchy, options_);
    if (!mapper) return mapper.error();
  }
  mapper_ = *std::move(mapper);
  Result<std::unique_ptr<CostModel>> model = ModelOf(job_, layer_.layer);
  if (!model) return model.error();
  model_ = *std::move(model);
  bound_ = layer_.bound.value_or(0);
  StartHeld();
  return StartInside(**problem);
}

// Where a policy's proposals are the start, so is one without bypass: what bypass gains is known
// even if nothing is left to search.
void LayerProver::StartHeld() {
  if (!options_.begun || !options_.decide_keep) return;
  const auto held = HeldProposal(job_, layer_);
  if (!held) return;
  const auto& [mapping, cost] = *held;
  mapper_->Offer(mapping);
  without_bypass_ = held_before_ = SubspaceResult{.value = ValueOf(cost, job_.problem.objective),
                                                  .cycles = static_cast<double>(cost.cycles),
                                                  .energy_pj = cost.energy_pj,
                                                  .bound = bound_};
}

// Where constraints leave little, exact search may take long to find anything; a space knows a
// mapping that they allow.
Result<void> LayerProver::StartInside(const MappingProblem& problem) {
  const bool constrained = !job_.problem.space.constraints.demands.empty() ||
                           !job_.accelerator.constraints.demands.empty();
  if (!constrained) return {};
  Point point(problem.space().size());
  problem.space().Repair(point);
  if (!problem.space().Check(point) || !problem.Evaluate(point).feasible()) return {};
  const Mapping mapping = problem.space().Decode(point);
  if (Result<void> taken = TakeMapping(std::get<LoopMapping>(mapping)); !taken) return taken;
  mapper_->Offer(*mapping_);
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
  if (record.held) without_bypass_ = held_before_ = record.held;
  perfect_factors_ = record.perfect;
  if (record.mapping) {
    // Priced again: a journal is no reason to believe a number.
    const Result<Cost> cost = Evaluate(*model_, *record.mapping);
    if (!cost) return cost.error();
    mapping_ = std::get<LoopMapping>(*record.mapping);
    cost_ = *cost;
    value_ = ValueOf(*cost, job_.problem.objective);
    mapper_->Offer(*mapping_);
  }
  Offer();  // What a search has found is in that one's journal.
  // What was shown of the next objectives is in no journal: it is looked at again.
  if (mapping_ && proof_.complete) FinishFirst(MapStop::kProved);
  return {};
}

double LayerProver::Gap() const {
  return bound_ > 0 ? value_ / bound_ - 1 : std::numeric_limits<double>::infinity();
}

Result<void> LayerProver::Run(double seconds, double first_deadline, double deadline,
                              ThreadPool& pool) {
  const double start = SteadySeconds();
  double now = start;
  // A third of the time at most goes into factors that divide.
  if (perfect_ != nullptr && spent_seconds_ == 0) perfect_until_ = start + (deadline - start) / 3;
  do {
    stop_at_ = first_done_ ? deadline : std::min(first_deadline, deadline);
    Result<void> done = first_done_           ? NextRound(pool)
                        : perfect_ != nullptr ? PerfectRound(pool)
                                              : Round(pool);
    if (!done) return done;
    now = SteadySeconds();
    if (!first_done_ && mapping_ && now >= first_deadline) FinishFirst(MapStop::kTime);
  } while (!done_ && now < std::min(start + seconds, deadline) && !(stopped_ && stopped_()));
  spent_seconds_ += now - start;
  return {};
}

// With any factors: a round for those that divide. What they reach is what the others have to beat.
Result<void> LayerProver::PerfectRound(ThreadPool& pool) {
  constexpr int64_t kMostRounds = 64;
  const bool more = perfect_->Step(pool);
  ++rounds_here_;
  const exact::Progress progress = perfect_->progress();
  perfect_evaluations_ = progress.counters.evaluations;
  perfect_factors_ = SubspaceResult{.bound = progress.bound};
  if (progress.best) {
    perfect_factors_->value = progress.best->value;
    perfect_factors_->cycles = progress.best->cycles;
    perfect_factors_->energy_pj = progress.best->energy_pj;
  }
  const bool better = progress.best && progress.best->value < value_;
  if (better) {
    if (Result<void> taken = TakeMapping(progress.best->mapping); !taken) return taken;
    mapper_->Offer(*mapping_);
  }
  proof_ = {.rounds = before_.rounds + rounds_here_,
            .evaluations = before_.evaluations + perfect_evaluations_};
  const MapSettings& settings = job_.settings;
  // Half of the rounds, if those are what there is.
  const int64_t most = settings.proof_rounds > 0
                           ? std::min(kMostRounds, std::max<int64_t>(1, settings.proof_rounds / 2))
                           : kMostRounds;
  if (!more || progress.status == exact::Status::kOptimal || ++perfect_rounds_ >= most ||
      (mapping_ && SteadySeconds() >= perfect_until_)) {
    perfect_.reset();
  }
  return Write(better);
}

Result<void> LayerProver::Round(ThreadPool& pool) {
  const bool more = mapper_->Step(pool);
  ++rounds_here_;
  const exact::Progress progress = mapper_->progress();
  if (Result<void> taken = Take(progress); !taken) return taken;
  const std::optional<MapStop> stop = StopAfter(more, progress);
  if (!stop) return {};
  FinishFirst(*stop);
  return Audit();
}

// A sample of every proof is checked: a bound that a mapping refutes proves nothing.
Result<void> LayerProver::Audit() {
  if (!mapping_ || bound_ <= 0) return {};
  const Result<std::unique_ptr<MappingProblem>> problem =
      ProblemOf(job_, layer_.layer, layer_.name);
  if (!problem) return problem.error();
  const auto& [loops, hierarchy] = *(*problem)->loops();
  Result<std::string> violation = exact::AuditSample(loops, hierarchy, options_, *mapping_,
                                                     static_cast<uint64_t>(job_.settings.seed));
  if (!violation) return violation.error();
  defect_ = *std::move(violation);
  return {};
}

// What ends the search for the first objective, if it is over.
std::optional<MapStop> LayerProver::StopAfter(bool more, const exact::Progress& progress) const {
  const MapSettings& settings = job_.settings;
  if (proof_.complete || Gap() <= std::max(exact::kTolerance, settings.target_gap.value_or(0))) {
    return MapStop::kProved;
  }
  if (!more) return progress.gave_up ? MapStop::kMemory : MapStop::kProved;
  if (settings.proof_rounds > 0 && proof_.rounds >= settings.proof_rounds) return MapStop::kRounds;
  return std::nullopt;
}

void LayerProver::FinishFirst(MapStop stop) {
  stop_ = stop;
  first_done_ = true;
  done_ = !mapping_ || next_.empty();
}

// A mapper for the next objective among the mappings that are as good in those before it.
Result<void> LayerProver::StartNext() {
  exact::MapperOptions options = options_;
  options.goal = *exact::GoalOf(next_[at_]);
  // What is best of what is known need not be best among equals.
  options.known_entries.clear();
  options.dive_width = exact::MapperOptions{}.dive_width;
  const auto limit = [&](Objective objective, double most) {
    double& old = objective == Objective::kLatency  ? options.limits.cycles
                  : objective == Objective::kEnergy ? options.limits.energy_pj
                                                    : options.limits.edp;
    old = std::min(old, most);
  };
  limit(job_.problem.objective, value_ * (1 + job_.settings.within));
  for (size_t k = 0; k < at_; ++k) limit(next_[k], ValueOf(*cost_, next_[k]));
  const Result<std::unique_ptr<MappingProblem>> problem =
      ProblemOf(job_, layer_.layer, layer_.name);
  if (!problem) return problem.error();
  const auto& [loops, hierarchy] = *(*problem)->loops();
  Result<std::unique_ptr<exact::Mapper>> mapper = exact::Mapper::Make(loops, hierarchy, options);
  if (!mapper) return mapper.error();
  chooser_ = *std::move(mapper);
  chooser_->Offer(*mapping_);
  chooser_rounds_ = 0;
  return {};
}

// A round for one of the next objectives.
Result<void> LayerProver::NextRound(ThreadPool& pool) {
  if (chooser_ == nullptr) {
    mapper_.reset();  // Its open nodes are of no use any more.
    if (Result<void> started = StartNext(); !started) return started;
  }
  const Objective objective = next_[at_];
  const bool more = chooser_->Step(pool);
  ++chooser_rounds_;
  const exact::Progress progress = chooser_->progress();
  if (progress.best && progress.best->value < ValueOf(*cost_, objective)) {
    if (Result<void> taken = TakeMapping(progress.best->mapping); !taken) return taken;
    if (Result<void> written = Write(/*new_mapping=*/true); !written) return written;
  }
  // Equal mappings are worth a look, not a search to its end, unless that takes a tenth of a
  // second; what --within gives up is.
  constexpr int64_t kFew = 4, kLittle = 200'000;
  const bool wanted = job_.settings.within > 0 && at_ < job_.settings.then.size();
  const int64_t most = wanted ? job_.settings.proof_rounds : kFew;
  const bool proved = progress.status == exact::Status::kOptimal;
  const exact::Counters& work = progress.counters;
  const bool short_look = !wanted && work.nodes + work.tiles + work.evaluations < kLittle;
  if (more && !proved && (most == 0 || chooser_rounds_ < most || short_look)) return {};
  then_.push_back({.objective = objective, .value = ValueOf(*cost_, objective), .proved = proved});
  chooser_.reset();
  done_ = ++at_ == next_.size();
  return {};
}

// Priced like every other mapping, so that all numbers come from one place.
Result<void> LayerProver::TakeMapping(const LoopMapping& mapping) {
  const Result<Cost> cost = Evaluate(*model_, mapping);
  if (!cost) return cost.error();
  mapping_ = mapping;
  cost_ = *cost;
  value_ = ValueOf(*cost, job_.problem.objective);
  better_ = true;
  return {};
}

Result<void> LayerProver::Take(const exact::Progress& progress) {
  proof_ = {
      .rounds = before_.rounds + rounds_here_,
      .evaluations = before_.evaluations + perfect_evaluations_ + progress.counters.evaluations,
      .complete = progress.open_nodes == 0 && (progress.status == exact::Status::kOptimal ||
                                               progress.status == exact::Status::kInfeasible)};
  const bool better = progress.best && progress.best->value < value_;
  if (better) {
    if (Result<void> taken = TakeMapping(progress.best->mapping); !taken) return taken;
  }
  choices_left_out_ = progress.choices_left_out;
  choices_unseen_ = progress.choices_unseen;
  if (options_.decide_keep) {
    const SubspaceResult before = held_before_.value_or(SubspaceResult{});
    without_bypass_ = before;
    without_bypass_->bound = std::max({bound_, before.bound, progress.held_bound});
    if (progress.held &&
        progress.held->value < before.value.value_or(std::numeric_limits<double>::infinity())) {
      without_bypass_->value = progress.held->value;
      without_bypass_->cycles = progress.held->cycles;
      without_bypass_->energy_pj = progress.held->energy_pj;
    }
  }
  // Bounds are sums of doubles: rounding aside, a complete proof leaves no gap.
  const double shown = std::min(std::max(bound_, progress.bound), value_);
  // A space without any mapping has no bound to show.
  const double bound = std::isinf(shown) ? bound_ : shown;
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
  return journal_->Append(
      std::vector{ProofLine(proof_, bound_, value_, text, without_bypass_, perfect_factors_)});
}

Result<void> LayerProver::Close() {
  // What is known without any round is in no line yet.
  const bool silent = proof_.rounds == 0 && without_bypass_;
  return written_ == proof_ && !silent ? Result<void>() : Write(/*new_mapping=*/false);
}

void LayerProver::Offer() {
  if (!layer_.mapping || layer_.value >= value_ || first_done_) return;
  mapping_ = std::get<LoopMapping>(*layer_.mapping);
  cost_ = layer_.cost;
  value_ = layer_.value;
  mapper_->Offer(*mapping_);
  if (perfect_ != nullptr) perfect_->Offer(*mapping_);
  if (Gap() <= exact::kTolerance) FinishFirst(MapStop::kProved);
}

void LayerProver::Trim() {
  if (spent_seconds_ < 2 * spent_at_trim_) return;
  spent_at_trim_ = spent_seconds_;
  for (exact::Mapper* mapper : {mapper_.get(), perfect_.get(), chooser_.get()}) {
    if (mapper != nullptr) mapper->Trim();
  }
  CountBytes();
}

void LayerProver::CountBytes() {
  bytes_ = 0;
  for (const exact::Mapper* mapper : {mapper_.get(), perfect_.get(), chooser_.get()}) {
    if (mapper != nullptr) bytes_ += mapper->bytes();
  }
}

void LayerProver::Publish() {
  // It may wait long for its next objectives, or has none.
  if (first_done_) {
    mapper_.reset();
    perfect_.reset();
  }
  CountBytes();
  improved_ = std::exchange(better_, false);
  layer_.proof = proof_;
  layer_.without_bypass = without_bypass_;
  layer_.perfect_factors = perfect_factors_;
  layer_.then = then_;
  if (choices_left_out_ > 0) {
    layer_.unproved =
        fmt::format("{:.6g} more choices of kept tensors were not looked at", choices_left_out_);
  }
  if (bound_ > 0) layer_.bound = bound_;
  if (!defect_.empty()) {
    layer_.bound = layer_.bounds.Of(job_.problem.objective);
    layer_.unproved = fmt::format("a defect of the exact mapper, please report it: {}", defect_);
  }
  if (!mapping_) return;
  layer_.mapping = *mapping_;
  layer_.cost = cost_;
  layer_.value = value_;
  layer_.status = StatusOf(value_, layer_.bound);
}

double LayerProver::Urgency() const {
  if (!layer_.mapping) return std::numeric_limits<double>::infinity();
  if (first_done_) return -spent_seconds_;  // Gaps come first.
  // A network's EDP is bounded by the square of a sum of roots, so roots are what adds up.
  const bool edp = job_.problem.objective == Objective::kEdp;
  const double bound = layer_.bound.value_or(0);
  const double share = edp ? std::sqrt(layer_.value) - std::sqrt(bound) : layer_.value - bound;
  constexpr double kStart = 0.1;  // seconds; the first ones are the most rewarding
  const double urgency = static_cast<double>(layer_.count) * share / (kStart + spent_seconds_);
  // A first look at every choice of kept tensors is worth more than closing gaps.
  constexpr double kFirstLooks = 1e100;
  return choices_unseen_ > 0 ? kFirstLooks * urgency : urgency;
}

}  // namespace tessera
