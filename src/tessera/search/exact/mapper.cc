// Rounds over a queue of nodes, best bound first: what is searched, split or given up, and when the
// best mapping is known to be optimal.
#include "tessera/search/exact/mapper.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tessera/cost.h"
#include "tessera/result.h"

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
    return Error{
        .kind = ErrorKind::kInfeasible,
        .message = fmt::format(
            "no mapping is possible: {} has {} usable words, and {} of {} need more",
            model.setup->machine.level_names[static_cast<size_t>(i)], model.levels[i].entries,
            outermost ? "all elements" : "one element each", tensors),
        .hint = "let the level pass a tensor by, or give it more entries"};
  }
  return {};
}

// Whether a mapping belongs to the space with the keep sets of `model`; memories aside.
bool Contains(const Model& model, const LoopMapping& mapping) {
  if (mapping.num_levels != model.num_levels) return false;
  int64_t product[kMaxDims];
  std::fill_n(product, kMaxDims, 1);
  const auto all = static_cast<uint8_t>((1u << model.num_tensors) - 1);
  for (int i = 0; i < model.num_levels; ++i) {
    const LoopLevel& level = mapping.levels[static_cast<size_t>(i)];
    if (((level.keep ^ model.keep[i]) & all) != 0) return false;
    int64_t used[2] = {1, 1};
    std::vector<uint8_t> loops, parallel[2];
    for (size_t k = 0; k < static_cast<size_t>(model.num_dims); ++k) {
      const uint8_t t = level.temporal_order[k], s = level.spatial_order[k];
      const bool on_y = k >= level.split;
      const int32_t temporal = level.temporal[t], spatial = level.spatial[s];
      if (temporal < 1 || spatial < 1) return false;
      product[t] *= temporal;
      product[s] *= spatial;
      used[on_y ? 1 : 0] *= spatial;
      if (temporal > 1) loops.push_back(t);
      if (spatial > 1) parallel[on_y ? 1 : 0].push_back(s);
      if (!model.restrictions->AllowsTemporal(i, t, temporal) ||
          !model.restrictions->AllowsSpatial(i, s, spatial) ||
          (spatial > 1 && !model.restrictions->AllowsAxis(i, s, on_y))) {
        return false;
      }
    }
    if (used[0] > model.levels[i].fan_x || used[1] > model.levels[i].fan_y) return false;
    if (!model.restrictions->AllowsTemporalOrder(i, loops) ||
        !model.restrictions->AllowsSpatialOrder(i, parallel[0], parallel[1])) {
      return false;
    }
    const auto value = [&](const Restrictions::Factor& factor) {
      const LoopLevel& at = mapping.levels[static_cast<size_t>(factor.level)];
      const auto dim = static_cast<size_t>(factor.dim);
      return factor.spatial ? at.spatial[dim] : at.temporal[dim];
    };
    if (!PairsHold(*model.restrictions, i, value)) return false;
  }
  return std::equal(product, product + model.num_dims, model.bounds);
}

// All keep sets between `must_keep` and `keep` (bit by bit); the outermost level holds all.
std::vector<std::vector<uint8_t>> Subsets(const std::vector<uint8_t>& keep,
                                          const std::vector<uint8_t>& must_keep, int num_tensors) {
  const auto add = [](std::vector<uint8_t>& sets, size_t i, int v) {
    sets[i] = static_cast<uint8_t>(sets[i] | 1u << v);
  };
  std::vector<std::vector<uint8_t>> choices = {std::vector<uint8_t>(keep.size(), 0)};
  choices.front().back() = keep.back();
  for (size_t i = 0; i + 1 < keep.size(); ++i) {
    for (int v = 0; v < num_tensors; ++v) {
      if (!Has(keep[i], v)) continue;
      if (i < must_keep.size() && Has(must_keep[i], v)) {
        for (std::vector<uint8_t>& choice : choices) add(choice, i, v);
        continue;
      }
      const size_t count = choices.size();
      for (size_t k = 0; k < count; ++k) {
        choices.push_back(choices[k]);
        add(choices.back(), i, v);
      }
    }
  }
  return choices;
}

}  // namespace

double Progress::Gap() const {
  if (!best || bound <= 0) return kInfinity;
  return std::max(0.0, best->value / bound - 1);
}

struct Mapper::State {
  MapperOptions options;
  loopnest::Setup setup;
  std::vector<Model> models;                 // one per choice of kept tensors
  std::vector<std::unique_ptr<Tree>> trees;  // per thread and choice, made when needed
  std::vector<Entry> queue;                  // a heap
  std::vector<Branch> put_off;               // splits that took too many steps
  int64_t patience = 1;                      // by how much more steps they get the next time
  int64_t made = 0;
  Candidate best;
  bool started = false, has_mapping = false;
  bool dived = false;  // the first mapping is worth some hundredths of a second of anybody's time
  double given_up = kInfinity;  // least bound of nodes that the queue could not hold
  double bound = 0;             // of everything not yet searched
  int64_t rounds = 0;
  Counters counters;

  std::function<bool()> Stopped() const {
    if (!options.stopped) return {};
    return [this] { return dived && options.stopped(); };
  }

  Tree& TreeOf(int worker, int32_t choice) {
    const size_t index = static_cast<size_t>(worker) * models.size() + static_cast<size_t>(choice);
    if (trees.size() <= index) trees.resize(index + 1);
    if (!trees[index]) {
      trees[index] =
          std::make_unique<Tree>(models[static_cast<size_t>(choice)],
                                 TreeOptions{options.goal, options.max_cycles, options.bound_scale,
                                             options.observer, Stopped()});
    }
    return *trees[index];
  }

  void Push(Branch node) {
    queue.push_back({std::move(node), made++});
    std::push_heap(queue.begin(), queue.end(), Later());
  }
  void Shrink() {
    const auto most = static_cast<size_t>(options.max_nodes);
    if (queue.size() <= most) return;
    std::sort(queue.begin(), queue.end());
    given_up = std::min(given_up, queue[most].node.bound);
    queue.resize(most);
    std::make_heap(queue.begin(), queue.end(), Later());
  }
  // A part of the queue, so that one node cannot push out all others.
  int64_t MostChildren() const {
    constexpr int64_t kPart = 8;
    return std::max<int64_t>(1, options.max_nodes / kPart);
  }
  double Limit() const { return best.value * (1 - kTolerance); }

  void Take(const Candidate& candidate, bool has_one) {
    if (candidate.value >= best.value) return;
    best = candidate;
    has_mapping = has_one;
  }

  // What searching one node led to.
  struct Outcome {
    Candidate best;
    std::vector<Branch> children = {};  // if it took too long and was split instead
    double given_up = kInfinity;
    bool put_off = false;  // splitting took too long, too
    bool stopped = false;  // it has to be searched again
    Counters counters = {};
  };

  void Start();
  bool Start(Branch root);
  int64_t SplitSteps() const;
  bool TakeUpWhatWasPutOff();
  std::vector<Branch> NextRound();
  Outcome SearchNode(const Branch& node, Tree& tree) const;
  void SearchRound(std::span<const Branch> nodes, ThreadPool& pool);
};

void Mapper::State::Start() {
  started = true;
  bool stopped = false;
  // Those that hold most come last in the list and are the best guess.
  for (size_t k = models.size(); k-- > 0;) {
    Branch root{.tree = static_cast<int32_t>(k)};
    // Choices that there was no time for wait like any other node.
    if (stopped) {
      Push(std::move(root));
    } else {
      stopped = !Start(std::move(root));
    }
  }
  Shrink();
}

// A first mapping and the first nodes of one choice of kept tensors; false if it was stopped.
bool Mapper::State::Start(Branch root) {
  Tree& tree = TreeOf(0, root.tree);
  tree.SetLimit(best.value);
  tree.ResetCounters();
  bool stopped = false;
  if (options.dive_width > 0) {
    tree.Dive(root, options.dive_width);
    Take(tree.best(), true);
    stopped = tree.stopped();
  }
  dived = true;
  std::vector<Branch> children;
  tree.SetLimit(best.value);
  Tree::Rest rest;
  if (!stopped) {
    rest = tree.Split(root, MostChildren(), options.split_steps, children);
    stopped = tree.stopped();
  }
  counters.Add(tree.counters());
  if (stopped) {
    Push(std::move(root));
    return false;
  }
  given_up = std::min(given_up, rest.given_up);
  if (rest.cut) put_off.push_back(std::move(root));
  for (Branch& child : children) Push(std::move(child));
  return true;
}

int64_t Mapper::State::SplitSteps() const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return options.split_steps > kMost / patience ? kMost : options.split_steps * patience;
}

// What was put off, with more patience. A part of it is searched twice, so patience grows fast.
bool Mapper::State::TakeUpWhatWasPutOff() {
  constexpr int64_t kGrowth = 8, kMost = int64_t{1} << 40;
  patience = std::min(patience * kGrowth, kMost);
  for (Branch& node : std::exchange(put_off, {})) {
    if (node.bound < Limit()) Push(std::move(node));
  }
  return !queue.empty();
}

// The nodes of the next round; those that cannot hold anything better are dropped.
std::vector<Branch> Mapper::State::NextRound() {
  std::vector<Branch> nodes;
  // The first rounds are small: what they find saves work in all others.
  constexpr int64_t kMostDoublings = 62;  // that fit an int64_t
  const int64_t most =
      std::min(options.round_nodes, int64_t{1} << std::min<int64_t>(rounds - 1, kMostDoublings));
  while (std::ssize(nodes) < most) {
    // What was put off has its turn once nothing else is left.
    if (queue.empty() && (!nodes.empty() || !TakeUpWhatWasPutOff())) break;
    std::pop_heap(queue.begin(), queue.end(), Later());
    Branch node = std::move(queue.back().node);
    queue.pop_back();
    if (node.bound < Limit()) nodes.push_back(std::move(node));
  }
  return nodes;
}

// Nothing but the node and the best value of the rounds before goes in, so outcomes do not depend
// on which thread searches what.
Mapper::State::Outcome Mapper::State::SearchNode(const Branch& node, Tree& tree) const {
  Outcome outcome;
  tree.SetLimit(best.value);
  tree.ResetCounters();
  // A node of all levels cannot be split.
  const bool whole = tree.LevelsDecided(node) == models[static_cast<size_t>(node.tree)].num_levels;
  const int64_t steps = whole ? std::numeric_limits<int64_t>::max() : options.node_steps;
  if (!tree.Search(node, steps) && !tree.stopped()) {
    const Tree::Rest rest = tree.Split(node, MostChildren(), SplitSteps(), outcome.children);
    outcome.given_up = rest.given_up;
    outcome.put_off = rest.cut;
  }
  outcome.stopped = tree.stopped();
  outcome.best = tree.best();
  outcome.counters = tree.counters();
  return outcome;
}

void Mapper::State::SearchRound(std::span<const Branch> nodes, ThreadPool& pool) {
  std::vector<Outcome> outcomes(nodes.size());
  // Trees are made before threads start, since making one changes the list.
  for (int worker = 0; worker < pool.threads(); ++worker) {
    for (const Branch& node : nodes) TreeOf(worker, node.tree);
  }
  pool.ParallelFor(std::ssize(nodes), 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t k = begin; k < end; ++k) {
      const Branch& node = nodes[static_cast<size_t>(k)];
      outcomes[static_cast<size_t>(k)] = SearchNode(node, TreeOf(worker, node.tree));
    }
  });
  for (size_t k = 0; k < nodes.size(); ++k) {
    Outcome& outcome = outcomes[k];
    Take(outcome.best, true);
    counters.Add(outcome.counters);
    if (outcome.stopped) {
      Push(nodes[k]);
      continue;
    }
    if (outcome.put_off) put_off.push_back(nodes[k]);
    given_up = std::min(given_up, outcome.given_up);
    for (Branch& child : outcome.children) Push(std::move(child));
  }
  Shrink();
}

Mapper::Mapper(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mapper::~Mapper() = default;

Result<std::unique_ptr<Mapper>> Mapper::Make(const LoopProblem& problem, const Hierarchy& hierarchy,
                                             const MapperOptions& options) {
  if (options.semantics == loopnest::Semantics::kTimeloop4) {
    return Unsupported("the exact mapper knows no bounds for semantics timeloop4",
                       "use semantics exact or timeloop3");
  }
  Result<loopnest::Setup> setup = loopnest::Prepare(problem, hierarchy, options.semantics);
  if (!setup) return setup.error();
  for (const LoopDimension& dim : problem.dims()) {
    if (dim.bound <= std::numeric_limits<int32_t>::max()) continue;
    return Unsupported(
        fmt::format("dimension {} has {} iterations; the exact mapper takes up to {}",
                    dim.name.view(), dim.bound, std::numeric_limits<int32_t>::max()));
  }
  const Result<std::vector<std::vector<uint8_t>>> keeps = KeepChoices(problem, hierarchy, options);
  if (!keeps) return keeps.error();
  auto state = std::make_unique<State>();
  state->options = options;
  state->setup = *std::move(setup);
  Result<void> fits;
  for (const std::vector<uint8_t>& keep : *keeps) {
    Model model = MakeModel(state->setup, state->options.restrictions, keep);
    if (Result<void> checked = CheckSmallestTiles(model); !checked) {
      fits = checked;
    } else {
      state->models.push_back(std::move(model));
    }
  }
  if (state->models.empty()) return fits.error();
  return std::unique_ptr<Mapper>(new Mapper(std::move(state)));
}

void Mapper::Offer(const LoopMapping& mapping) {
  for (size_t k = 0; k < state_->models.size(); ++k) {
    if (!Contains(state_->models[k], mapping)) continue;
    Tree& tree = state_->TreeOf(0, static_cast<int32_t>(k));
    tree.SetLimit(state_->best.value);
    tree.Try(mapping);
    state_->Take(tree.best(), true);
    return;
  }
}

void Mapper::OfferValue(double value) { state_->Take({.value = value}, false); }

bool Mapper::Step(ThreadPool& pool) {
  State& state = *state_;
  if (!state.started) {
    state.Start();
  } else {
    const std::vector<Branch> nodes = state.NextRound();
    if (nodes.empty()) {
      state.bound = state.given_up;
      return false;
    }
    state.SearchRound(nodes, pool);
  }
  ++state.rounds;
  state.bound =
      std::min(state.given_up, state.queue.empty() ? kInfinity : state.queue.front().node.bound);
  for (const Branch& node : state.put_off) state.bound = std::min(state.bound, node.bound);
  return !state.queue.empty() || !state.put_off.empty();
}

Progress Mapper::progress() const {
  const State& state = *state_;
  Progress progress{.rounds = state.rounds,
                    .open_nodes = std::ssize(state.queue) + std::ssize(state.put_off),
                    .counters = state.counters};
  if (state.has_mapping) progress.best = state.best;
  if (!state.started) return progress;
  progress.bound = std::min(state.bound, state.best.value);
  const bool all = state.bound >= state.Limit();
  progress.status = !all                           ? Status::kBounded
                    : std::isinf(state.best.value) ? Status::kInfeasible
                                                   : Status::kOptimal;
  return progress;
}

Result<std::vector<std::vector<uint8_t>>> KeepChoices(const LoopProblem& problem,
                                                      const Hierarchy& hierarchy,
                                                      const MapperOptions& options) {
  const size_t levels = hierarchy.levels.size();
  const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
  std::vector<uint8_t> keep = options.keep;
  if (keep.empty()) keep = KeepSets(problem, hierarchy);
  if (keep.empty()) keep.assign(levels, all);
  if (keep.size() != levels) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} keep sets for {} levels", keep.size(), levels)};
  }
  for (uint8_t& set : keep) set &= all;
  if (options.keep.empty()) keep.back() = all;
  if (keep.back() != all) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the outermost level {} does not hold every tensor",
                                        hierarchy.levels.back().name)};
  }
  if (!options.decide_keep) return std::vector<std::vector<uint8_t>>{keep};
  return Subsets(keep, options.must_keep, problem.num_tensors);
}

}  // namespace tessera::exact
