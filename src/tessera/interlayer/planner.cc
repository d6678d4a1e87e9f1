// Labels that are set node by node: for every choice of homes of the living tensors the best way to
// get there, or for EDP all ways that no other one beats in both cycles and energy.
#include "tessera/interlayer/planner.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tessera::interlayer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Nodes of a group whose weights are pinned or not in every combination; of longer groups all are
// tried with none, with all and with those that gain by it, and the bound lets all have the room.
constexpr int kMostPins = 5;

// Where a tensor is: 0 is the outermost level, 1 + h is home h. A concatenation that is a view has
// the code of its home, and so many more as there are homes.
using Code = int8_t;

struct Label {
  Spent spent = {};
  int before = -1;
  int stage = -1;  // of the list of stages
};

double SecondOf(const Spent& spent, Objective objective) {
  return objective == Objective::kLatency ? spent.energy_pj : spent.cycles;
}

bool Better(const Spent& a, const Spent& b, Objective objective) {
  const double va = ValueOf(a, objective), vb = ValueOf(b, objective);
  return va != vb ? va < vb : SecondOf(a, objective) < SecondOf(b, objective);
}

}  // namespace

double ValueOf(const Spent& spent, Objective objective) {
  switch (objective) {
    case Objective::kLatency: return spent.cycles;
    case Objective::kEnergy: return spent.energy_pj;
    default: return spent.cycles * spent.energy_pj;
  }
}

const std::vector<Planner::Template>& Planner::TemplatesOf(int first, int last) {
  const std::span<const Node> chain(problem_.nodes.data() + first,
                                    static_cast<size_t>(last - first + 1));
  std::vector<int64_t> key;
  for (const Node& node : chain) {
    const RowWindow& w = node.window;
    for (const int64_t number : {w.stride, w.kernel, w.dilation, w.top, node.rows, node.input_rows,
                                 node.row_words, int64_t{node.layer >= 0}}) {
      key.push_back(number);
    }
  }
  const auto known = templates_.find(key);
  if (known != templates_.end()) return known->second;
  std::vector<Template>& made = templates_[std::move(key)];
  for (int64_t slices = 1; slices <= chain.back().rows; ++slices) {
    Template plan{.nodes = Slice(chain, slices)};
    for (size_t k = 0; k + 1 < chain.size(); ++k) {
      plan.buffer_words += plan.nodes[k].buffer_rows * chain[k].row_words;
    }
    made.push_back(std::move(plan));
  }
  return made;
}

// One search for a plan.
class PlanSearch {
 public:
  PlanSearch(Planner& planner, Side side)
      : planner_(planner),
        problem_(planner.problem_),
        costs_(planner.costs_),
        options_(planner.options_),
        side_(side),
        code_(problem_.tensors.size(), 0),
        num_homes_(static_cast<int>(problem_.homes.size())) {}

  Plan Run(double* bound) {
    const size_t count = problem_.nodes.size();
    places_.resize(count + 1);
    alive_.resize(count + 1);
    FindAlive();
    labels_.push_back({});
    places_[0][""] = {0};
    double dropped = kInfinity;
    for (size_t i = 0; i < count; ++i) {
      if (Stopped()) {
        if (bound != nullptr) *bound = std::min(dropped, BoundFrom(i));
        return {};
      }
      dropped = std::min(dropped, Shrink(i));
      for (const auto& [state, labels] : places_[i]) {
        Load(i, state);
        Single(static_cast<int>(i), labels);
        if (options_.freedom == Freedom::kSlices) Groups(static_cast<int>(i), labels);
      }
      if (!stopped_) continue;  // Not all groups from here were looked at.
      if (bound != nullptr) *bound = std::min(dropped, BoundFrom(i));
      return {};
    }
    return Finish(bound, dropped);
  }

 private:
  using States = std::map<std::string, std::vector<int>>;  // homes of the living -> labels

  // A way to run a stage: its cost, and the mappings of its parts.
  struct Way {
    Spent spent = {};
    std::vector<int> founds = {};
  };

  bool Edp() const { return options_.objective == Objective::kEdp; }

  bool Stopped() {
    stopped_ = stopped_ || (options_.stopped && options_.stopped(side_));
    return stopped_;
  }

  // What no plan is below, when stages from node i on were not looked at: every plan goes through a
  // label at i or, with a group around i, behind it.
  double BoundFrom(size_t i) const {
    double least = kInfinity;
    const size_t last = std::min(places_.size() - 1, i + kMostGroupNodes);
    for (size_t at = i; at <= last; ++at) {
      for (const auto& [state, labels] : places_[at]) {
        for (const int label : labels) {
          const Spent all = labels_[static_cast<size_t>(label)].spent + rest_[at];
          least = std::min(least, ValueOf(all, options_.objective));
        }
      }
    }
    return least;
  }

  // Tensors that can stay and are alive after so many nodes.
  void FindAlive() {
    for (size_t t = 0; t < problem_.tensors.size(); ++t) {
      const Tensor& tensor = problem_.tensors[t];
      if (!tensor.may_stay) continue;
      for (int i = tensor.producer + 1; i <= tensor.last; ++i) {
        alive_[static_cast<size_t>(i)].push_back(static_cast<int>(t));
      }
    }
    // What nodes with MACs below add at least: for states that are dropped.
    rest_.assign(problem_.nodes.size() + 1, {});
    const Arithmetic& macs = problem_.hierarchy.arithmetic;
    for (size_t i = problem_.nodes.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1];
      if (problem_.nodes[i].layer < 0) continue;
      const auto operations =
          static_cast<double>(Macs(problem_.layers[static_cast<size_t>(problem_.nodes[i].layer)]));
      rest_[i] +=
          {operations / static_cast<double>(macs.instances()), operations * macs.mac_pj.ToDouble()};
    }
  }

  // Drops the worst states where there are too many; returns what none of their plans is below.
  double Shrink(size_t i) {
    States& states = places_[i];
    if (states.size() <= options_.max_states) return kInfinity;
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [state, labels] : states) {
      double best = kInfinity;
      for (const int label : labels) {
        best = std::min(best, ValueOf(labels_[static_cast<size_t>(label)].spent + rest_[i],
                                      options_.objective));
      }
      order.emplace_back(best, state);
    }
    std::ranges::sort(order);
    for (size_t k = options_.max_states; k < order.size(); ++k) states.erase(order[k].second);
    return order[options_.max_states].first;
  }

  void Load(size_t i, const std::string& state) {
    for (size_t k = 0; k < state.size(); ++k) {
      code_[static_cast<size_t>(alive_[i][k])] = static_cast<Code>(state[k]);
    }
  }

  int HomeOf(Code code) const {  // index of homes; -1: the outermost level
    return code == 0 ? -1 : (code - 1) % num_homes_;
  }
  int LevelOf(int tensor) const {
    if (tensor < 0 || !problem_.tensors[static_cast<size_t>(tensor)].may_stay) {
      return problem_.outermost();
    }
    const int home = HomeOf(code_[static_cast<size_t>(tensor)]);
    return home < 0 ? problem_.outermost() : problem_.homes[static_cast<size_t>(home)];
  }
  bool IsView(int tensor) const { return code_[static_cast<size_t>(tensor)] > num_homes_; }

  // Whether the tensor's words are those of a concatenation that lives, too.
  bool Contained(int tensor, std::span<const int> living) const {
    for (const int other : living) {
      if (other == tensor || !IsView(other)) continue;
      const Node& concat =
          problem_
              .nodes[static_cast<size_t>(problem_.tensors[static_cast<size_t>(other)].producer)];
      if (std::ranges::find(concat.inputs, tensor) != concat.inputs.end()) return true;
    }
    return false;
  }

  // What tensors leave at every home while a stage runs; none if they do not fit.
  std::optional<Room> RoomFor(int first, std::span<const int> outputs) const {
    Room room;
    room.fill(kUnlimitedWords);
    for (int h = 0; h < num_homes_; ++h) {
      room[static_cast<size_t>(h)] = problem_.EntriesOf(static_cast<size_t>(h));
    }
    std::vector<int> living = alive_[static_cast<size_t>(first)];
    for (const int tensor : outputs) {
      if (problem_.tensors[static_cast<size_t>(tensor)].may_stay) living.push_back(tensor);
    }
    for (const int tensor : living) {
      const int home = HomeOf(code_[static_cast<size_t>(tensor)]);
      if (home < 0 || Contained(tensor, living)) continue;
      int64_t& left = room[static_cast<size_t>(home)];
      left -= problem_.tensors[static_cast<size_t>(tensor)].words;
      if (left < 0) return std::nullopt;
    }
    return room;
  }

  // Calls use() with every choice of homes of a node's outputs in place.
  template <typename Use>
  void ForEachOutputHome(const Node& node, size_t k, const Use& use) {
    if (k == node.outputs.size()) return use();
    const int tensor = node.outputs[k];
    const bool stays = problem_.tensors[static_cast<size_t>(tensor)].may_stay &&
                       options_.freedom != Freedom::kNone;
    code_[static_cast<size_t>(tensor)] = 0;
    ForEachOutputHome(node, k + 1, use);
    for (int h = 0; stays && h < num_homes_; ++h) {
      if (problem_.tensors[static_cast<size_t>(tensor)].words >
          problem_.EntriesOf(static_cast<size_t>(h))) {
        continue;
      }
      code_[static_cast<size_t>(tensor)] = static_cast<Code>(1 + h);
      ForEachOutputHome(node, k + 1, use);
    }
    code_[static_cast<size_t>(tensor)] = 0;
  }

  // ---- Stages of one node ----

  void Single(int i, const std::vector<int>& labels) {
    const Node& node = problem_.nodes[static_cast<size_t>(i)];
    Stage stage{.first = i, .last = i};
    if (node.concat && ConcatAsView(node, stage, labels)) return;
    ForEachOutputHome(node, 0, [&] {
      const std::optional<Room> room = RoomFor(i, node.outputs);
      if (!room) return;
      stage.parts.clear();
      std::vector<Way> ways = {{}};
      if (node.layer < 0) {
        ways.front().spent = VectorSpent(node);
      } else {
        NodeKey key = KeyOf(node);
        key.rows = problem_.layer_rows[static_cast<size_t>(node.layer)];
        Combine(i, key, *room, 1, stage, ways);
      }
      Extend(stage, ways, labels);
    });
  }

  // A concatenation of tensors with one home costs nothing; its output has that home. A network's
  // output has to leave, though.
  bool ConcatAsView(const Node& node, Stage& stage, const std::vector<int>& labels) {
    const int output = node.outputs[0];
    const int level = LevelOf(node.inputs[0]);
    for (const int input : node.inputs) {
      if (LevelOf(input) != level) return false;
    }
    const bool outside = level == problem_.outermost();
    if (!outside && !problem_.tensors[static_cast<size_t>(output)].may_stay) return false;
    stage.view = true;
    Code& code = code_[static_cast<size_t>(output)];
    code = 0;
    for (int h = 0; h < num_homes_; ++h) {
      if (problem_.homes[static_cast<size_t>(h)] == level) {
        code = static_cast<Code>(1 + h + num_homes_);
      }
    }
    if (RoomFor(stage.first, node.outputs)) Extend(stage, std::vector<Way>{{}}, labels);
    code = 0;
    return true;
  }

  Spent VectorSpent(const Node& node) const {
    std::vector<Moved> moved;
    for (const int input : node.inputs) {
      moved.push_back({LevelOf(input), problem_.tensors[static_cast<size_t>(input)].words, false});
    }
    for (const int output : node.outputs) {
      moved.push_back({LevelOf(output), problem_.tensors[static_cast<size_t>(output)].words, true});
    }
    return VectorCost(problem_.hierarchy, moved, node.elements);
  }

  NodeKey KeyOf(const Node& node) const {
    NodeKey key{.layer = node.layer};
    for (size_t v = 0; v < node.slots.size(); ++v) {
      key.homes[v] = static_cast<int8_t>(LevelOf(node.slots[v]));
    }
    return key;
  }

  // ---- Groups ----

  void Groups(int first, const std::vector<int>& labels) {
    int64_t most = 0;  // that any home can hold
    for (int h = 0; h < num_homes_; ++h) {
      most = std::max(most, problem_.EntriesOf(static_cast<size_t>(h)));
    }
    const int chain_end =
        std::min(problem_.chain_end[static_cast<size_t>(first)], first + kMostGroupNodes - 1);
    int64_t rows = 0;  // words of one row of all that is between the nodes
    for (int last = first; last <= chain_end && rows <= most && !Stopped(); ++last) {
      rows += problem_.nodes[static_cast<size_t>(last)].row_words;
      const Node& end = problem_.nodes[static_cast<size_t>(last)];
      const std::vector<Planner::Template>& templates = planner_.TemplatesOf(first, last);
      for (int h = 0; h < num_homes_; ++h) {
        ForEachOutputHome(end, 0, [&] {
          const std::optional<Room> room = RoomFor(first, end.outputs);
          if (!room) return;
          dead_ = DeadAt(first, last, h, end, *room, templates.size());
          for (size_t t = 0; t < templates.size(); ++t) {
            Group(first, last, h, static_cast<int64_t>(t) + 1, templates[t], *room, labels);
          }
        });
      }
    }
  }

  void Group(int first, int last, int home, int64_t slices, const Planner::Template& plan,
             Room room, const std::vector<int>& labels) {
    const auto at = static_cast<size_t>(home);
    room[at] -= plan.buffer_words;
    if (room[at] < 0) return;
    uint64_t can_pin = 0;
    for (int i = first; i <= last; ++i) {
      const Node& node = problem_.nodes[static_cast<size_t>(i)];
      if (node.layer < 0 || !problem_.holds_weights[at]) continue;
      if (problem_.weight_words[static_cast<size_t>(node.layer)] <= room[at]) {
        can_pin |= uint64_t{1} << (i - first);
      }
    }
    // One slice and nothing pinned is what homes give, with less room.
    const size_t row = static_cast<size_t>(slices - 1) << kMostPins;
    const auto use = [&](uint64_t pinned) {
      if (slices == 1 && pinned == 0) return;
      const size_t place = row + PinNumber(pinned, can_pin);
      if (place < dead_->size() && (*dead_)[place]) return;
      const Spent least = GroupWith(first, last, home, slices, plan, room, pinned, labels);
      if (side_ == Side::kLower && Hopeless(first, last, least)) (*dead_)[place] = true;
    };
    if (std::popcount(can_pin) <= kMostPins) {
      for (uint64_t pinned = can_pin;; pinned = (pinned - 1) & can_pin) {
        use(pinned);
        if (pinned == 0) return;
      }
    }
    if (side_ == Side::kLower) {
      if ((*dead_)[row]) return;
      const Spent least = RelaxedGroup(first, last, home, slices, plan, room, can_pin, labels);
      if (Hopeless(first, last, least)) (*dead_)[row] = true;
      return;
    }
    if ((*dead_)[row]) return;
    const auto try_pins = [&](uint64_t pinned) {
      if (slices > 1 || pinned != 0) {
        GroupWith(first, last, home, slices, plan, room, pinned, labels);
      }
    };
    try_pins(0);
    try_pins(can_pin);
    uint64_t some = can_pin;  // The largest weights go first.
    while (some != 0) {
      int largest = -1;
      int64_t most = -1;
      for (int k = 0; k <= last - first; ++k) {
        if ((some >> k & 1) == 0) continue;
        const int64_t words = problem_.weight_words[static_cast<size_t>(
            problem_.nodes[static_cast<size_t>(first + k)].layer)];
        if (words > most) {
          most = words;
          largest = k;
        }
      }
      some &= ~(uint64_t{1} << largest);
      if (some != 0) try_pins(some);
    }
  }

  // A number for a subset of what can be pinned: its bits, put together.
  static size_t PinNumber(uint64_t pinned, uint64_t can_pin) {
    size_t number = 0, place = 0;
    for (; can_pin != 0; can_pin &= can_pin - 1, ++place) {
      if ((pinned >> std::countr_zero(can_pin) & 1) != 0) number |= size_t{1} << place;
    }
    return number;
  }

  // What of the groups at a place is known to be in no better plan.
  std::vector<bool>* DeadAt(int first, int last, int home, const Node& end, const Room& room,
                            size_t templates) {
    Planner::Place place{.first = first, .last = last, .home = home, .room = room};
    const Node& begin = problem_.nodes[static_cast<size_t>(first)];
    for (const int tensor : {begin.inputs[0], end.outputs[0]}) {
      place.codes.push_back(static_cast<int8_t>(LevelOf(tensor)));
    }
    std::vector<bool>& dead = planner_.dead_[place];
    dead.resize(templates << kMostPins, false);
    return &dead;
  }

  // Whether no plan with a stage of at least this cost is better than the one that is known.
  bool Hopeless(int first, int last, const Spent& least) const {
    if (planner_.before_.empty()) return false;
    const Spent all = planner_.before_[static_cast<size_t>(first)] + least +
                      planner_.after_[static_cast<size_t>(last) + 1];
    return ValueOf(all, options_.objective) >= planner_.known_;
  }

  NodeKey SlicedKey(int i, int first, int last, int level, bool pinned) const {
    const Node& node = problem_.nodes[static_cast<size_t>(i)];
    const auto layer = static_cast<size_t>(node.layer);
    NodeKey key = KeyOf(node);
    const auto set = [&](int slot) {
      if (slot >= 0) key.homes[static_cast<size_t>(slot)] = static_cast<int8_t>(level);
    };
    if (i > first) set(problem_.input_slot[layer]);
    if (i < last) set(problem_.output_slot[layer]);
    if (pinned) set(problem_.weight_slot[layer]);
    return key;
  }

  Spent SlicedVector(int i, int first, int last, int level, const SlicedNode& sliced) const {
    const Node& node = problem_.nodes[static_cast<size_t>(i)];
    const int from = i > first ? level : LevelOf(node.inputs[0]);
    const int to = i < last ? level : LevelOf(node.outputs[0]);
    Spent spent;
    for (const auto& [rows, times] : sliced.reads) {
      const Moved moved[] = {{from, rows.second * node.input_row_words, false},
                             {to, rows.first * node.row_words, true}};
      spent += static_cast<double>(times) *
               VectorCost(problem_.hierarchy, moved, rows.first * node.row_elements);
    }
    return spent;
  }

  // Returns what the group costs at least; infinite: it is not possible.
  Spent GroupWith(int first, int last, int home, int64_t slices, const Planner::Template& plan,
                  Room room, uint64_t pinned, const std::vector<int>& labels) {
    const int level = problem_.homes[static_cast<size_t>(home)];
    Stage stage{.first = first, .last = last, .level = level, .slices = slices, .pinned = pinned};
    Spent fixed;
    for (int k = 0; k <= last - first; ++k) {
      if ((pinned >> k & 1) == 0) continue;
      const int64_t words = problem_.weight_words[static_cast<size_t>(
          problem_.nodes[static_cast<size_t>(first + k)].layer)];
      room[static_cast<size_t>(home)] -= words;
      fixed += PinCost(problem_.hierarchy, words, level);
    }
    Spent least{kInfinity, kInfinity};
    if (room[static_cast<size_t>(home)] < 0) return least;
    std::vector<Way> ways = {{}};
    for (int i = first; i <= last && !ways.empty(); ++i) {
      const SlicedNode& sliced = plan.nodes[static_cast<size_t>(i - first)];
      if (problem_.nodes[static_cast<size_t>(i)].layer < 0) {
        fixed += SlicedVector(i, first, last, level, sliced);
        continue;
      }
      NodeKey key = SlicedKey(i, first, last, level, (pinned >> (i - first) & 1) != 0);
      for (const auto& [rows, times] : sliced.times) {
        key.rows = rows;
        Combine(i, key, room, times, stage, ways);
      }
    }
    for (Way& way : ways) {
      way.spent += fixed;
      least = Least(least, way.spent);
    }
    Extend(stage, ways, labels);
    return least;
  }

  static Spent Least(const Spent& a, const Spent& b) {
    return {std::min(a.cycles, b.cycles), std::min(a.energy_pj, b.energy_pj)};
  }

  // A bound: every node of the group may have all the room, pinned or not, whichever is better.
  Spent RelaxedGroup(int first, int last, int home, int64_t slices, const Planner::Template& plan,
                     const Room& room, uint64_t can_pin, const std::vector<int>& labels) {
    const int level = problem_.homes[static_cast<size_t>(home)];
    Stage stage{.first = first, .last = last, .level = level, .slices = slices};
    Spent least;
    for (int i = first; i <= last; ++i) {
      const SlicedNode& sliced = plan.nodes[static_cast<size_t>(i - first)];
      const Node& node = problem_.nodes[static_cast<size_t>(i)];
      if (node.layer < 0) {
        least += SlicedVector(i, first, last, level, sliced);
        continue;
      }
      Spent best{kInfinity, kInfinity};
      std::vector<Part> parts;
      for (const bool pinned : {false, true}) {
        if (pinned && (can_pin >> (i - first) & 1) == 0) continue;
        Stage one;
        std::vector<Way> ways = {{}};
        NodeKey key = SlicedKey(i, first, last, level, pinned);
        for (const auto& [rows, times] : sliced.times) {
          key.rows = rows;
          Combine(i, key, room, times, one, ways);
        }
        Spent here{kInfinity, kInfinity};
        for (const Way& way : ways) {
          here.cycles = std::min(here.cycles, way.spent.cycles);
          here.energy_pj = std::min(here.energy_pj, way.spent.energy_pj);
        }
        if (pinned) {
          here += PinCost(problem_.hierarchy,
                          problem_.weight_words[static_cast<size_t>(node.layer)], level);
        }
        if (ValueOf(here, options_.objective) < ValueOf(best, options_.objective)) {
          parts = one.parts;
          if (pinned) stage.pinned |= uint64_t{1} << (i - first);
        }
        best.cycles = std::min(best.cycles, here.cycles);
        best.energy_pj = std::min(best.energy_pj, here.energy_pj);
      }
      least += best;
      stage.parts.insert(stage.parts.end(), parts.begin(), parts.end());
    }
    if (least.energy_pj == kInfinity || least.cycles == kInfinity) return least;
    Extend(stage, std::vector<Way>{{.spent = least}}, labels);
    return least;
  }

  // ---- Adding up ----

  // Adds a part that runs so many times with one mapping to all ways.
  void Combine(int node, const NodeKey& key, const Room& room, int64_t times, Stage& stage,
               std::vector<Way>& ways) {
    const int staircase = costs_.Find(key);
    stage.parts.push_back({.node = node, .staircase = staircase, .room = room, .times = times});
    const Front& front =
        side_ == Side::kLower ? costs_.Lower(staircase, room) : costs_.Upper(staircase, room);
    std::vector<Way> made;
    for (const Way& way : ways) {
      for (const CostPoint& point : front) {
        Way& next = made.emplace_back(way);
        next.spent += static_cast<double>(times) * point.spent;
        next.founds.push_back(point.found);
      }
    }
    if (Edp()) Thin(made);
    ways = std::move(made);
  }

  // Leaves the points of the front; where they are too many, bounds are merged and others dropped.
  template <typename Item>
  void Thin(std::vector<Item>& items) const {
    std::ranges::sort(items, [](const Item& a, const Item& b) {
      return a.spent.cycles != b.spent.cycles ? a.spent.cycles < b.spent.cycles
                                              : a.spent.energy_pj < b.spent.energy_pj;
    });
    size_t kept = 0;
    for (size_t k = 0; k < items.size(); ++k) {
      if (kept > 0 && items[kept - 1].spent.energy_pj <= items[k].spent.energy_pj) continue;
      if (kept != k) items[kept] = std::move(items[k]);
      ++kept;
    }
    items.resize(kept);
    const size_t most = options_.max_points;
    if (kept <= most) return;
    std::vector<Item> fewer;
    for (size_t k = 0; k < most; ++k) {
      const size_t begin = k * kept / most, end = (k + 1) * kept / most;
      const double least_pj = items[end - 1].spent.energy_pj;
      fewer.push_back(std::move(items[begin]));
      if (side_ == Side::kLower) fewer.back().spent.energy_pj = least_pj;
    }
    items = std::move(fewer);
  }

  // A stage after all labels of the state it starts from; its outputs' homes are in place.
  void Extend(const Stage& stage, const std::vector<Way>& ways, const std::vector<int>& labels) {
    if (ways.empty()) return;
    const size_t after = static_cast<size_t>(stage.last) + 1;
    if (side_ == Side::kLower) {
      const auto at = edges_.try_emplace({stage.first, stage.last}, ways.front().spent).first;
      for (const Way& way : ways) at->second = Least(at->second, way.spent);
    }
    std::string state;
    for (const int tensor : alive_[after]) {
      state.push_back(static_cast<char>(code_[static_cast<size_t>(tensor)]));
    }
    std::vector<int>& place = places_[after][state];
    std::vector<int> ids(ways.size(), -1);
    std::vector<Label> made;
    for (const int before : labels) {
      for (size_t w = 0; w < ways.size(); ++w) {
        const Spent spent = labels_[static_cast<size_t>(before)].spent + ways[w].spent;
        if (!Edp() && !place.empty() &&
            !Better(spent, labels_[static_cast<size_t>(place[0])].spent, options_.objective)) {
          continue;
        }
        if (ids[w] < 0) ids[w] = Store(stage, ways[w]);
        const Label label{spent, before, ids[w]};
        if (Edp()) {
          made.push_back(label);
        } else if (place.empty()) {
          place.push_back(static_cast<int>(labels_.size()));
          labels_.push_back(label);
        } else {
          labels_[static_cast<size_t>(place[0])] = label;
        }
      }
    }
    if (!Edp()) return;
    for (const int label : place) made.push_back(labels_[static_cast<size_t>(label)]);
    Thin(made);
    place.clear();
    for (const Label& label : made) {
      place.push_back(static_cast<int>(labels_.size()));
      labels_.push_back(label);
    }
  }

  int Store(const Stage& stage, const Way& way) {
    Stage stored = stage;
    stored.spent = way.spent;
    for (size_t k = 0; k < stored.parts.size() && k < way.founds.size(); ++k) {
      stored.parts[k].found = way.founds[k];
    }
    for (const int tensor : problem_.nodes[static_cast<size_t>(stage.last)].outputs) {
      stored.output_homes.push_back(LevelOf(tensor));
    }
    stages_.push_back(std::move(stored));
    return static_cast<int>(stages_.size()) - 1;
  }

  // What leads to every node, and what follows, at least: whatever the homes.
  void KeepBounds() {
    const size_t count = problem_.nodes.size();
    planner_.before_.assign(count + 1, {kInfinity, kInfinity});
    planner_.after_.assign(count + 1, {kInfinity, kInfinity});
    planner_.before_[0] = planner_.after_[count] = {};
    // Edges are in the order of their first nodes.
    for (const auto& [edge, spent] : edges_) {
      Spent& to = planner_.before_[static_cast<size_t>(edge.second) + 1];
      to = Least(to, planner_.before_[static_cast<size_t>(edge.first)] + spent);
    }
    for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge) {
      Spent& from = planner_.after_[static_cast<size_t>(edge->first.first)];
      from =
          Least(from, planner_.after_[static_cast<size_t>(edge->first.second) + 1] + edge->second);
    }
  }

  Plan Finish(double* bound, double dropped) {
    if (side_ == Side::kLower && dropped == kInfinity) KeepBounds();
    Plan plan;
    int best = -1;
    for (const auto& [state, labels] : places_.back()) {
      for (const int label : labels) {
        if (best < 0 || Better(labels_[static_cast<size_t>(label)].spent,
                               labels_[static_cast<size_t>(best)].spent, options_.objective)) {
          best = label;
        }
      }
    }
    if (bound != nullptr) *bound = dropped;
    if (best < 0) return plan;
    plan.found = true;
    plan.spent = labels_[static_cast<size_t>(best)].spent;
    if (bound != nullptr) *bound = std::min(dropped, ValueOf(plan.spent, options_.objective));
    for (int label = best; labels_[static_cast<size_t>(label)].stage >= 0;
         label = labels_[static_cast<size_t>(label)].before) {
      plan.stages.push_back(
          stages_[static_cast<size_t>(labels_[static_cast<size_t>(label)].stage)]);
    }
    std::ranges::reverse(plan.stages);
    return plan;
  }

  Planner& planner_;
  const GraphProblem& problem_;
  NodeCosts& costs_;
  const PlannerOptions& options_;
  const Side side_;
  std::vector<Code> code_;
  const int num_homes_;
  std::vector<States> places_;
  std::vector<std::vector<int>> alive_;
  std::vector<Spent> rest_;
  std::vector<Label> labels_;
  std::vector<Stage> stages_;
  std::map<std::pair<int, int>, Spent> edges_;  // least cost of a stage, by its nodes
  std::vector<bool>* dead_ = nullptr;           // of the place that is looked at
  bool stopped_ = false;
};

Plan Planner::Best(Side side, double* bound) { return PlanSearch(*this, side).Run(bound); }

}  // namespace tessera::interlayer
