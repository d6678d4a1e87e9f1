// Steps of staircases: which one is worked on, and what they say together.
#include "tessera/interlayer/node_costs.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "tessera/cost/keep_bounds.h"
#include "tessera/search/exact/keep_choices.h"

namespace tessera::interlayer {
namespace {

// Choices of kept tensors whose closed bounds are looked at one by one; machines with more get the
// bound of arithmetic alone.
constexpr size_t kMostKeepBounds = 512;

// Points of a front of cycles and energy that are proved one by one.
constexpr size_t kMostPoints = 256;

bool Covers(const Room& wide, const Room& narrow) {
  for (size_t i = 0; i < kMaxHomes; ++i) {
    if (wide[i] < narrow[i]) return false;
  }
  return true;
}

// A mapping with other rows: no factor is larger than before but the outermost one.
LoopMapping WithRows(LoopMapping mapping, size_t rows_dimension, int64_t rows) {
  int64_t left = rows;
  const auto cut = [&left](int32_t& factor) {
    int64_t most = factor == 0 ? left : std::min<int64_t>(factor, left);
    while (left % most != 0) --most;
    factor = static_cast<int32_t>(most);
    left /= most;
  };
  for (LoopLevel& level : mapping.view()) {
    cut(level.spatial[rows_dimension]);
    cut(level.temporal[rows_dimension]);
  }
  mapping.view().back().temporal[rows_dimension] *= static_cast<int32_t>(left);
  return mapping;
}

struct HashRoom {
  size_t operator()(const Room& room) const {
    uint64_t hash = 0;
    for (const int64_t words : room) {
      hash = (hash ^ static_cast<uint64_t>(words)) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 29;
    }
    return static_cast<size_t>(hash);
  }
};

}  // namespace

struct NodeCosts::Step {
  Room room = {};
  double bound = 0;  // of the objective; edp: of the energy below `limit` cycles
  bool done = false, infeasible = false;
  bool given_up = false;  // edp: the rest of the front
  bool given = false;     // its bound is from elsewhere, and nothing was done here yet
  int64_t rounds = 0;
  std::unique_ptr<exact::Mapper> mapper = nullptr;
  int64_t counted = 0;  // evaluations of the mapper so far

  // edp: proved points from the least energy on; nothing with fewer cycles than the last is known.
  std::vector<Spent> proved = {};
  double limit = std::numeric_limits<double>::infinity();
};

struct NodeCosts::Staircase {
  NodeKey key = {};
  LoopProblem problem = {};
  std::vector<int> homes = {};
  Spent closed = {};  // lower bounds without search, for all factors
  Room widest = {};   // that anybody can have who computes the whole layer
  std::vector<Step> steps = {};
  std::vector<Found> found = {};
  bool borrowed = false;            // from other numbers of rows
  std::vector<int> multiples = {};  // staircases of the same layer and homes with k times the rows

  int64_t version = 0;
  struct Cached {
    int64_t version = -1;
    Front front = {};
  };
  std::unordered_map<Room, Cached, HashRoom> lower = {}, upper = {};
};

void KeepPareto(Front& front) {
  std::ranges::sort(front, [](const CostPoint& a, const CostPoint& b) {
    return a.spent.cycles != b.spent.cycles ? a.spent.cycles < b.spent.cycles
                                            : a.spent.energy_pj < b.spent.energy_pj;
  });
  size_t kept = 0;
  for (const CostPoint& point : front) {
    if (kept > 0 && front[kept - 1].spent.energy_pj <= point.spent.energy_pj) continue;
    front[kept++] = point;
  }
  front.resize(kept);
}

NodeCosts::NodeCosts(const GraphProblem& problem, NodeCostOptions options)
    : problem_(problem), options_(std::move(options)) {}

NodeCosts::~NodeCosts() = default;

const NodeKey& NodeCosts::KeyOf(int staircase) const {
  return staircases_[static_cast<size_t>(staircase)]->key;
}

const Found& NodeCosts::found(int staircase, int index) const {
  return staircases_[static_cast<size_t>(staircase)]->found[static_cast<size_t>(index)];
}

double NodeCosts::ValueOf(const Spent& spent) const {
  return options_.objective == Objective::kLatency ? spent.cycles : spent.energy_pj;
}

Hierarchy NodeCosts::HierarchyWith(const Room& room) const {
  Hierarchy hierarchy = problem_.hierarchy;
  for (size_t h = 0; h < problem_.homes.size(); ++h) {
    MemoryLevel& level = hierarchy.levels[static_cast<size_t>(problem_.homes[h])];
    if (level.entries) level.entries = std::max<int64_t>(0, std::min(*level.entries, room[h]));
  }
  return hierarchy;
}

int NodeCosts::Find(const NodeKey& key) {
  const auto known = index_.find(key);
  if (known != index_.end()) return known->second;
  const int id = static_cast<int>(staircases_.size());
  auto made = std::make_unique<Staircase>();
  made->key = key;
  made->problem = problem_.layers[static_cast<size_t>(key.layer)];
  if (key.rows > 0) {
    const std::optional<int> rows = FindDimension(made->problem, "P");
    TESSERA_CHECK(rows.has_value());
    made->problem.dimensions[static_cast<size_t>(*rows)].bound = key.rows;
  }
  for (int v = 0; v < made->problem.num_tensors; ++v) {
    made->homes.push_back(key.homes[static_cast<size_t>(v)]);
  }
  SetWidest(*made);
  const exact::MapperOptions options{.decide_keep = options_.decide_keep, .homes = made->homes};
  const Result<exact::KeepChoices> choices =
      exact::KeepChoicesOf(made->problem, problem_.hierarchy, options);
  if (choices && choices->left_out == 0 && choices->sets.size() <= kMostKeepBounds) {
    std::optional<int64_t>& compute = compute_cycles_[{key.layer, key.rows}];
    // How the array can be filled takes longest, and energies do not depend on it.
    if (options_.objective == Objective::kEnergy && !compute) compute = 1;
    const Result<CostBounds> least =
        LeastBounds(made->problem, problem_.hierarchy, choices->sets, compute);
    if (least) made->closed = {least->cycles.value_or(0), least->energy_pj.value_or(0)};
  } else {
    const auto macs = static_cast<double>(Macs(made->problem));
    const Arithmetic& units = problem_.hierarchy.arithmetic;
    made->closed = {macs / static_cast<double>(units.instances()), macs * units.mac_pj.ToDouble()};
  }
  // What computes k times the rows can do so as k times these, one after the other
  // (docs/graphs.md).
  if (key.rows > 0 && !problem_.hierarchy.links) {
    for (int other = 0; other < id; ++other) {
      Staircase& they = *staircases_[static_cast<size_t>(other)];
      if (they.key.layer != key.layer || they.key.homes != key.homes) continue;
      if (they.key.rows % key.rows == 0) made->multiples.push_back(other);
      if (key.rows % they.key.rows == 0) they.multiples.push_back(id);
    }
  }
  staircases_.push_back(std::move(made));
  index_[key] = id;
  same_homes_[{key.layer, key.homes}][key.rows] = id;
  return id;
}

// Tensors of the whole layer that live at a home are there whoever asks.
void NodeCosts::SetWidest(Staircase& staircase) const {
  const auto layer = static_cast<size_t>(staircase.key.layer);
  staircase.widest.fill(kUnlimitedWords);
  for (size_t h = 0; h < problem_.homes.size(); ++h) {
    staircase.widest[h] = problem_.EntriesOf(h);
    if (staircase.key.rows != problem_.layer_rows[layer]) continue;
    const auto subtract = [&](int slot, int64_t words) {
      if (slot < 0 || staircase.homes[static_cast<size_t>(slot)] != problem_.homes[h]) return;
      staircase.widest[h] -= words;
    };
    subtract(problem_.input_slot[layer], problem_.input_words[layer]);
    subtract(problem_.weight_slot[layer], problem_.weight_words[layer]);
    subtract(problem_.output_slot[layer], problem_.output_words[layer]);
  }
}

bool NodeCosts::Fits(const Found& found, const Room& room) const {
  for (size_t h = 0; h < problem_.homes.size(); ++h) {
    const MemoryLevel& level = problem_.hierarchy.levels[static_cast<size_t>(problem_.homes[h])];
    if (!level.entries) continue;
    if (room[h] < 0 || found.tiles[h] > level.multiple_buffering.FloorQuotient(room[h])) {
      return false;
    }
  }
  return true;
}

const Front& NodeCosts::Upper(int staircase, const Room& room) {
  Staircase& of = *staircases_[static_cast<size_t>(staircase)];
  Staircase::Cached& cached = of.upper[room];
  if (cached.version == of.version) return cached.front;
  cached.version = of.version;
  cached.front.clear();
  for (size_t k = 0; k < of.found.size(); ++k) {
    if (!Fits(of.found[k], room)) continue;
    const CostPoint point{of.found[k].spent, static_cast<int>(k)};
    if (options_.objective == Objective::kEdp || cached.front.empty()) {
      cached.front.push_back(point);
      continue;
    }
    const Spent& best = cached.front.front().spent;
    const double now = ValueOf(point.spent), before = ValueOf(best);
    const double other = point.spent.cycles + point.spent.energy_pj - now;
    if (now < before || (now == before && other < best.cycles + best.energy_pj - before)) {
      cached.front.front() = point;
    }
  }
  if (options_.objective == Objective::kEdp) KeepPareto(cached.front);
  return cached.front;
}

const Front& NodeCosts::Lower(int staircase, const Room& room) {
  Staircase& of = *staircases_[static_cast<size_t>(staircase)];
  int64_t version = of.version;
  for (const int other : of.multiples) {
    version += staircases_[static_cast<size_t>(other)]->version;
  }
  Staircase::Cached& cached = of.lower[room];
  if (cached.version == version && !cached.front.empty()) return cached.front;
  cached.version = version;
  Front& front = cached.front;
  front.clear();
  for (size_t h = 0; h < problem_.homes.size(); ++h) {
    if (room[h] < 0) return front;
  }
  const bool edp = options_.objective == Objective::kEdp;
  Spent least = of.closed;
  const Step* front_of = nullptr;
  for (const Step& step : of.steps) {
    if (!Covers(step.room, room)) continue;
    if (step.infeasible) return front;
    if (edp) {
      // A front that is complete says most, and the one with the least room most of these.
      const bool better = front_of == nullptr           ? true
                          : step.done != front_of->done ? step.done
                          : step.done                   ? Covers(front_of->room, step.room)
                                      : step.proved.size() > front_of->proved.size();
      if (better) front_of = &step;
      continue;
    }
    double& value = options_.objective == Objective::kLatency ? least.cycles : least.energy_pj;
    value = std::max(value, step.bound);
  }
  for (const int other : of.multiples) {
    const Staircase& they = *staircases_[static_cast<size_t>(other)];
    const auto times = static_cast<double>(they.key.rows / of.key.rows);
    for (const Step& step : they.steps) {
      if (step.infeasible || !Covers(step.room, room)) continue;
      if (edp && !step.proved.empty()) {
        least.energy_pj = std::max(least.energy_pj, step.proved.front().energy_pj / times);
      } else if (!edp) {
        double& value = options_.objective == Objective::kLatency ? least.cycles : least.energy_pj;
        value = std::max(value, step.bound / times);
      }
    }
  }
  if (!edp) {
    // Rounding must not lift a bound above what there is.
    const Front& upper = Upper(staircase, room);
    if (!upper.empty()) {
      double& value = options_.objective == Objective::kLatency ? least.cycles : least.energy_pj;
      value = std::min(value, ValueOf(upper.front().spent));
    }
    front = {{least}};
    return front;
  }
  if (front_of != nullptr) {
    for (const Spent& proved : front_of->proved) front.push_back({proved});
    if (!front_of->done || front_of->limit > least.cycles) {
      const double energy = front_of->proved.empty() ? 0 : front_of->proved.back().energy_pj;
      least.energy_pj = std::max({least.energy_pj, energy, front_of->bound});
    }
  }
  if (front_of == nullptr || !front_of->done) front.push_back({least});
  KeepPareto(front);
  return front;
}

bool NodeCosts::Take(Staircase& staircase, const LoopMapping& mapping) {
  for (const Found& known : staircase.found) {
    if (known.mapping == mapping) return false;
  }
  Result<loopnest::Setup> setup =
      loopnest::Prepare(staircase.problem, problem_.hierarchy, loopnest::Semantics::kExact);
  if (!setup || mapping.num_levels != setup->machine.num_levels) return false;
  for (size_t v = 0; v < staircase.homes.size(); ++v) setup->machine.homes[v] = staircase.homes[v];
  loopnest::Workspace workspace;
  loopnest::Evaluate(*setup, mapping, workspace);
  if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) return false;
  if (workspace.exact.status != loopnest::ExactResult::Status::kOk) return false;
  Found found{.spent = {static_cast<double>(workspace.exact.cycles), workspace.exact.energy},
              .mapping = mapping};
  for (size_t h = 0; h < problem_.homes.size(); ++h) {
    const int level = problem_.homes[h];
    for (int v = 0; v < staircase.problem.num_tensors; ++v) {
      if (setup->machine.Resident(level, v)) continue;
      found.tiles[h] += workspace.exact.levels[level].tensors[v].capacity;
    }
  }
  const auto& outer = workspace.exact.levels[setup->machine.num_levels - 1];
  for (int v = 0; v < staircase.problem.num_tensors; ++v) {
    const loopnest::ExactTensor& tensor = outer.tensors[v];
    found.outer_words += tensor.reads + tensor.fills + tensor.updates;
  }
  staircase.found.push_back(found);
  changes_.push_back({.staircase = index_.at(staircase.key),
                      .found = static_cast<int>(staircase.found.size()) - 1});
  ++staircase.version;
  ++version_;
  return true;
}

void NodeCosts::Offer(int staircase, const LoopMapping& mapping) {
  Take(*staircases_[static_cast<size_t>(staircase)], mapping);
}

void NodeCosts::Bound(const StepView& step) {
  // A front is more than one bound.
  if (options_.objective == Objective::kEdp) return;
  Staircase& of = *staircases_[static_cast<size_t>(step.staircase)];
  const auto known = std::ranges::find(of.steps, step.room, &Step::room);
  const bool fresh = known == of.steps.end();
  Step& at = fresh ? of.steps.emplace_back() : *known;
  at.given = at.given || fresh;
  at.room = step.room;
  at.bound = std::max(at.bound, step.bound);
  at.done = at.done || step.done;
  at.infeasible = at.infeasible || step.infeasible;
  at.rounds = std::max(at.rounds, step.rounds);
  ++of.version;
  ++version_;
}

void NodeCosts::Borrow(Staircase& staircase) {
  const NodeKey& key = staircase.key;
  const std::optional<int> dimension = FindDimension(staircase.problem, "P");
  if (staircase.borrowed || key.rows == 0 || !dimension) return;
  staircase.borrowed = true;
  const std::map<int64_t, int>& others = same_homes_.at({key.layer, key.homes});
  const auto take = [&](int other) {
    bool any = false;
    for (const Found& found : staircases_[static_cast<size_t>(other)]->found) {
      any |= Take(staircase, WithRows(found.mapping, static_cast<size_t>(*dimension), key.rows));
    }
    return any;
  };
  const auto own = others.find(key.rows);
  for (auto at = std::next(own); at != others.end() && !take(at->second);) ++at;
  for (auto at = own; at != others.begin() && !take((--at)->second);) continue;
}

std::unique_ptr<exact::Mapper> NodeCosts::MakeMapper(const Staircase& staircase, const Step& step,
                                                     exact::Goal goal, double cycles_limit) const {
  exact::MapperOptions options{.goal = goal,
                               .decide_keep = options_.decide_keep,
                               .homes = staircase.homes,
                               .max_nodes = options_.max_nodes,
                               .stopped = options_.stopped};
  options.limits.cycles = cycles_limit;
  Result<std::unique_ptr<exact::Mapper>> mapper =
      exact::Mapper::Make(staircase.problem, HierarchyWith(step.room), options);
  if (!mapper) return nullptr;
  for (const Found& known : staircase.found) (*mapper)->Offer(known.mapping);
  return *std::move(mapper);
}

// The step that has to be worked on for a room: the narrowest one around it, unless what is best
// there does not fit the room.
NodeCosts::Step& NodeCosts::StepFor(Staircase& staircase, const Room& room) {
  Step* narrowest = nullptr;
  for (Step& step : staircase.steps) {
    if (!Covers(step.room, room)) continue;
    if (step.given && !step.done && step.room != room) continue;
    if (narrowest == nullptr || Covers(narrowest->room, step.room)) narrowest = &step;
  }
  const bool own =
      narrowest == nullptr ||
      (narrowest->room != room && (narrowest->done || !BestFits(staircase, narrowest->room, room)));
  if (own) {
    const bool first = narrowest == nullptr && Covers(staircase.widest, room);
    staircase.steps.push_back({.room = first ? staircase.widest : room});
    return staircase.steps.back();
  }
  return *narrowest;
}

// Whether the best of the mappings that are known for one room fits another one, too. For EDP there
// is no best one.
bool NodeCosts::BestFits(const Staircase& staircase, const Room& room, const Room& other) const {
  if (options_.objective == Objective::kEdp) return true;
  const Found* best = nullptr;
  for (const Found& found : staircase.found) {
    if (!Fits(found, room)) continue;
    if (best == nullptr || ValueOf(found.spent) < ValueOf(best->spent)) best = &found;
  }
  return best == nullptr || Fits(*best, other);
}

void NodeCosts::Advance(Staircase& staircase, Step& step, int64_t rounds, ThreadPool& pool) {
  if (step.mapper == nullptr) {
    const exact::Goal goal =
        options_.objective == Objective::kLatency ? exact::Goal::kCycles : exact::Goal::kEnergy;
    step.mapper = MakeMapper(staircase, step, goal, std::numeric_limits<double>::infinity());
    step.counted = 0;
    if (step.mapper == nullptr) {
      step.done = step.infeasible = true;
      return;
    }
  }
  bool more = true;
  for (int64_t k = 0; k < rounds && more; ++k) {
    more = step.mapper->Step(pool);
    ++step.rounds;
    if (options_.stopped && options_.stopped()) break;
  }
  const exact::Progress progress = step.mapper->progress();
  evaluations_ += progress.counters.evaluations - step.counted;
  step.counted = progress.counters.evaluations;
  if (progress.best) Take(staircase, progress.best->mapping);
  step.bound = std::max(step.bound, progress.bound);
  const bool limit = options_.max_rounds > 0 && step.rounds >= options_.max_rounds;
  if (more && !limit) return;
  if (!more) {
    step.done = true;
    step.infeasible = progress.status == exact::Status::kInfeasible;
  } else {
    step.done = true;
  }
  step.mapper = nullptr;
}

// The front from the side of little energy: each point is the least energy with fewer cycles than
// the last one.
void NodeCosts::AdvanceFront(Staircase& staircase, Step& step, int64_t rounds, ThreadPool& pool) {
  if (step.mapper == nullptr) {
    if (step.proved.empty()) {
      // Something good for all three at once, before anything is proved.
      for (const exact::Goal goal : {exact::Goal::kEdp, exact::Goal::kCycles}) {
        const std::unique_ptr<exact::Mapper> quick =
            MakeMapper(staircase, step, goal, std::numeric_limits<double>::infinity());
        if (quick == nullptr) break;
        quick->Step(pool);
        evaluations_ += quick->progress().counters.evaluations;
        if (quick->progress().best) Take(staircase, quick->progress().best->mapping);
      }
    }
    step.mapper = MakeMapper(staircase, step, exact::Goal::kEnergy, step.limit);
    step.counted = 0;
    if (step.mapper == nullptr) {
      step.done = true;
      step.infeasible = step.proved.empty();
      return;
    }
  }
  bool more = true;
  for (int64_t k = 0; k < rounds && more; ++k) {
    more = step.mapper->Step(pool);
    ++step.rounds;
    if (options_.stopped && options_.stopped()) break;
  }
  const exact::Progress progress = step.mapper->progress();
  evaluations_ += progress.counters.evaluations - step.counted;
  step.counted = progress.counters.evaluations;
  if (progress.best) Take(staircase, progress.best->mapping);
  step.bound = std::max(progress.bound, step.proved.empty() ? 0.0 : step.proved.back().energy_pj);
  if (more) return;
  step.mapper = nullptr;
  if (progress.status == exact::Status::kInfeasible || !progress.best) {
    step.done = true;
    step.infeasible = step.proved.empty();
    return;
  }
  if (progress.status != exact::Status::kOptimal || step.proved.size() >= kMostPoints) {
    step.given_up = true;  // What has fewer cycles is bounded by the last energy.
    return;
  }
  step.proved.push_back({progress.best->cycles, progress.best->energy_pj});
  step.limit = progress.best->cycles - 1;
  step.done = step.limit < 1;
}

bool NodeCosts::Refine(int staircase, const Room& room, int64_t rounds, ThreadPool& pool) {
  Staircase& of = *staircases_[static_cast<size_t>(staircase)];
  const bool edp = options_.objective == Objective::kEdp;
  if (!edp) {
    const Front& lower = Lower(staircase, room);
    if (lower.empty()) return false;
    const Front& upper = Upper(staircase, room);
    constexpr double kEqual = 1e-9;
    if (!upper.empty() &&
        ValueOf(upper.front().spent) <= ValueOf(lower.front().spent) * (1 + kEqual)) {
      return false;
    }
  }
  if (!of.borrowed && Upper(staircase, room).empty()) {
    Borrow(of);
    // Something to plan with; proofs come where they matter.
    if (!Upper(staircase, room).empty()) return true;
  }
  Step& step = StepFor(of, room);
  if (step.done || step.given_up) return false;
  step.given = false;
  ++of.version;
  ++version_;
  const int64_t before = evaluations_;
  if (edp) {
    AdvanceFront(of, step, rounds, pool);
  } else {
    Advance(of, step, rounds, pool);
  }
  changes_.push_back({.staircase = staircase,
                      .step = ViewOf(staircase, step),
                      .evaluations = evaluations_ - before});
  return true;
}

StepView NodeCosts::ViewOf(int staircase, const Step& step) {
  return {.staircase = staircase,
          .room = step.room,
          .bound = step.bound,
          .done = step.done,
          .infeasible = step.infeasible,
          .rounds = step.rounds};
}

std::vector<StepView> NodeCosts::Steps() const {
  std::vector<StepView> views;
  for (size_t s = 0; s < staircases_.size(); ++s) {
    for (const Step& step : staircases_[s]->steps) {
      views.push_back(ViewOf(static_cast<int>(s), step));
    }
  }
  return views;
}

}  // namespace tessera::interlayer
