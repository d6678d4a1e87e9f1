// Rounds over a queue of nodes, best bound first: what is searched, split or given up, and when the
// best mapping is known to be optimal.
#include "tessera/search/exact/mapper.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "tessera/cost.h"
#include "tessera/cost/array_bound.h"
#include "tessera/cost/keep_bounds.h"
#include "tessera/result.h"
#include "tessera/search/exact/anneal.h"
#include "tessera/search/exact/keep_choices.h"
#include "tessera/search/exact/membership.h"
#include "tessera/search/exact/neighbours.h"
#include "tessera/search/exact/spread_bound.h"

namespace tessera::exact {
namespace {

// Best bound first; equal ones in the order in which they were made.
struct Entry {
  Branch node;
  int64_t number;

  friend bool operator<(const Entry& a, const Entry& b) {
    return a.node.bound != b.node.bound ? a.node.bound < b.node.bound : a.number < b.number;
  }
};
struct Later {
  bool operator()(const Entry& a, const Entry& b) const { return b < a; }
};

Error Unsupported(std::string message, std::string hint = "") {
  return Error{
      .kind = ErrorKind::kUnsupported, .message = std::move(message), .hint = std::move(hint)};
}

// Why factors that need not divide cannot be searched, or nothing.
Result<void> CheckAnyFactors(const LoopProblem& problem, const MapperOptions& options) {
  if (!options.any_factors) return {};
  if (options.semantics != loopnest::Semantics::kExact) {
    return Unsupported("factors that do not divide are counted by semantics exact only",
                       "use semantics exact, or perfect factors");
  }
  if (!options.restrictions.none) {
    return Unsupported("constraints are about factors that divide", "leave one of them out");
  }
  if (!options.homes.empty()) {
    return Unsupported("tensors with a home are mapped with factors that divide");
  }
  for (const LoopDimension& dim : problem.dims()) {
    if (dim.bound <= kMostAnyBound) continue;
    return Unsupported(fmt::format("dimension {} has {} iterations; with any factors the exact "
                                   "mapper takes up to {}",
                                   dim.name.view(), dim.bound, kMostAnyBound),
                       "use perfect factors");
  }
  return {};
}

// Why even tiles of one element do not fit, or nothing.
Result<void> CheckSmallestTiles(const Model& model) {
  Bounder bounder(model);
  int32_t ones[kMaxDims];
  std::fill_n(ones, kMaxDims, 1);
  for (int i = 0; i < model.num_levels; ++i) {
    // The outermost level holds the whole problem.
    const bool outermost = i + 1 == model.num_levels;
    if (bounder.Fits(i, outermost ? model.bounds : ones)) continue;
    std::string tensors;
    for (int v = 0; v < model.num_tensors; ++v) {
      if (!model.Keeps(i, v)) continue;
      tensors += tensors.empty() ? "" : ", ";
      tensors += model.setup->data.problem.tensors[static_cast<size_t>(v)].name.view();
    }
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format(
                     "no mapping is possible: {} has {} usable words, and {} of {} need more",
                     model.setup->machine.level_names[static_cast<size_t>(i)],
                     model.levels[i].entries / model.setup->machine.levels[i].widths.word_units,
                     outermost ? "all elements" : "one element each", tensors),
                 .hint = "let the level pass a tensor by, or give it more entries"};
  }
  return {};
}

// Nodes of some choices of kept tensors, and what has become of the rest of them.
struct Part {
  std::vector<Entry> queue = {};     // a heap
  std::vector<Branch> put_off = {};  // splits that took too many steps
  int64_t patience = 1;              // by how much more steps they get the next time
  double given_up = kInfinity;       // least bound of nodes that the queue could not hold
  int64_t rounds = 0;

  bool empty() const { return queue.empty() && put_off.empty(); }
  // Of everything that was not searched.
  double Bound() const {
    double bound = std::min(given_up, queue.empty() ? kInfinity : queue.front().node.bound);
    for (const Branch& node : put_off) bound = std::min(bound, node.bound);
    return bound;
  }
  int64_t bytes() const {
    size_t sum = queue.capacity() * sizeof(Entry) + put_off.capacity() * sizeof(Branch);
    const auto add = [&sum](const Branch& node) {
      constexpr size_t kOfBlock = 16;
      sum += node.choices.capacity() * sizeof(node.choices[0]) + kOfBlock;
    };
    for (const Entry& entry : queue) add(entry.node);
    for (const Branch& node : put_off) add(node);
    return static_cast<int64_t>(sum);
  }
};

// Improves the best mapping of a tree by small changes as long as that helps, with at most so many
// evaluations; returns how many it took.
int64_t Descend(const Model& model, int64_t most, const std::function<bool()>& stopped,
                Tree& tree) {
  int64_t taken = 0;
  double before = kInfinity;
  while (tree.best().value < before && taken < most) {
    before = tree.best().value;
    const LoopMapping mapping = tree.best().mapping;
    ForEachNeighbour(model, mapping, [&](const LoopMapping& neighbour) {
      if (Contains(model, neighbour)) {
        tree.Try(neighbour);
        ++taken;
      }
      return taken < most && !(stopped && stopped());
    });
  }
  return taken;
}

// A best mapping further than this above its bound is worth some chains before anything else.
constexpr double kFarFromProved = 1.05;

// What searching trees of one choice of kept tensors needs.
struct Searched {
  Model model;
  std::vector<std::unique_ptr<Tree>> trees = {};  // per thread, made when needed
  std::optional<Floor> floor = {};                // once bounds are to know it
};

}  // namespace

double Progress::Gap() const {
  if (!best || bound <= 0) return kInfinity;
  return std::max(0.0, best->value / bound - 1);
}

struct Mapper::State {
  MapperOptions options;
  loopnest::Setup setup;
  KeepChoices choices;
  std::vector<int64_t> known_units;  // of options.known_entries, -1 for none
  std::vector<bool> dived;           // by choice
  bool all_fit = true;               // even the choice that holds all
  std::map<int32_t, std::unique_ptr<Searched>> searched;
  // The choice that holds all that it can, and the others. With several choices the first has a
  // search of its own instead, as if it were the only one.
  Part held, others;
  std::unique_ptr<Mapper> alone;           // null once it is over
  std::optional<Progress> alone_progress;  // of its last round
  bool others_next = false;
  int64_t made = 0;
  Candidate best;
  bool started = false, has_mapping = false;
  std::optional<Candidate> held_best;
  std::unique_ptr<Model> whole;                       // of the choice that holds all
  std::vector<std::unique_ptr<Shared>> shared;        // per thread, made when needed
  std::vector<std::unique_ptr<SpreadBound>> spreads;  // per thread, made when needed
  std::vector<std::unique_ptr<Annealer>> annealers;   // per thread, made when needed
  int64_t walks = 0, walk_rounds = 0,
          annealed = 0;                   // chains, rounds of them, evaluations meant for them
  int64_t stale = 0;                      // rounds of chains in a row without success
  std::optional<int64_t> compute_cycles;  // that arithmetic takes at least, once it is known
  std::optional<ArrayBound> array;        // made when it is asked for
  std::vector<std::optional<double>> closed_bounds;  // by choice, made when asked for
  int64_t rounds = 0;
  Counters counters;

  int32_t Fullest() const { return static_cast<int32_t>(std::ssize(choices.sets)) - 1; }

  // A first mapping is worth some hundredths of a second of anybody's time.
  bool IsStopped() const { return has_mapping && options.stopped && options.stopped(); }
  std::function<bool()> Stopped() const {
    if (!options.stopped) return {};
    return [this] { return IsStopped(); };
  }

  Searched& SearchedOf(int32_t choice) {
    std::unique_ptr<Searched>& made_once = searched[choice];
    if (!made_once) {
      made_once = std::make_unique<Searched>(MakeModel(setup, options.restrictions,
                                                       choices.sets[static_cast<size_t>(choice)],
                                                       options.any_factors));
      // What bounds leave out by B18 is no worse elsewhere, which an audit would not know.
      if (options.observer != nullptr) {
        made_once->model.grows = made_once->model.grows_in_order = false;
      }
      for (size_t i = 0; i < known_units.size(); ++i) {
        made_once->model.levels[i].known_units = known_units[i];
      }
    }
    return *made_once;
  }

  // Whether bounds look at which level has which parallel factors: not where several levels have
  // some and there are several choices, each with splits of its own.
  bool KnowsSplits() const {
    int networks = 0;
    for (int i = 0; i < whole->num_levels; ++i) networks += whole->levels[i].fan > 1 ? 1 : 0;
    return choices.sets.size() == 1 || networks == 1;
  }

  Shared* SharedOf(int worker) {
    const auto index = static_cast<size_t>(worker);
    if (shared.size() <= index) shared.resize(index + 1);
    if (!shared[index]) {
      shared[index] = std::make_unique<Shared>(*whole, KnowsSplits(), Stopped());
    }
    return shared[index].get();
  }

  SpreadBound& SpreadOf(int worker) {
    const auto index = static_cast<size_t>(worker);
    if (spreads.size() <= index) spreads.resize(index + 1);
    if (!spreads[index]) {
      spreads[index] = std::make_unique<SpreadBound>(*whole, SharedOf(worker)->hops);
    }
    return *spreads[index];
  }

  Tree& TreeOf(int worker, int32_t choice) {
    Searched& of = SearchedOf(choice);
    const auto index = static_cast<size_t>(worker);
    if (of.trees.size() <= index) of.trees.resize(index + 1);
    if (!of.trees[index]) {
      of.trees[index] = std::make_unique<Tree>(
          of.model, TreeOptions{options.goal, options.limits, options.bound_scale, options.observer,
                                SharedOf(worker), Stopped()});
      if (of.floor) of.trees[index]->SetFloor(*of.floor);
    }
    return *of.trees[index];
  }

  // What a choice costs further in, before its nodes are searched: between rounds, so that all
  // threads know the same.
  void SetFloor(int32_t choice) {
    Searched& of = SearchedOf(choice);
    if (of.floor) return;
    FloorEffort effort{.spread = &SpreadOf(0), .enough = Limit(), .stopped = Stopped()};
    constexpr double kMostOfMany = 3e6;
    if (choices.sets.size() > 1) effort.most_pairs = kMostOfMany;
    of.floor = TreeOf(0, choice).FindFloor(effort);
    if (IsStopped()) return of.floor.reset();  // It may say nothing because there was no time.
    for (const std::unique_ptr<Tree>& tree : of.trees) {
      if (tree) tree->SetFloor(*of.floor);
    }
  }

  void Push(Part& part, Branch node) {
    part.queue.push_back({std::move(node), made++});
    std::push_heap(part.queue.begin(), part.queue.end(), Later());
  }
  int64_t MostNodes() const {
    return choices.sets.size() == 1 ? options.max_nodes
                                    : std::max<int64_t>(1, options.max_nodes / 2);
  }
  void Shrink(Part& part) const {
    const auto most = static_cast<size_t>(MostNodes());
    if (part.queue.size() <= most) return;
    std::sort(part.queue.begin(), part.queue.end());
    part.given_up = std::min(part.given_up, part.queue[most].node.bound);
    part.queue.resize(most);
    std::make_heap(part.queue.begin(), part.queue.end(), Later());
  }
  // A part of the queue, so that one node cannot push out all others.
  int64_t MostChildren() const {
    constexpr int64_t kPart = 8;
    return std::max<int64_t>(1, MostNodes() / kPart);
  }
  double Limit() const { return best.value * (1 - kTolerance); }

  void Take(const Candidate& candidate, bool has_one) {
    const double held_value = held_best ? held_best->value : kInfinity;
    if (has_one && all_fit && candidate.value < held_value &&
        KeptBy(candidate.mapping) == choices.sets.back()) {
      held_best = candidate;
    }
    if (candidate.value >= best.value) return;
    best = candidate;
    has_mapping = has_one;
  }
  // As choices have it: mappings may say of tensors that there are not that they are held, too.
  KeepSet KeptBy(const LoopMapping& mapping) const {
    KeepSet keep = KeepSets(mapping);
    const auto all = static_cast<uint8_t>((1u << setup.data.problem.num_tensors) - 1);
    for (uint8_t& set : keep) set &= all;
    return keep;
  }

  // What searching one node led to.
  struct Outcome {
    Candidate best;
    std::vector<Branch> children = {};  // if it took too long and was split instead
    double given_up = kInfinity;
    bool put_off = false;              // that took too long, too
    double rest_bound = 0;             // of what was put off
    bool stopped = false;              // it has to be searched again
    std::optional<double> dived = {};  // a first look at a root, which has this bound
    Counters counters = {};
  };

  bool Anneals() const {
    return options.anneal && options.dive_width > 0 && options.observer == nullptr;
  }
  bool AnnealDue() const;
  Annealer& AnnealerOf(int worker);
  LoopMapping AllOutside() const;
  bool IsNear();
  bool IsPeak(int64_t evaluations);
  void FirstWalk();
  void AnnealRound(ThreadPool& pool);

  // Bound of the choice that holds all that it can, and whether something is left to do there.
  double HeldBound() const {
    if (!alone_progress) return held.Bound();
    const Status status = alone_progress->status;
    const bool all = status == Status::kOptimal || status == Status::kInfeasible;
    return all ? kInfinity : alone_progress->bound;
  }
  double LeastBound() const { return std::min(HeldBound(), others.Bound()); }
  bool empty() const { return held.empty() && others.empty() && !alone; }

  void Start(ThreadPool& pool);
  void StepAlone(ThreadPool& pool);
  bool StepHere(ThreadPool& pool);
  void DiveWhereItFits();
  bool StartFullest();
  void StartOthers();
  Bound BoundOfKeeps(int32_t choice, std::optional<int64_t>& cycles) const;
  double ClosedBound(int32_t choice);
  double ComputeClosedBound(int32_t choice);
  double SpreadValue(int32_t choice, SpreadBound& spread) const;
  void LeaveOut(int32_t choice, double bound);
  bool TryOtherKeeps();
  bool TryNeighbours(int64_t& left);
  void Improve(bool other_keeps = true);
  double ValueWith(const KeepSet& keep, const LoopMapping& mapping);
  int64_t SplitSteps(const Part& part) const;
  bool TakeUpWhatWasPutOff(Part& part);
  Part* NextPart();
  std::vector<Branch> NextRound(Part& part);
  bool Fits(const Model& model) const { return all_fit || CheckSmallestTiles(model).ok(); }
  Outcome SearchNode(const Branch& node, const Part& part, Tree& tree, SpreadBound& spread) const;
  void SearchRound(std::span<const Branch> nodes, Part& part, ThreadPool& pool);
};

// All loops at the outermost level: a mapping wherever the smallest tiles fit.
LoopMapping Mapper::State::AllOutside() const {
  LoopMapping mapping{.num_levels = whole->num_levels};
  const KeepSet& keep = all_fit ? choices.sets.back() : choices.sets.front();
  for (size_t i = 0; i < keep.size(); ++i) mapping.levels[i].keep = keep[i];
  std::copy_n(whole->bounds, whole->num_dims, mapping.levels[keep.size() - 1].temporal.begin());
  return mapping;
}

Annealer& Mapper::State::AnnealerOf(int worker) {
  const auto index = static_cast<size_t>(worker);
  if (annealers.size() <= index) annealers.resize(index + 1);
  if (!annealers[index]) {
    AnnealSpace space{.goal = options.goal, .limits = options.limits};
    std::ranges::copy(choices.open, space.open.begin());
    annealers[index] = std::make_unique<Annealer>(*whole, space, Stopped());
  }
  return *annealers[index];
}

// Whether the best mapping cannot be far from the optimum, going by closed bounds alone.
bool Mapper::State::IsNear() {
  double least = kInfinity;
  for (int32_t k = 0; k <= Fullest(); ++k) least = std::min(least, ClosedBound(k));
  return best.value <= kFarFromProved * least;
}

// Whether a short chain near the best mapping finds nothing better, so that longer ones would not
// bring what they cost.
bool Mapper::State::IsPeak(int64_t evaluations) {
  const double before = best.value;
  Take(AnnealerOf(0).Walk(best.mapping, {.evaluations = evaluations, .hot = 0.05}), true);
  return best.value >= before * (1 - kTolerance);
}

// Something to compare with, before anything else is done.
void Mapper::State::FirstWalk() {
  const bool begun = options.begun && has_mapping;
  if (!has_mapping) {
    const LoopMapping outside = AllOutside();
    if (InSpace(*whole, outside)) ValueWith(KeptBy(outside), outside);
  }
  if (!has_mapping) return;
  // With a choice, first among mappings whose levels hold all that they can: most of what is good
  // is near one of them, and there are far fewer.
  const bool one = choices.sets.size() == 1;
  const int64_t evaluations = (one ? 16 : 64) * options.dive_width;
  annealed += (one ? 1 : 2) * evaluations;
  if (begun && IsNear()) return;
  constexpr int64_t kPart = 8;
  const LoopMapping start = best.mapping;
  if (!begun || !IsPeak(evaluations / kPart)) {
    const auto walk = [&](const LoopMapping& from, double hot, bool same_keep) {
      Take(
          AnnealerOf(0).Walk(
              from, {.evaluations = evaluations, .hot = hot, .cold = 0.01, .same_keep = same_keep}),
          true);
    };
    walk(start, /*hot=*/1.0, /*same_keep=*/!one);
    if (!one) walk(best.mapping, /*hot=*/0.3, /*same_keep=*/false);
  }
  counters.evaluations += AnnealerOf(0).evaluations();
}

// Work is counted, not timed, so that results repeat: about a microsecond each.
bool Mapper::State::AnnealDue() const {
  constexpr double kEvaluation = 4, kTiling = 2, kTile = 1;
  constexpr double kLeastShare = 1.0 / 16;
  if (!Anneals() || !has_mapping) return false;
  // Where levels choose what they hold, rounds of the tree are long at first, and chains find more.
  constexpr int64_t kFirstRounds = 4;
  const double bound = LeastBound();
  const bool first = choices.sets.size() > 1 && walk_rounds < kFirstRounds && stale == 0;
  if (first && best.value > kFarFromProved * bound) return true;
  const auto walked = static_cast<double>(annealed);
  const double tree =
      kEvaluation * std::max(0.0, static_cast<double>(counters.evaluations) - walked) +
      kTiling * static_cast<double>(counters.nodes) + kTile * static_cast<double>(counters.tiles);
  const double share = std::max(kLeastShare, 1 / (1 + static_cast<double>(stale)));
  return kEvaluation * walked < share * tree;
}

// Some chains, longer ones from round to round: near the best mapping, near the best one of which
// every level holds all that it can, further away, and from far away.
void Mapper::State::AnnealRound(ThreadPool& pool) {
  struct Kind {
    double hot = 0.5;
    bool same_keep = false, held = false, far = false;
  };
  constexpr Kind kKinds[] = {{.hot = 0.1},
                             {.hot = 0.3, .same_keep = true, .held = true},
                             {.hot = 0.5},
                             {.hot = 2, .far = true}};
  constexpr int64_t kChains = std::size(kKinds), kPerWidth = 8, kDoublings = 6;
  const int64_t evaluations = kPerWidth * options.dive_width << std::min(walk_rounds, kDoublings);
  for (int worker = 0; worker < pool.threads(); ++worker) AnnealerOf(worker);
  std::array<Candidate, kChains> found;
  std::array<int64_t, kChains> taken = {};
  const LoopMapping outside = AllOutside();
  pool.ParallelFor(kChains, 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t k = begin; k < end; ++k) {
      const Kind& kind = kKinds[k];
      const bool far = kind.far && InSpace(*whole, outside);
      const LoopMapping& start = far                      ? outside
                                 : kind.held && held_best ? held_best->mapping
                                                          : best.mapping;
      Annealer& annealer = *annealers[static_cast<size_t>(worker)];
      const int64_t before = annealer.evaluations();
      found[static_cast<size_t>(k)] =
          annealer.Walk(start, {.seed = static_cast<uint64_t>(walks + k + 1),
                                .evaluations = evaluations,
                                .hot = kind.hot,
                                .same_keep = kind.same_keep});
      taken[static_cast<size_t>(k)] = annealer.evaluations() - before;
    }
  });
  const double before = best.value;
  for (size_t k = 0; k < found.size(); ++k) {
    Take(found[k], true);
    counters.evaluations += taken[k];
  }
  annealed += kChains * evaluations;  // Also where a space is too small for them.
  stale = best.value < before ? 0 : stale + 1;
  walks += kChains;
  ++walk_rounds;
}

void Mapper::State::Start(ThreadPool& pool) {
  started = true;
  if (Anneals()) FirstWalk();
  if (!all_fit) {
    DiveWhereItFits();
  } else if (alone) {
    dived.back() = true;
    StepAlone(pool);
  } else if (!StartFullest()) {
    Push(held, Branch{.tree = Fullest()});  // It waits like any other node.
  }
  Shrink(held);
  if (choices.sets.size() > 1) StartOthers();
}

// A round of the search that holds all it can. Nothing that is found elsewhere goes into it, so
// that it finds what it finds without a choice; it is over once that cannot be better.
void Mapper::State::StepAlone(ThreadPool& pool) {
  const bool more = alone->Step(pool);
  alone_progress = alone->progress();
  if (alone_progress->best) Take(*alone_progress->best, true);
  if (!more || HeldBound() >= Limit()) alone.reset();
}

// A first mapping where memories cannot hold all that they might.
void Mapper::State::DiveWhereItFits() {
  dived.back() = true;  // It does not fit.
  int32_t choice = Fullest();
  while (!Fits(SearchedOf(choice).model)) --choice;  // The first one does.
  Tree& tree = TreeOf(0, choice);
  tree.SetLimit(best.value);
  tree.ResetCounters();
  if (options.dive_width > 0) tree.Dive(Branch{.tree = choice}, options.dive_width);
  counters.Add(tree.counters());
  Take(tree.best(), true);
}

// A first mapping and the first nodes of the choice that holds all; false if it was stopped.
bool Mapper::State::StartFullest() {
  Branch root{.bound = ClosedBound(Fullest()), .tree = Fullest()};
  root.bound = std::max(root.bound, SpreadValue(Fullest(), SpreadOf(0)));
  if (root.bound >= Limit()) LeaveOut(root.tree, root.bound);
  dived.back() = true;
  Tree& tree = TreeOf(0, root.tree);
  tree.SetLimit(best.value);
  tree.ResetCounters();
  bool stopped = false;
  if (options.dive_width > 0) {
    tree.Dive(root, options.dive_width);
    Take(tree.best(), true);
    stopped = tree.stopped();
  }
  std::vector<Branch> children;
  // With any factors even the first split takes long without it.
  if (options.any_factors && !stopped) SetFloor(root.tree);
  tree.SetLimit(best.value);
  Tree::Rest rest;
  if (!stopped) {
    rest = tree.Split(root, MostChildren(), options.split_steps, children);
    stopped = tree.stopped();
  }
  counters.Add(tree.counters());
  if (stopped) return false;
  held.given_up = std::min(held.given_up, rest.given_up);
  root.bound = std::max(root.bound, rest.bound);
  // What is left is worth another look at each.
  if (!children.empty()) SetFloor(root.tree);
  if (rest.cut) held.put_off.push_back(std::move(root));
  for (Branch& child : children) {
    child.bound = tree.BoundOf(child);
    if (child.bound < Limit()) Push(held, std::move(child));
  }
  return true;
}

// Tells the observer that a choice is not looked at.
void Mapper::State::LeaveOut(int32_t choice, double bound) {
  if (options.observer == nullptr) return;
  const Model& model = SearchedOf(choice).model;
  std::vector<Frame> frames(static_cast<size_t>(model.num_levels) + 1);
  frames.back() = Bounder(model).Root();
  options.observer->OnPruned(model, Rule::kChoice, bound, frames, model.num_levels, nullptr,
                             nullptr, nullptr);
}

// What a mapping costs if its levels hold other tensors; infinity if it is not one of the space.
double Mapper::State::ValueWith(const KeepSet& keep, const LoopMapping& mapping) {
  Tree& tree = TreeOf(0, Fullest());  // Trees of all choices evaluate alike.
  LoopMapping changed = mapping;
  for (size_t i = 0; i < keep.size(); ++i) changed.levels[i].keep = keep[i];
  tree.SetLimit(kInfinity);
  tree.ResetCounters();
  tree.Try(changed);
  counters.Add(tree.counters());
  Take(tree.best(), true);
  return tree.best().value;
}

// Roots of the other choices, in the order of what the best mapping so far would cost with them:
// those that make it cheaper are looked at first.
void Mapper::State::StartOthers() {
  if (choices.left_out > 0) others.given_up = 0;
  std::vector<std::pair<double, int32_t>> order;
  Improve(/*other_keeps=*/false);
  const LoopMapping first = best.mapping;
  for (int32_t k = Fullest() - 1; k >= 0; --k) {
    const bool look = has_mapping && !IsStopped();
    const double value = look ? ValueWith(choices.sets[static_cast<size_t>(k)], first) : kInfinity;
    order.push_back({value, k});
  }
  Improve();
  std::ranges::stable_sort(order, {}, &std::pair<double, int32_t>::first);
  for (const auto& [value, choice] : order) {
    const double bound = ClosedBound(choice);
    if (bound < Limit()) {
      Push(others, Branch{.bound = bound, .tree = choice});
    } else {
      dived[static_cast<size_t>(choice)] = true;
      LeaveOut(choice, bound);
    }
  }
}

// Of all mappings of a choice, without search (docs/bounds.md); 0 under Timeloop's rules.
double Mapper::State::ClosedBound(int32_t choice) {
  if (setup.semantics != loopnest::Semantics::kExact) return 0;
  if (closed_bounds.empty()) closed_bounds.resize(choices.sets.size());
  std::optional<double>& known = closed_bounds[static_cast<size_t>(choice)];
  if (!known) known = ComputeClosedBound(choice);
  return *known;
}

double Mapper::State::ComputeClosedBound(int32_t choice) {
  Bound bound = BoundOfKeeps(choice, compute_cycles);
  if (!options.any_factors && options.goal != Goal::kCycles) {
    if (!array) array.emplace(setup.data, setup.machine);
    const KeepSet& keep = choices.sets[static_cast<size_t>(choice)];
    bound.energy_pj = std::max(bound.energy_pj, array->Energy(keep));
  }
  return bound.Value(options.goal) * options.bound_scale;
}

// `cycles`: those of arithmetic, once they are known.
Bound Mapper::State::BoundOfKeeps(int32_t choice, std::optional<int64_t>& cycles) const {
  const KeepSet& keep = choices.sets[static_cast<size_t>(choice)];
  const CostBounds closed = KeepBounds(setup.data, setup.machine, keep, cycles);
  return {.energy_pj = closed.energy_pj.value_or(0), .cycles = closed.cycles.value_or(0)};
}

// The same by every way to spread the problem over the arrays, in some milliseconds. B23.
double Mapper::State::SpreadValue(int32_t choice, SpreadBound& spread) const {
  if (setup.semantics != loopnest::Semantics::kExact || options.any_factors) return 0;
  std::optional<int64_t> cycles = compute_cycles;
  const Bound least = BoundOfKeeps(choice, cycles);
  const Model& model = searched.find(choice)->second->model;
  return spread.Least(model, options.goal, least, Limit()) * options.bound_scale;
}

// The same loops with one tensor more or less at some level; true if that helps.
bool Mapper::State::TryOtherKeeps() {
  const double before = best.value;
  const LoopMapping mapping = best.mapping;
  const KeepSet now = KeptBy(mapping);
  for (const KeepSet& other : choices.sets) {
    int differences = 0;
    for (size_t i = 0; i < now.size(); ++i) {
      differences += std::popcount(static_cast<unsigned>(now[i] ^ other[i]));
    }
    if (differences == 1) ValueWith(other, mapping);
  }
  return best.value < before;
}

// Other loops next to those of the best mapping; true if some are better.
bool Mapper::State::TryNeighbours(int64_t& left) {
  const auto choice = std::ranges::find(choices.sets, KeptBy(best.mapping));
  if (choice == choices.sets.end()) return false;  // One of those that are too many.
  const auto k = static_cast<int32_t>(choice - choices.sets.begin());
  Tree& tree = TreeOf(0, k);
  const double before = best.value;
  tree.ResetCounters();
  tree.SetBest(best);
  left -= Descend(SearchedOf(k).model, left, options.stopped, tree);
  counters.Add(tree.counters());
  Take(tree.best(), true);
  return best.value < before;
}

// With a choice of kept tensors bounds say little at first, so what is found is improved by small
// changes as long as that helps: an evaluation takes some microseconds.
void Mapper::State::Improve(bool other_keeps) {
  if (choices.sets.size() == 1 || !has_mapping || options.observer != nullptr) return;
  constexpr int64_t kMostEvaluations = 20'000;
  int64_t left = kMostEvaluations;
  while (left > 0 && !IsStopped() && ((other_keeps && TryOtherKeeps()) || TryNeighbours(left))) {
  }
}

int64_t Mapper::State::SplitSteps(const Part& part) const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return options.split_steps > kMost / part.patience ? kMost : options.split_steps * part.patience;
}

// What was put off, with more patience. A part of it is searched twice, so patience grows fast.
bool Mapper::State::TakeUpWhatWasPutOff(Part& part) {
  constexpr int64_t kGrowth = 8, kMost = int64_t{1} << 40;
  part.patience = std::min(part.patience * kGrowth, kMost);
  for (Branch& node : std::exchange(part.put_off, {})) {
    if (node.bound < Limit()) Push(part, std::move(node));
  }
  return !part.queue.empty();
}

// Turn by turn, so that neither waits for the other.
Part* Mapper::State::NextPart() {
  if (held.empty() && others.empty()) return nullptr;
  Part* const first = others_next ? &others : &held;
  Part* const second = others_next ? &held : &others;
  others_next = !others_next;
  return first->empty() ? second : first;
}

// The nodes of the next round; those that cannot hold anything better are dropped.
std::vector<Branch> Mapper::State::NextRound(Part& part) {
  std::vector<Branch> nodes;
  // The first rounds are small: what they find saves work in all others. First looks at choices of
  // kept tensors do not help each other.
  constexpr int64_t kMostDoublings = 62;  // that fit an int64_t
  const int64_t most = &part == &others
                           ? options.round_nodes
                           : std::min(options.round_nodes,
                                      int64_t{1} << std::min<int64_t>(part.rounds, kMostDoublings));
  while (std::ssize(nodes) < most) {
    // What was put off has its turn once nothing else is left.
    if (part.queue.empty() && (!nodes.empty() || !TakeUpWhatWasPutOff(part))) break;
    std::pop_heap(part.queue.begin(), part.queue.end(), Later());
    Branch node = std::move(part.queue.back().node);
    part.queue.pop_back();
    if (node.bound < Limit()) nodes.push_back(std::move(node));
  }
  return nodes;
}

// Nothing but the node and the best value of the rounds before goes in, so outcomes do not depend
// on which thread searches what.
Mapper::State::Outcome Mapper::State::SearchNode(const Branch& node, const Part& part, Tree& tree,
                                                 SpreadBound& spread) const {
  Outcome outcome;
  tree.SetLimit(best.value);
  tree.ResetCounters();
  Branch root{.bound = node.bound, .tree = node.tree};
  const bool first = node.choices.empty() && !dived[static_cast<size_t>(node.tree)];
  if (first) root.bound = std::max(root.bound, SpreadValue(node.tree, spread));
  if (first && root.bound >= Limit()) {
    outcome.dived = root.bound;
  } else if (first && options.dive_width > 0) {
    constexpr int kNarrower = 8;  // than the first one: most choices are never looked at again
    outcome.dived = tree.Dive(root, std::max(1, options.dive_width / kNarrower));
  } else {
    // A node of all levels cannot be split, but it may have very many orders.
    const bool decided = tree.LevelsDecided(node) == setup.machine.num_levels;
    const bool all = tree.Search(node, decided ? SplitSteps(part) : options.node_steps);
    if (decided) {
      outcome.put_off = !all;
    } else if (!all && !tree.stopped()) {
      const Tree::Rest rest = tree.Split(node, MostChildren(), SplitSteps(part), outcome.children);
      outcome.given_up = rest.given_up;
      outcome.put_off = rest.cut;
      outcome.rest_bound = rest.bound;
    }
  }
  outcome.stopped = tree.stopped();
  outcome.best = tree.best();
  outcome.counters = tree.counters();
  return outcome;
}

void Mapper::State::SearchRound(std::span<const Branch> nodes, Part& part, ThreadPool& pool) {
  std::vector<Outcome> outcomes(nodes.size());
  // Of thousands of choices, those of a few rounds are kept at hand.
  constexpr size_t kAtHand = 256;
  if (searched.size() > kAtHand) searched.clear();
  // Trees are made before threads start, since making one changes the list.
  for (int worker = 0; worker < pool.threads(); ++worker) {
    for (const Branch& node : nodes) TreeOf(worker, node.tree);
    SpreadOf(worker);
  }
  for (const Branch& node : nodes) {
    const bool fits = all_fit || CheckSmallestTiles(SearchedOf(node.tree).model).ok();
    if (dived[static_cast<size_t>(node.tree)] && fits) SetFloor(node.tree);
  }
  pool.ParallelFor(std::ssize(nodes), 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t k = begin; k < end; ++k) {
      const Branch& node = nodes[static_cast<size_t>(k)];
      Searched& of = *searched.find(node.tree)->second;
      if (node.choices.empty() && !Fits(of.model)) continue;
      outcomes[static_cast<size_t>(k)] =
          SearchNode(node, part, *of.trees[static_cast<size_t>(worker)],
                     *spreads[static_cast<size_t>(worker)]);
    }
  });
  const double before = best.value;
  for (size_t k = 0; k < nodes.size(); ++k) {
    Outcome& outcome = outcomes[k];
    if (nodes[k].choices.empty() && !outcome.stopped) {
      dived[static_cast<size_t>(nodes[k].tree)] = true;
    }
    Take(outcome.best, true);
    counters.Add(outcome.counters);
    if (outcome.stopped) {
      Push(part, nodes[k]);
      continue;
    }
    if (outcome.dived) {
      if (*outcome.dived < Limit()) {
        Push(part, {.bound = *outcome.dived, .tree = nodes[k].tree});
      } else {
        LeaveOut(nodes[k].tree, *outcome.dived);
      }
      continue;
    }
    if (outcome.put_off) {
      part.put_off.push_back(nodes[k]);
      part.put_off.back().bound = std::max(nodes[k].bound, outcome.rest_bound);
    }
    part.given_up = std::min(part.given_up, outcome.given_up);
    for (Branch& child : outcome.children) Push(part, std::move(child));
  }
  if (best.value < before) Improve();
  Shrink(part);
}

Mapper::Mapper(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mapper::~Mapper() = default;

Result<std::unique_ptr<Mapper>> Mapper::Make(const LoopProblem& problem, const Hierarchy& hierarchy,
                                             const MapperOptions& options) {
  if (options.semantics == loopnest::Semantics::kTimeloop4) {
    return Unsupported("the exact mapper knows no bounds for semantics timeloop4",
                       "use semantics exact or timeloop3");
  }
  Result<loopnest::Setup> setup = loopnest::Prepare(problem, hierarchy, options.semantics,
                                                    /*extrapolate=*/true, options.clock_ghz);
  if (!setup) return setup.error();
  for (size_t v = 0; v < options.homes.size(); ++v) setup->machine.homes[v] = options.homes[v];
  for (const LoopDimension& dim : problem.dims()) {
    if (dim.bound <= std::numeric_limits<int32_t>::max()) continue;
    return Unsupported(
        fmt::format("dimension {} has {} iterations; the exact mapper takes up to {}",
                    dim.name.view(), dim.bound, std::numeric_limits<int32_t>::max()));
  }
  if (Result<void> possible = CheckAnyFactors(problem, options); !possible) return possible.error();
  Result<KeepChoices> choices = KeepChoicesOf(problem, hierarchy, options);
  if (!choices) return choices.error();
  auto state = std::make_unique<State>();
  state->options = options;
  state->setup = *std::move(setup);
  state->choices = *std::move(choices);
  // What is known of fewer entries is known of factors that divide.
  for (size_t i = 0; !options.any_factors && i < options.known_entries.size(); ++i) {
    const std::optional<int64_t>& entries = options.known_entries[i];
    const LevelWidths& widths = state->setup.machine.levels[i].widths;
    state->known_units.push_back(entries ? UsableUnits(widths, hierarchy.levels[i], *entries) : -1);
  }
  state->dived.assign(state->choices.sets.size(), false);
  state->whole = std::make_unique<Model>(MakeModel(
      state->setup, state->options.restrictions, state->choices.sets.back(), options.any_factors));
  // What fits with every tensor fits with some of them, and what does not with the fewest never.
  if (Result<void> fits = CheckSmallestTiles(state->SearchedOf(state->Fullest()).model); !fits) {
    state->all_fit = false;
    if (!CheckSmallestTiles(state->SearchedOf(0).model)) return fits.error();
  }
  if (state->all_fit && state->choices.sets.size() > 1) {
    MapperOptions alone = options;
    alone.decide_keep = false;
    alone.max_nodes = std::max<int64_t>(1, options.max_nodes / 2);
    Result<std::unique_ptr<Mapper>> made = Make(problem, hierarchy, alone);
    if (!made) return made.error();
    state->alone = *std::move(made);
  }
  return std::unique_ptr<Mapper>(new Mapper(std::move(state)));
}

void Mapper::Offer(const LoopMapping& mapping) {
  State& state = *state_;
  const auto choice = std::ranges::find(state.choices.sets, state.KeptBy(mapping));
  if (choice == state.choices.sets.end()) return;
  if (state.alone) state.alone->Offer(mapping);
  const auto k = static_cast<int32_t>(choice - state.choices.sets.begin());
  if (!Contains(state.SearchedOf(k).model, mapping)) return;
  Tree& tree = state.TreeOf(0, k);
  tree.SetLimit(state.best.value);
  tree.Try(mapping);
  const double before = state.best.value;
  state.Take(tree.best(), true);
  if (state.started && state.best.value < before) state.Improve();
}

void Mapper::OfferValue(double value) {
  state_->Take({.value = value}, false);
  if (state_->alone) state_->alone->OfferValue(value);
}

bool Mapper::State::StepHere(ThreadPool& pool) {
  if (AnnealDue() && !empty()) {
    AnnealRound(pool);
    return true;
  }
  while (Part* const part = NextPart()) {
    const std::vector<Branch> nodes = NextRound(*part);
    if (nodes.empty()) continue;  // The part is empty now.
    SearchRound(nodes, *part, pool);
    ++part->rounds;
    return true;
  }
  return false;
}

int64_t Mapper::bytes() const {
  const State& state = *state_;
  int64_t sum = state.held.bytes() + state.others.bytes();
  for (const auto& [choice, of] : state.searched) {
    sum += static_cast<int64_t>(sizeof(Searched));
    for (const std::unique_ptr<Tree>& tree : of->trees) sum += tree ? tree->bytes() : 0;
  }
  for (const std::unique_ptr<Shared>& shared : state.shared) {
    sum += shared ? shared->fronts.bytes() : 0;
  }
  return sum + (state.alone ? state.alone->bytes() : 0);
}

void Mapper::Trim() {
  State& state = *state_;
  for (const auto& [choice, of] : state.searched) of->trees.clear();
  state.spreads.clear();
  state.annealers.clear();
  state.shared.clear();
  if (state.alone) state.alone->Trim();
}

bool Mapper::Step(ThreadPool& pool) {
  State& state = *state_;
  bool stepped = true;
  if (!state.started) {
    state.Start(pool);
  } else {
    const bool alone = state.alone != nullptr;
    if (alone) state.StepAlone(pool);
    stepped = state.StepHere(pool) || alone;
  }
  state.rounds += stepped ? 1 : 0;
  return !state.empty();
}

Progress Mapper::progress() const {
  const State& state = *state_;
  const auto open = [](const Part& part) {
    return std::ssize(part.queue) + std::ssize(part.put_off);
  };
  double given_up = std::min(state.held.given_up, state.others.given_up);
  const Progress alone = state.alone_progress.value_or(Progress());
  if (alone.gave_up) given_up = std::min(given_up, state.HeldBound());
  Progress progress{
      .rounds = state.rounds,
      .open_nodes = open(state.held) + open(state.others) + (state.alone ? alone.open_nodes : 0),
      .gave_up = given_up < state.Limit(),
      .counters = state.counters,
      .held = state.held_best,
      .choices_unseen = std::ranges::count(state.dived, false),
      .choices_left_out = state.choices.left_out};
  progress.counters.Add(alone.counters);
  if (state.has_mapping) progress.best = state.best;
  if (!state.started) return progress;
  const double bound = state.LeastBound();
  progress.bound = std::min(bound, state.best.value);
  if (state.all_fit) progress.held_bound = std::min(state.HeldBound(), state.best.value);
  const bool all = bound >= state.Limit();
  progress.status = !all                           ? Status::kBounded
                    : std::isinf(state.best.value) ? Status::kInfeasible
                                                   : Status::kOptimal;
  return progress;
}

}  // namespace tessera::exact
