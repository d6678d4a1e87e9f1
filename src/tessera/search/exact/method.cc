// Methods `exact` and `auto`: the exact mapper as a search method. Each proposal is the best
// mapping after one more round, so that budgets, journals and reports work as for any method; the
// bound is the proved one. On other problems `exact` tries all points in order, and `auto` anneals.
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/cost/bounds.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/method.h"
#include "tessera/space/mapping_problem.h"

namespace tessera {

SearcherInfo GridMethod();
SearcherInfo SaMethod();

namespace {

struct ExactOptions {
  int64_t round = 16;
  int64_t steps = 20'000;
  int64_t max_nodes = 4'000'000;
};

std::optional<exact::Goal> GoalOf(Objective objective) {
  switch (objective) {
    case Objective::kLatency: return exact::Goal::kCycles;
    case Objective::kEnergy: return exact::Goal::kEnergy;
    case Objective::kEdp: return exact::Goal::kEdp;
    case Objective::kPower:
    case Objective::kArea: break;
  }
  return std::nullopt;
}

// Which tensors the decisions of a space let a level hold, and which it must hold.
void SetKeeps(const MappingSpace& space, const LoopProblem& problem, const Hierarchy& hierarchy,
              exact::MapperOptions& options) {
  options.must_keep.assign(hierarchy.levels.size(), 0);
  options.keep = KeepSets(problem, hierarchy);
  const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
  if (options.keep.empty()) options.keep.assign(hierarchy.levels.size(), all);
  options.keep.back() = all;
  for (size_t i = 0; i + 1 < hierarchy.levels.size(); ++i) {
    for (int v = 0; v < problem.num_tensors; ++v) {
      const std::string name = "keep_" + hierarchy.levels[i].name + "_" +
                               std::string(problem.tensors[static_cast<size_t>(v)].name.view());
      const size_t found = space.Find(name);
      if (found == space.size()) continue;
      const Decision& decision = space.decisions()[found];
      const auto bit = static_cast<uint8_t>(1u << v);
      if (decision.Find(0) < 0) options.keep[i] = static_cast<uint8_t>(options.keep[i] & ~bit);
      if (decision.Find(1) < 0) options.must_keep[i] |= bit;
    }
  }
}

class ExactSearcher final : public Searcher {
 public:
  ExactSearcher(const MappingSpace& space, std::unique_ptr<exact::Mapper> mapper)
      : space_(space), mapper_(std::move(mapper)), pool_(1) {}

  std::vector<Point> Propose(int64_t /*n*/) override {
    // After the last round the mapping is proposed once more, for its bound to be noticed.
    while (!done_) {
      done_ = !mapper_->Step(pool_);
      progress_ = mapper_->progress();
      if (!progress_.best) continue;
      const Result<Point> point = space_.Encode(progress_.best->mapping);
      if (point) return {*point};
    }
    return {};
  }

  void Observe(std::span<const Trial> /*trials*/) override {}

  std::optional<double> Bound() const override {
    if (progress_.status == exact::Status::kHeuristic) return std::nullopt;
    // An optimal value is its own bound, up to the tolerance.
    return progress_.bound;
  }

  std::vector<Note> Notes() const override {
    const exact::Counters& counters = progress_.counters;
    return {{"status", std::string(exact::kStatusNames[static_cast<size_t>(progress_.status)])},
            {"tolerance", exact::kTolerance},
            {"rounds", progress_.rounds},
            {"open_nodes", progress_.open_nodes},
            {"tilings", counters.nodes},
            {"evaluations", counters.evaluations}};
  }

 private:
  const MappingSpace& space_;
  const std::unique_ptr<exact::Mapper> mapper_;
  ThreadPool pool_;
  exact::Progress progress_;
  bool done_ = false;
};

// A searcher for problems of model loopnest, null for others.
Result<std::unique_ptr<Searcher>> MakeExact(const SearchSetup& setup, const ExactOptions& chosen) {
  const auto* problem = dynamic_cast<const MappingProblem*>(setup.problem);
  if (problem == nullptr || problem->loopnest() == nullptr) return std::unique_ptr<Searcher>();
  const std::optional<exact::Goal> goal = GoalOf(problem->objective());
  const loopnest::Semantics semantics = problem->options().model.loopnest.semantics;
  if (!goal || semantics == loopnest::Semantics::kTimeloop4) return std::unique_ptr<Searcher>();
  const auto& [loops, hierarchy] = *problem->loopnest();
  exact::MapperOptions options{
      .goal = *goal,
      .semantics = semantics,
      .decide_keep = problem->options().decide_keep,
      .restrictions = exact::RestrictionsOf(problem->space(), loops, hierarchy),
      .round_nodes = chosen.round,
      .node_steps = chosen.steps,
      .max_nodes = chosen.max_nodes};
  SetKeeps(problem->space(), loops, hierarchy, options);
  Result<std::unique_ptr<exact::Mapper>> mapper = exact::Mapper::Make(loops, hierarchy, options);
  if (!mapper) return mapper.error();
  for (const Point& hint : setup.hints) {
    const Mapping mapping = problem->space().Decode(hint);
    if (const auto* known = std::get_if<LoopMapping>(&mapping)) (*mapper)->Offer(*known);
  }
  return std::unique_ptr<Searcher>(
      std::make_unique<ExactSearcher>(problem->space(), *std::move(mapper)));
}

// The exact mapper where it can work, and another method elsewhere.
template <SearcherInfo (*Otherwise)()>
struct ExactOr {
  static Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup,
                                                const ExactOptions& options) {
    Result<std::unique_ptr<Searcher>> made = MakeExact(setup, options);
    if (!made || *made != nullptr) return made;
    return Otherwise().make(setup, {});
  }
};

ParameterList<ExactOptions> Parameters() {
  return {
      {"round", &ExactOptions::round, Range{1, 4096}, "nodes per round"},
      {"steps", &ExactOptions::steps, Range{1, 1'000'000'000}, "steps after which a node is split"},
      {"max_nodes", &ExactOptions::max_nodes, Range{1, 1'000'000'000},
       "nodes in memory, about 200 bytes each; what exceeds it stays unproved"}};
}

}  // namespace

SearcherInfo ExactMethod() {
  return DeclareMethod<ExactOr<GridMethod>, ExactOptions>(
      "exact", "branch and bound with proof for model loopnest; a grid without proof elsewhere",
      Parameters());
}

SearcherInfo AutoMethod() {
  return DeclareMethod<ExactOr<SaMethod>, ExactOptions>(
      "auto", "exact where the model has bounds (loopnest), simulated annealing elsewhere",
      Parameters());
}

}  // namespace tessera
