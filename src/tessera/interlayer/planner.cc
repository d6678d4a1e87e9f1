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

#include "tessera/interlayer/pins.h"

namespace tessera::interlayer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// For EDP, where no choice of pinned weights is the best one: nodes of a group whose weights are
// pinned or not in every combination; of longer groups none, all, and all without the largest are
// tried, and the bound lets every node have all the room.
constexpr int kMostPins = 5;

// For the others: choices that are priced for one group in one search. Where that is not enough,
// the bound lets every node have all the room, too.
constexpr int64_t kMostPrices = 256;

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
          known_ = KnownAt(first, last, h, end, *room, templates.size());
          for (size_t t = 0; t < templates.size(); ++t) {
            Group({first, last, h, static_cast<int64_t>(t) + 1}, templates[t], *room, labels);
          }
        });
      }
    }
  }

  // Nodes, home and slices of a group.
  struct Cut {
    int first = 0, last = 0, home = 0;
    int64_t slices = 1;
    bool Has(uint64_t pinned, int node) const { return (pinned >> (node - first) & 1) != 0; }
  };

  void Group(const Cut& cut, const Planner::Template& plan, Room room,
             const std::vector<int>& labels) {
    const auto at = static_cast<size_t>(cut.home);
    room[at] -= plan.buffer_words;
    if (room[at] < 0) return;
    uint64_t can_pin = 0;
    for (int i = cut.first; i <= cut.last; ++i) {
      const Node& node = problem_.nodes[static_cast<size_t>(i)];
      if (node.layer < 0 || !problem_.holds_weights[at]) continue;
      if (WeightWords(i) <= room[at]) can_pin |= uint64_t{1} << (i - cut.first);
    }
    const size_t row = static_cast<size_t>(cut.slices - 1) << kMostPins;
    if (Edp() ? std::popcount(can_pin) > kMostPins : can_pin != 0) {
      if (known_->dead[row]) return;
      const Spent least = Edp() ? SomePins(cut, plan, room, can_pin, labels)
                                : BestPins(cut, plan, room, can_pin, labels);
      if (side_ == Side::kLower && Hopeless(cut, least)) known_->dead[row] = true;
      return;
    }
    for (uint64_t pinned = can_pin;; pinned = (pinned - 1) & can_pin) {
      const size_t place = row + PinNumber(pinned, can_pin);
      if (!known_->dead[place]) {
        const Spent least = GroupWith(cut, plan, room, pinned, labels);
        if (side_ == Side::kLower && Hopeless(cut, least)) known_->dead[place] = true;
      }
      if (pinned == 0) return;
    }
  }

  // For fronts: a bound, or what is known of some choices.
  Spent SomePins(const Cut& cut, const Planner::Template& plan, const Room& room, uint64_t can_pin,
                 const std::vector<int>& labels) {
    if (side_ == Side::kLower) return RelaxedGroup(cut, plan, room, can_pin, {}, labels);
    GroupWith(cut, plan, room, 0, labels);
    const auto promised = known_->promised.find(cut.slices);
    if (promised != known_->promised.end()) GroupWith(cut, plan, room, promised->second, labels);
    for (uint64_t some = can_pin; some != 0; some &= ~LargestOf(cut, some)) {
      GroupWith(cut, plan, room, some, labels);
    }
    return {};
  }

  // The bit of the largest weights.
  uint64_t LargestOf(const Cut& cut, uint64_t pinned) const {
    uint64_t largest = 0;
    int64_t most = -1;
    for (uint64_t left = pinned; left != 0; left &= left - 1) {
      const int64_t words = WeightWords(cut.first + std::countr_zero(left));
      if (words <= most) continue;
      most = words;
      largest = left & ~(left - 1);
    }
    return largest;
  }
  int64_t WeightWords(int node) const {
    return problem_
        .weight_words[static_cast<size_t>(problem_.nodes[static_cast<size_t>(node)].layer)];
  }

  // What the slices of one node cost, by the objective; infinite: they are not possible.
  double ValueOfNode(int i, const Cut& cut, const SlicedNode& sliced, const Room& room,
                     bool pinned) {
    if (problem_.nodes[static_cast<size_t>(i)].layer < 0) {
      return ValueOf(SlicedVector(i, cut, sliced), options_.objective);
    }
    NodeKey key = SlicedKey(i, cut, pinned);
    double value = 0;
    for (const auto& [rows, times] : sliced.times) {
      key.rows = rows;
      const int staircase = costs_.Find(key);
      const Front& front =
          side_ == Side::kLower ? costs_.Lower(staircase, room) : costs_.Upper(staircase, room);
      if (front.empty()) return kInfinity;
      value += static_cast<double>(times) * ValueOf(front.front().spent, options_.objective);
    }
    return value;
  }

  // The best choice of pinned weights, for one objective. Returns what the group costs at least.
  Spent BestPins(const Cut& cut, const Planner::Template& plan, const Room& room, uint64_t can_pin,
                 const std::vector<int>& labels) {
    const int level = problem_.homes[static_cast<size_t>(cut.home)];
    const auto home = static_cast<size_t>(cut.home);
    const auto pin_value = [&](int i) {
      return ValueOf(PinCost(problem_.hierarchy, WeightWords(i), level), options_.objective);
    };
    const auto sliced = [&](int i) -> const SlicedNode& {
      return plan.nodes[static_cast<size_t>(i - cut.first)];
    };
    const auto price = [&](uint64_t pinned) {
      if (cut.slices == 1 && pinned == 0) return kInfinity;
      Room left = room;
      double value = 0;
      for (int i = cut.first; i <= cut.last; ++i) {
        if (!cut.Has(pinned, i)) continue;
        left[home] -= WeightWords(i);
        value += pin_value(i);
      }
      for (int i = cut.first; i <= cut.last && value < kInfinity; ++i) {
        value += ValueOfNode(i, cut, sliced(i), left, cut.Has(pinned, i));
      }
      return value;
    };
    double rest = 0;
    std::vector<PinItem> items;
    for (int i = cut.first; i <= cut.last; ++i) {
      const double loose = ValueOfNode(i, cut, sliced(i), room, /*pinned=*/false);
      if (!cut.Has(can_pin, i)) {
        rest += loose;
        continue;
      }
      Room left = room;
      left[home] -= WeightWords(i);
      const double pinned = ValueOfNode(i, cut, sliced(i), left, /*pinned=*/true) + pin_value(i);
      items.push_back({i - cut.first, WeightWords(i), loose, pinned});
    }
    const PinChoice best = ChoosePins(items, room[home], rest, price, kMostPrices);
    if (!best.complete && side_ == Side::kLower) {
      return RelaxedGroup(cut, plan, room, can_pin, best.pinned, labels);
    }
    if (best.value == kInfinity) return {kInfinity, kInfinity};
    return GroupWith(cut, plan, room, best.pinned, labels);
  }

  // A number for a subset of what can be pinned: its bits, put together.
  static size_t PinNumber(uint64_t pinned, uint64_t can_pin) {
    size_t number = 0, place = 0;
    for (; can_pin != 0; can_pin &= can_pin - 1, ++place) {
      if ((pinned >> std::countr_zero(can_pin) & 1) != 0) number |= size_t{1} << place;
    }
    return number;
  }

  // What is known of the groups at a place.
  Planner::Known* KnownAt(int first, int last, int home, const Node& end, const Room& room,
                          size_t templates) {
    Planner::Place place{.first = first, .last = last, .home = home, .room = room};
    const Node& begin = problem_.nodes[static_cast<size_t>(first)];
    for (const int tensor : {begin.inputs[0], end.outputs[0]}) {
      place.codes.push_back(static_cast<int8_t>(LevelOf(tensor)));
    }
    Planner::Known& known = planner_.places_[place];
    known.dead.resize(templates << kMostPins, false);
    return &known;
  }

  // Whether no plan with a stage of at least this cost is better than the one that is known.
  bool Hopeless(const Cut& cut, const Spent& least) const {
    if (planner_.before_.empty()) return false;
    const Spent all = planner_.before_[static_cast<size_t>(cut.first)] + least +
                      planner_.after_[static_cast<size_t>(cut.last) + 1];
    return ValueOf(all, options_.objective) >= planner_.known_;
  }

  int LevelOf(const Cut& cut) const { return problem_.homes[static_cast<size_t>(cut.home)]; }

  NodeKey SlicedKey(int i, const Cut& cut, bool pinned) const {
    const Node& node = problem_.nodes[static_cast<size_t>(i)];
    const auto layer = static_cast<size_t>(node.layer);
    NodeKey key = KeyOf(node);
    const auto set = [&](int slot) {
      if (slot >= 0) key.homes[static_cast<size_t>(slot)] = static_cast<int8_t>(LevelOf(cut));
    };
    if (i > cut.first) set(problem_.input_slot[layer]);
    if (i < cut.last) set(problem_.output_slot[layer]);
    if (pinned) set(problem_.weight_slot[layer]);
    return key;
  }

  Spent SlicedVector(int i, const Cut& cut, const SlicedNode& sliced) const {
    const Node& node = problem_.nodes[static_cast<size_t>(i)];
    const int from = i > cut.first ? LevelOf(cut) : LevelOf(node.inputs[0]);
    const int to = i < cut.last ? LevelOf(cut) : LevelOf(node.outputs[0]);
    Spent spent;
    for (const auto& [rows, times] : sliced.reads) {
      const Moved moved[] = {{from, rows.second * node.input_row_words, false},
                             {to, rows.first * node.row_words, true}};
      spent += static_cast<double>(times) *
               VectorCost(problem_.hierarchy, moved, rows.first * node.row_elements);
    }
    return spent;
  }

  // What pinned weights leave, which may be less than nothing.
  Room RoomBeside(const Cut& cut, Room room, uint64_t pinned) const {
    for (int i = cut.first; i <= cut.last; ++i) {
      if (cut.Has(pinned, i)) room[static_cast<size_t>(cut.home)] -= WeightWords(i);
    }
    return room;
  }

  // Returns what the group costs at least; infinite: it is not possible.
  Spent GroupWith(const Cut& cut, const Planner::Template& plan, const Room& whole, uint64_t pinned,
                  const std::vector<int>& labels) {
    Spent least{kInfinity, kInfinity};
    // One slice and nothing pinned is what homes give, with less room.
    if (cut.slices == 1 && pinned == 0) return least;
    const Room room = RoomBeside(cut, whole, pinned);
    if (room[static_cast<size_t>(cut.home)] < 0) return least;
    Stage stage = StageOf(cut, pinned);
    Spent fixed;
    std::vector<Way> ways = {{}};
    for (int i = cut.first; i <= cut.last && !ways.empty(); ++i) {
      const SlicedNode& sliced = plan.nodes[static_cast<size_t>(i - cut.first)];
      if (problem_.nodes[static_cast<size_t>(i)].layer < 0) {
        fixed += SlicedVector(i, cut, sliced);
        continue;
      }
      if (cut.Has(pinned, i)) fixed += PinCost(problem_.hierarchy, WeightWords(i), LevelOf(cut));
      CombineSlices(i, SlicedKey(i, cut, cut.Has(pinned, i)), sliced, room, stage, ways);
    }
    for (Way& way : ways) {
      way.spent += fixed;
      least = Least(least, way.spent);
    }
    Extend(stage, ways, labels);
    return least;
  }

  Stage StageOf(const Cut& cut, uint64_t pinned) const {
    return {.first = cut.first,
            .last = cut.last,
            .level = LevelOf(cut),
            .slices = cut.slices,
            .pinned = pinned};
  }

  static Spent Least(const Spent& a, const Spent& b) {
    return {std::min(a.cycles, b.cycles), std::min(a.energy_pj, b.energy_pj)};
  }

  // A bound: every node of the group may have all the room, pinned or not, whichever is better. Its
  // parts are those of a choice that is possible: the one that is given, or the bound's without the
  // largest weights.
  Spent RelaxedGroup(const Cut& cut, const Planner::Template& plan, const Room& room,
                     uint64_t can_pin, std::optional<uint64_t> given,
                     const std::vector<int>& labels) {
    Spent least;
    uint64_t wanted = 0;
    for (int i = cut.first; i <= cut.last; ++i) {
      const SlicedNode& sliced = plan.nodes[static_cast<size_t>(i - cut.first)];
      const Node& node = problem_.nodes[static_cast<size_t>(i)];
      if (node.layer < 0) {
        least += SlicedVector(i, cut, sliced);
        continue;
      }
      Spent best{kInfinity, kInfinity};
      for (const bool pinned : {false, true}) {
        if (pinned && !cut.Has(can_pin, i)) continue;
        Stage unused;
        std::vector<Way> ways = {{}};
        CombineSlices(i, SlicedKey(i, cut, pinned), sliced, room, unused, ways);
        Spent here{kInfinity, kInfinity};
        for (const Way& way : ways) here = Least(here, way.spent);
        if (pinned) here += PinCost(problem_.hierarchy, WeightWords(i), LevelOf(cut));
        if (pinned && ValueOf(here, options_.objective) < ValueOf(best, options_.objective)) {
          wanted |= uint64_t{1} << (i - cut.first);
        }
        best = Least(best, here);
      }
      least += best;
    }
    if (least.energy_pj == kInfinity || least.cycles == kInfinity) return least;
    if (given) wanted = *given;
    while (RoomBeside(cut, room, wanted)[static_cast<size_t>(cut.home)] < 0) {
      wanted &= ~LargestOf(cut, wanted);
    }
    known_->promised[cut.slices] = wanted;
    const Room left = RoomBeside(cut, room, wanted);
    Stage stage = StageOf(cut, wanted);
    for (int i = cut.first; i <= cut.last; ++i) {
      if (problem_.nodes[static_cast<size_t>(i)].layer < 0) continue;
      std::vector<Way> unused;
      CombineSlices(i, SlicedKey(i, cut, cut.Has(wanted, i)),
                    plan.nodes[static_cast<size_t>(i - cut.first)], left, stage, unused);
    }
    Extend(stage, std::vector<Way>{{.spent = least}}, labels);
    return least;
  }

  // ---- Adding up ----

  // Adds the slices of a node to all ways.
  void CombineSlices(int node, NodeKey key, const SlicedNode& sliced, const Room& room,
                     Stage& stage, std::vector<Way>& ways) {
    for (const auto& [rows, times] : sliced.times) {
      key.rows = rows;
      Combine(node, key, room, times, stage, ways);
    }
  }

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
  Planner::Known* known_ = nullptr;             // of the place that is looked at
  bool stopped_ = false;
};

Plan Planner::Best(Side side, double* bound) { return PlanSearch(*this, side).Run(bound); }

}  // namespace tessera::interlayer
