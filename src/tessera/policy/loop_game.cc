// The game of loop nests. First which level holds which tensor, then what is spread over units,
// then tiles, from the MACs outward, then the orders of loops, the innermost first.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include "tessera/policy/game.h"
#include "tessera/policy/loop_facts.h"
#include "tessera/policy/loop_nest.h"
#include "tessera/policy/maestro_game.h"

namespace tessera::policy {
namespace {

// Features are logarithms to base 2, scaled to about one.
class Row {
 public:
  explicit Row(std::vector<float>& out) : out_(out) {}
  void Add(double value) { out_.push_back(static_cast<float>(value)); }
  void AddLog(double value, double scale) { Add(std::log2(std::max(value, 1e-9)) / scale); }

 private:
  std::vector<float>& out_;
};

// The largest product of divisors of some loops that is at most a number, for all numbers up to a
// fan-out: what the units can still be filled with.
class Reach {
 public:
  static constexpr int64_t kMost = 512;

  Reach(const LoopNest& nest, int64_t fan) : fan_(std::min(fan, kMost)) {
    const size_t loops = nest.facts.loops.size();
    best_.assign(loops + 1, std::vector<int64_t>(static_cast<size_t>(fan_) + 1, 1));
    for (size_t d = loops; d-- > 0;) {
      std::vector<int64_t> divisors;
      for (int64_t f = 1; f <= std::min(fan_, nest.rest[d]); ++f) {
        if (nest.rest[d] % f == 0) divisors.push_back(f);
      }
      for (int64_t n = 1; n <= fan_; ++n) {
        for (const int64_t f : divisors) {
          if (f > n) break;
          int64_t& best = best_[d][static_cast<size_t>(n)];
          best = std::max(best, f * best_[d + 1][static_cast<size_t>(n / f)]);
        }
      }
    }
  }
  // With the loops from `first` on.
  double Of(size_t first, int64_t room) const {
    return static_cast<double>(
        best_[first][static_cast<size_t>(std::clamp<int64_t>(room, 1, fan_))]);
  }

 private:
  int64_t fan_;
  std::vector<std::vector<int64_t>> best_;
};

constexpr size_t kContext = 18;
constexpr FeatureCounts kFeatures = {kContext + 31, kContext + 42, kContext + 55, kContext + 40,
                                     kContext + 15};

class LoopEpisode final : public Episode {
 public:
  explicit LoopEpisode(const GameFacts& facts)
      : facts_(facts), space_(*facts.space), nest_(facts), point_(space_.size()) {
    if (space_.constrained()) {
      space_.Repair(point_);
      decided_.assign(space_.size(), false);
    }
  }

  bool Find(Turn& turn) override {
    while (phase_ != Phase::kDone) {
      choices_.clear();
      witnesses_.clear();
      switch (phase_) {
        case Phase::kKeep: ListKeeps(); break;
        case Phase::kSpread: ListSpreads(); break;
        case Phase::kTile: ListTiles(); break;
        case Phase::kOrder:
        case Phase::kSpatialOrder: ListOrders(); break;
        case Phase::kDone: break;
      }
      if (choices_.size() > 1) {
        turn.kind = Asked();
        turn.values = choices_.size();
        return true;
      }
      if (choices_.size() == 1) {
        Take(0);
      } else {
        Advance();
      }
    }
    return false;
  }

  void Describe(Turn& turn) override {
    turn.rows.clear();
    for (const Choice& choice : choices_) {
      turn.rows.insert(turn.rows.end(), facts_.context.begin(), facts_.context.end());
      Row row(turn.rows);
      switch (turn.kind) {
        case AgentKind::kKeep: DescribeKeep(choice, row); break;
        case AgentKind::kSpread: DescribeSpread(choice, row); break;
        case AgentKind::kTile: DescribeTile(choice, row); break;
        default: DescribeOrder(choice, row); break;
      }
    }
    TESSERA_CHECK(turn.rows.size() == turn.values * kFeatures[static_cast<size_t>(turn.kind)]);
  }

  void Take(size_t value) override {
    const Choice choice = choices_[value];
    if (!witnesses_.empty()) point_ = witnesses_[value];
    switch (phase_) {
      case Phase::kKeep: {
        const size_t position = Level().keep[at_];
        Set(position, choice.index);
        const auto bit = static_cast<uint8_t>(1u << at_);
        const bool kept = space_.decisions()[position].value(choice.index) == 0;
        uint8_t& keep = nest_.keep[level_];
        keep = static_cast<uint8_t>(kept ? keep | bit : keep & ~bit);
        break;
      }
      case Phase::kSpread: {
        const size_t position = Level().spatial[at_];
        Set(position, choice.index);
        const int64_t factor = space_.decisions()[position].value(choice.index);
        if (Level().axis[at_] != kNone && choice.axis >= 0) Set(Level().axis[at_], choice.axis);
        (choice.on_x ? used_x_ : used_y_) *= factor;
        if (!choice.on_x) nest_.on_y[level_] |= uint32_t{1} << at_;
        nest_.Grow(level_, at_, factor, /*parallel=*/true);
        break;
      }
      case Phase::kTile: {
        const size_t position = Level().temporal[at_];
        Set(position, choice.index);
        nest_.Grow(level_, at_, space_.decisions()[position].value(choice.index), false);
        break;
      }
      case Phase::kOrder:
      case Phase::kSpatialOrder: {
        placed_.push_back(static_cast<uint8_t>(choice.index));
        for (size_t t = 0; t < kTensors && phase_ == Phase::kOrder; ++t) {
          if (facts_.loops[static_cast<size_t>(choice.index)].relevant[t]) stays_[t] = false;
        }
        left_.erase(std::ranges::find(left_, static_cast<uint8_t>(choice.index)));
        if (!left_.empty()) return;  // The level's order goes on.
        FinishOrder();
        break;
      }
      case Phase::kDone: return;
    }
    Advance();
  }

  size_t Match(const Point& target) const override {
    for (size_t k = 0; k < choices_.size(); ++k) {
      if (Matches(choices_[k], target)) return k;
    }
    return choices_.size();
  }

  const Point& point() const override { return point_; }

  void Outline(std::vector<float>& out) const override {
    const NestEstimate nest = nest_.Estimate();
    Row row(out);
    const bool latency = facts_.context[0] > 0, energy = facts_.context[1] > 0,
               edp = facts_.context[2] > 0;
    const double cycles = std::log2(nest.cycles), pj = std::log2(nest.energy_per_mac);
    // Power is what is left: no exercise has it as its objective, but the estimate does.
    row.Add(latency ? cycles : energy ? pj : edp ? cycles + pj : pj - cycles);
    row.Add(cycles);
    row.Add(pj);
    for (const double value : nest.outer_per_mac) row.Add(value / nest.energy_per_mac);
    for (const double value : nest.inner_per_mac) row.Add(value / nest.energy_per_mac);
    row.AddLog(nest.busy / facts_.units, 4);
    row.Add(std::clamp(std::log2(nest.stall + 1e-3), -4.0, 2.0) / 4);
    for (size_t t = 0; t < kTensors; ++t) {
      row.Add(std::clamp(std::log2(nest.outer_per_mac[t] + 1e-4), -8.0, 8.0) / 8);
    }
    row.Add(nest.stall > 1 ? 1 : 0);
    out.insert(out.end(), facts_.context.begin(), facts_.context.end());
  }

 private:
  enum class Phase : uint8_t { kKeep, kSpread, kTile, kOrder, kSpatialOrder, kDone };

  // A value: its index in the decision, or the loop that comes next in an order.
  struct Choice {
    int32_t index = 0;
    int32_t axis = -1;  // index of the axis decision; -1: it makes no difference
    bool on_x = true;
  };

  const LevelFacts& Level() const { return facts_.levels[level_]; }

  AgentKind Asked() const {
    switch (phase_) {
      case Phase::kKeep: return AgentKind::kKeep;
      case Phase::kSpread: return AgentKind::kSpread;
      case Phase::kTile: return AgentKind::kTile;
      default: return AgentKind::kOrder;
    }
  }

  void Set(size_t position, int32_t index) {
    point_[position] = index;
    if (!decided_.empty()) decided_[position] = true;
  }

  // ---- What comes next

  void Advance() {
    const size_t loops = facts_.loops.size(), levels = facts_.levels.size();
    ++at_;
    switch (phase_) {
      case Phase::kKeep:
        if (at_ < kTensors) return;
        at_ = 0;
        if (++level_ < levels) return;
        StartSpread(0);
        return;
      case Phase::kSpread:
        if (at_ < loops) return;
        StartSpread(level_ + 1);
        return;
      case Phase::kTile:
        if (at_ < loops) return;
        at_ = 0;
        if (++level_ + 1 < levels) return;
        nest_.Finish();
        level_ = 0;
        StartOrder(Phase::kOrder);
        return;
      case Phase::kOrder: StartOrder(Phase::kSpatialOrder); return;
      case Phase::kSpatialOrder:
        if (++level_ == levels) {
          phase_ = Phase::kDone;
          return;
        }
        StartOrder(Phase::kOrder);
        return;
      case Phase::kDone: return;
    }
  }

  void StartSpread(size_t level) {
    phase_ = Phase::kSpread;
    at_ = 0;
    level_ = level;
    used_x_ = used_y_ = 1;
    while (level_ < facts_.levels.size() && !Level().HasFan()) ++level_;
    if (level_ == facts_.levels.size() || facts_.loops.empty()) {
      phase_ = facts_.levels.size() > 1 && !facts_.loops.empty() ? Phase::kTile : Phase::kOrder;
      level_ = 0;
      if (phase_ == Phase::kTile) return;
      nest_.Finish();
      StartOrder(Phase::kOrder);
      return;
    }
    reach_x_.reset();
    reach_y_.reset();
  }

  void StartOrder(Phase phase) {
    phase_ = phase;
    at_ = 0;
    placed_.clear();
    left_.clear();
    const auto& factors = phase == Phase::kOrder ? nest_.temporal : nest_.spatial;
    for (size_t d = 0; d < facts_.loops.size(); ++d) {
      if (factors[level_][d] > 1) left_.push_back(static_cast<uint8_t>(d));
    }
    if (phase == Phase::kOrder) {
      for (size_t t = 0; t < kTensors; ++t) {
        if (level_ == 0) stays_[t] = false;  // A MAC has no register.
        if (level_ > 0 && nest_.Keeps(level_ - 1, t)) stays_[t] = true;
      }
      stayed_before_ = stays_;
      weighed_ = false;
    }
    if (left_.empty()) FinishOrder();
  }

  // Loops of one step go outside, in the layer's order.
  void FinishOrder() {
    const size_t position = phase_ == Phase::kOrder ? Level().order : Level().spatial_order;
    (phase_ == Phase::kOrder ? nest_.order : nest_.spatial_order)[level_] = placed_;
    if (position == kNone || !decided_.empty()) return SetConstrainedOrder(position);
    Permutation order;
    for (size_t d = 0; d < facts_.loops.size(); ++d) {
      if (std::ranges::find(placed_, d) == placed_.end()) {
        order.items[order.size++] = static_cast<uint8_t>(d);
      }
    }
    for (auto d = placed_.rbegin(); d != placed_.rend(); ++d) order.items[order.size++] = *d;
    Set(position, space_.decisions()[position].IndexOfOrder(order));
  }

  // The first allowed order in which the loops that were placed come as they were.
  void SetConstrainedOrder(size_t position) {
    if (position == kNone) return;
    const Decision& decision = space_.decisions()[position];
    for (int32_t i = 0; i < decision.size(); ++i) {
      if (Placed(decision.OrderAt(i), placed_)) return Set(position, i);
    }
  }

  // Whether an order, of those loops that loop, has `inside` as its innermost ones.
  bool Placed(const Permutation& order, const std::vector<uint8_t>& inside) const {
    size_t next = 0;
    for (size_t k = order.size; k-- > 0 && next < inside.size();) {
      const uint8_t item = order.items[k];
      if (item == inside[next]) {
        ++next;
      } else if (std::ranges::find(left_, item) != left_.end() ||
                 std::ranges::find(inside, item) != inside.end()) {
        return false;
      }
    }
    return next == inside.size();
  }

  // ---- Values

  // Whether a point with these decisions and all earlier ones exists; only where constraints make
  // that a question. Repair is asked for a witness and never changes what was decided.
  bool HasWitness(std::initializer_list<std::pair<size_t, int32_t>> values) {
    Point attempt = point_;
    for (const auto& [position, index] : values) attempt[position] = index;
    if (!space_.Check(attempt)) {
      space_.Repair(attempt);
      for (size_t i = 0; i < decided_.size(); ++i) {
        if (decided_[i] && attempt[i] != point_[i]) return false;
      }
      for (const auto& [position, index] : values) {
        if (attempt[position] != index) return false;
      }
      if (!space_.Check(attempt)) return false;
    }
    witnesses_.push_back(attempt);
    return true;
  }

  void ListKeeps() {
    const size_t position = Level().keep[at_];
    if (position == kNone) return;
    const Decision& decision = space_.decisions()[position];
    for (int32_t i = 0; i < decision.size(); ++i) {
      if (!decided_.empty()) {
        if (HasWitness({{position, i}})) choices_.push_back({.index = i});
        continue;
      }
      // A word of each tensor must have room.
      double units = decision.value(i) == 0 ? Level().units[at_] : 0;
      for (size_t t = 0; t < kTensors; ++t) {
        const bool open = t > at_ && Level().keep[t] != kNone;
        if (t != at_ && !open && nest_.Keeps(level_, t)) units += Level().units[t];
      }
      if (Level().capacity < 0 || units <= static_cast<double>(Level().capacity)) {
        choices_.push_back({.index = i});
      }
    }
  }

  void ListSpreads() {
    const size_t position = Level().spatial[at_];
    if (position == kNone) return;
    const Decision& decision = space_.decisions()[position];
    const size_t axis = Level().axis[at_];
    for (int32_t i = 0; i < decision.size(); ++i) {
      const int64_t factor = decision.value(i);
      if (nest_.rest[at_] % factor != 0) continue;
      if (factor == 1) {
        if (decided_.empty() || HasWitness({{position, i}})) choices_.push_back({.index = i});
        continue;
      }
      if (decided_.empty() && !nest_.Fits(level_, at_, factor)) continue;
      for (const bool on_x : {true, false}) {
        const int64_t fan = on_x ? Level().fan_x : Level().fan_y;
        if ((on_x ? used_x_ : used_y_) * factor > fan) continue;
        if (axis == kNone) {
          if (on_x != (Level().fan_x > 1)) continue;
          if (decided_.empty() || HasWitness({{position, i}})) {
            choices_.push_back({.index = i, .on_x = on_x});
          }
          continue;
        }
        const int32_t way = space_.decisions()[axis].Find(on_x ? 0 : 1);
        if (way < 0) continue;
        if (decided_.empty() || HasWitness({{position, i}, {axis, way}})) {
          choices_.push_back({.index = i, .axis = way, .on_x = on_x});
        }
      }
    }
  }

  void ListTiles() {
    const size_t position = Level().temporal[at_];
    if (position == kNone) return;
    const Decision& decision = space_.decisions()[position];
    for (int32_t i = 0; i < decision.size(); ++i) {
      const int64_t factor = decision.value(i);
      if (nest_.rest[at_] % factor != 0) continue;
      const bool legal =
          decided_.empty() ? nest_.Fits(level_, at_, factor) : HasWitness({{position, i}});
      if (legal) choices_.push_back({.index = i});
    }
  }

  void ListOrders() {
    const size_t position = phase_ == Phase::kOrder ? Level().order : Level().spatial_order;
    if (position == kNone) {
      // Without a decision loops are as the layer names them, the first outermost.
      if (!left_.empty()) choices_.push_back({.index = left_.back()});
      return;
    }
    const Decision& decision = space_.decisions()[position];
    const bool all = decision.size() == Factorial(facts_.loops.size());
    for (const uint8_t d : left_) {
      if (!all) {
        std::vector<uint8_t> inside = placed_;
        inside.push_back(d);
        bool allowed = false;
        for (int32_t i = 0; i < decision.size() && !allowed; ++i) {
          allowed = Placed(decision.OrderAt(i), inside);
        }
        if (!allowed) continue;
      }
      choices_.push_back({.index = d});
    }
  }

  bool Matches(const Choice& choice, const Point& target) const {
    switch (phase_) {
      case Phase::kKeep: return target[Level().keep[at_]] == choice.index;
      case Phase::kSpread: {
        if (target[Level().spatial[at_]] != choice.index) return false;
        return choice.axis < 0 || target[Level().axis[at_]] == choice.axis;
      }
      case Phase::kTile: return target[Level().temporal[at_]] == choice.index;
      case Phase::kOrder:
      case Phase::kSpatialOrder: break;
      case Phase::kDone: return false;
    }
    const size_t position = phase_ == Phase::kOrder ? Level().order : Level().spatial_order;
    const Permutation order = space_.decisions()[position].OrderAt(target[position]);
    for (size_t k = order.size; k-- > 0;) {
      if (std::ranges::find(left_, order.items[k]) == left_.end()) continue;
      return order.items[k] == choice.index;
    }
    return false;
  }

  // ---- Features

  // 10 numbers.
  void DescribeLevel(Row& row) const {
    const LevelFacts& level = Level();
    row.Add(level_ == 0 ? 1 : 0);
    row.Add(level_ == facts_.outermost() ? 1 : 0);
    row.Add(static_cast<double>(facts_.outermost() - level_) / 4);
    row.Add(level.capacity < 0 ? 1.5 : std::log2(level.words + 1) / 20);
    row.AddLog(level.instances, 16);
    row.AddLog(static_cast<double>(level.fan_x * level.fan_y), 10);
    row.AddLog(level.read_pj / std::max(facts_.mac_pj, 1e-3) + 1e-2, 8);
    row.Add(level.read_words > 0 ? std::log2(level.read_words / facts_.units) / 10 : 1);
    row.AddLog(nest_.BusyUnits() / facts_.units, 6);
    row.AddLog(level.hop_pj / std::max(facts_.mac_pj, 1e-3) + 1e-2, 8);
  }

  // 7 numbers.
  void DescribeLoop(size_t d, Row& row) const {
    const LoopFacts& loop = facts_.loops[d];
    for (const bool relevant : loop.relevant) row.Add(relevant ? 1 : 0);
    row.Add(loop.window ? 1 : 0);
    row.Add(loop.slides ? 1 : 0);
    row.AddLog(static_cast<double>(loop.bound), 10);
    row.AddLog(static_cast<double>(nest_.rest[d]), 10);
  }

  void DescribeKeep(const Choice& choice, Row& row) const {
    const bool kept = space_.decisions()[Level().keep[at_]].value(choice.index) == 0;
    row.Add(kept ? 1 : 0);
    DescribeLevel(row);
    for (size_t t = 0; t < kTensors; ++t) row.Add(t == at_ ? 1 : 0);
    // Who else is held here and by whom the tensor is held further in; and may be further out.
    double below = 0, next_pj = facts_.levels.back().read_pj;
    for (size_t i = 0; i < level_; ++i) below += nest_.Keeps(i, at_) ? 1 : 0;
    for (size_t i = facts_.outermost(); i-- > level_ + 1;) {
      if (nest_.Keeps(i, at_) || facts_.levels[i].keep[at_] != kNone) {
        next_pj = facts_.levels[i].read_pj;
      }
    }
    row.Add(below / 4);
    for (size_t t = 0; t < kTensors; ++t) row.Add(nest_.Keeps(level_, t) ? 1 : 0);
    for (size_t t = 0; t < kTensors; ++t) row.Add(t < at_ ? 1 : 0);
    row.AddLog(next_pj / (Level().read_pj + 1e-3), 8);
    const double room = Level().capacity < 0 ? 1e9 : Level().words + 1;
    row.AddLog(facts_.total_words[at_] / room, 16);
    row.AddLog((facts_.total_words[0] + facts_.total_words[1] + facts_.total_words[2]) / room, 16);
    row.AddLog(facts_.macs / facts_.total_words[at_], 16);
    // Hops between here and the units.
    double hop_pj = 0;
    for (size_t i = 0; i <= level_; ++i) hop_pj += facts_.levels[i].hop_pj;
    const double hops = std::log2(hop_pj / std::max(facts_.mac_pj, 1e-3) + 1e-2) / 8;
    row.Add(hops);
    // Where it does not matter which: 1 and 0 with a sign for the value.
    const double sign = kept ? 1 : -1;
    row.Add(sign * hops);
    row.Add(sign * std::log2(facts_.total_words[at_] / room) / 16);
    row.Add(sign * std::log2(next_pj / (Level().read_pj + 1e-3) + 1e-3) / 8);
    row.Add(sign * std::log2(facts_.macs / facts_.total_words[at_]) / 16);
    row.Add(sign * static_cast<double>(facts_.outermost() - level_) / 4);
  }

  void DescribeSpread(const Choice& choice, Row& row) {
    const LevelFacts& level = Level();
    const int64_t factor = space_.decisions()[level.spatial[at_]].value(choice.index);
    DescribeLevel(row);
    DescribeLoop(at_, row);
    row.AddLog(static_cast<double>(factor), 8);
    row.Add(factor == 1 ? 1 : 0);
    row.Add(factor == nest_.rest[at_] ? 1 : 0);
    row.AddLog(static_cast<double>(nest_.rest[at_] / factor), 10);
    const int64_t x = used_x_ * (choice.on_x ? factor : 1),
                  y = used_y_ * (choice.on_x ? 1 : factor);
    row.Add(choice.on_x ? 1 : 0);
    row.AddLog(static_cast<double>(x) / static_cast<double>(level.fan_x), 8);
    row.AddLog(static_cast<double>(y) / static_cast<double>(level.fan_y), 8);
    // How full the units can still get. Made when first asked for: loops that come later are still
    // as they were when the level's first one came.
    if (!reach_x_) {
      reach_x_.emplace(nest_, level.fan_x);
      reach_y_.emplace(nest_, level.fan_y);
    }
    const double reach_x = static_cast<double>(x) * reach_x_->Of(at_ + 1, level.fan_x / x);
    const double reach_y = static_cast<double>(y) * reach_y_->Of(at_ + 1, level.fan_y / y);
    row.AddLog(reach_x / static_cast<double>(level.fan_x), 2);
    row.AddLog(reach_y / static_cast<double>(level.fan_y), 2);
    double copies[kTensors] = {};
    for (size_t d = 0; d < facts_.loops.size(); ++d) {
      double spread = static_cast<double>(nest_.spatial[level_][d]);
      if (d == at_) spread *= static_cast<double>(factor);
      for (size_t t = 0; t < kTensors; ++t) {
        if (!facts_.loops[d].relevant[t]) copies[t] += std::log2(spread);
      }
    }
    for (const double copy : copies) row.Add(copy / 8);
    for (size_t t = 0; t < kTensors; ++t) row.Add(nest_.Keeps(level_, t) ? 1 : 0);
    double later = 0;
    for (size_t d = at_ + 1; d < facts_.loops.size(); ++d) {
      later += std::log2(static_cast<double>(nest_.rest[d]));
    }
    row.Add(later / 20);
    // What the tiles of the nearest memories must hold at least.
    for (size_t i = level_, shown = 0; shown < 3; ++i, ++shown) {
      const bool limited = i < facts_.outermost() && facts_.levels[i].capacity > 0;
      row.Add(limited ? std::log2(nest_.Held(i, at_, factor) /
                                      static_cast<double>(facts_.levels[i].capacity) +
                                  1e-6) /
                            10
                      : -2);
    }
    // As if it were decided.
    const uint32_t on_y = nest_.on_y[level_];
    if (!choice.on_x) nest_.on_y[level_] |= uint32_t{1} << at_;
    nest_.Grow(level_, at_, factor, /*parallel=*/true);
    const Fetches fetches = nest_.FetchesInto(level_, at_, 1);
    row.AddLog(fetches.energy_per_mac + 1e-3, 8);
    row.AddLog(fetches.stall + 1e-3, 8);
    row.AddLog(static_cast<double>(nest_.spatial[0][at_]), 8);
    for (size_t t = 0; t < kTensors; ++t) {
      // Of a word, for each of the units that get it.
      const double hops = nest_.HopPj(t, level_) / nest_.Multicast(t, level_, level_);
      row.AddLog(hops / std::max(facts_.mac_pj, 1e-3) + 1e-2, 8);
    }
    nest_.Shrink(level_, at_, factor);
    nest_.on_y[level_] = on_y;
  }

  void DescribeTile(const Choice& choice, Row& row) const {
    const LevelFacts& level = Level();
    const int64_t factor = space_.decisions()[level.temporal[at_]].value(choice.index);
    DescribeLevel(row);
    DescribeLoop(at_, row);
    row.AddLog(static_cast<double>(factor), 8);
    row.Add(factor == 1 ? 1 : 0);
    row.Add(factor == nest_.rest[at_] ? 1 : 0);
    const double before = static_cast<double>(nest_.extent[level_][at_]);
    const double after = before * static_cast<double>(factor);
    row.AddLog(before, 10);
    row.AddLog(after / static_cast<double>(facts_.loops[at_].bound), 10);
    row.AddLog(static_cast<double>(nest_.rest[at_] / factor), 10);
    const Fetches fetches = nest_.FetchesInto(level_, at_, factor);
    double held = 0;
    for (size_t t = 0; t < kTensors; ++t) {
      const bool kept = nest_.Keeps(level_, t);
      row.Add(kept ? 1 : 0);
      row.AddLog(fetches.words[t], 20);
      row.AddLog(fetches.words[t] / facts_.total_words[t], 20);
      row.Add(kept ? std::log2(fetches.per_mac[t] + 1e-4) / 8 : 0);
      double reuse = 0;  // that orders can still give
      for (size_t d = 0; d < facts_.loops.size(); ++d) {
        if (facts_.loops[d].relevant[t]) continue;
        reuse += std::log2(static_cast<double>(nest_.rest[d] / (d == at_ ? factor : 1)));
      }
      row.Add(reuse / 16);
      const size_t above = nest_.Above(t, level_);
      row.AddLog(facts_.levels[above].read_pj / std::max(facts_.mac_pj, 1e-3) + 1e-2, 8);
      if (kept) held += fetches.words[t];
    }
    row.AddLog(fetches.energy_per_mac + 1e-4, 8);
    row.AddLog(fetches.stall + 1e-4, 8);
    row.Add(std::max(0.0, std::log2(fetches.stall + 1e-4)) / 4);
    row.Add(level.capacity > 0 ? std::log2(held / static_cast<double>(level.capacity) + 1e-6) / 10
                               : -2);
    // The next memory outward, which must hold this tile, too.
    double outer = -2;
    for (size_t j = level_ + 1; j < facts_.outermost(); ++j) {
      if (facts_.levels[j].capacity <= 0) continue;
      outer =
          std::log2(nest_.Held(j, at_, factor) / static_cast<double>(facts_.levels[j].capacity) +
                    1e-6) /
          10;
      break;
    }
    row.Add(outer);
    double later[kTensors] = {}, all = 0;
    for (size_t d = at_ + 1; d < facts_.loops.size(); ++d) {
      const double steps = std::log2(static_cast<double>(nest_.rest[d]));
      all += steps;
      for (size_t t = 0; t < kTensors; ++t) later[t] += facts_.loops[d].relevant[t] ? steps : 0;
    }
    for (const double value : later) row.Add(value / 16);
    row.Add(all / 20);
    // Units above this level: spread there, words of a tensor are fetched once for several tiles.
    for (size_t t = 0; t < kTensors; ++t) {
      row.AddLog(nest_.Multicast(t, level_ + 1, facts_.outermost()), 8);
    }
    row.AddLog(nest_.Multicast(0, level_, level_), 8);
    row.AddLog(nest_.Multicast(2, level_, level_), 8);
  }

  // What the tile inside a level's loops costs if it is fetched anew at every step.
  void FillWeights() {
    weighed_ = true;
    Extents inside = nest_.extent[level_];
    double trips = 1;
    for (size_t d = 0; d < facts_.loops.size(); ++d) {
      inside[d] /= nest_.temporal[level_][d];
      trips *= static_cast<double>(facts_.loops[d].bound) / static_cast<double>(inside[d]);
    }
    for (size_t t = 0; t < kTensors; ++t) {
      const size_t source = nest_.Keeps(level_, t) ? level_ : nest_.Above(t, level_);
      const LevelFacts& from = facts_.levels[source];
      const double words = trips * nest_.Words(t, inside) * from.element_words[t];
      words_per_mac_[t] = words / facts_.macs;
      const double pj = t == 2 ? from.read_pj + from.update_pj : from.read_pj;
      weight_[t] = words * pj / facts_.macs;
      const double rate = t == 2 ? from.write_words : from.read_words;
      stall_[t] = rate > 0 ? words / rate / (facts_.macs / nest_.BusyUnits()) : 0;
    }
  }

  // Of the words of the tile inside, if a parallel loop is the next one outward.
  double HopsPerMac(uint8_t next) {
    const std::vector<uint8_t> before = nest_.spatial_order[level_];
    std::vector<uint8_t>& order = nest_.spatial_order[level_];
    order = placed_;
    order.push_back(next);
    for (const uint8_t d : left_) {
      if (d != next) order.push_back(d);
    }
    double pj = 0;
    for (size_t t = 0; t < kTensors; ++t) {
      pj += words_per_mac_[t] * nest_.HopPj(t, level_) / nest_.Multicast(t, level_, level_);
    }
    order = before;
    return pj;
  }

  void DescribeOrder(const Choice& choice, Row& row) {
    if (!weighed_) FillWeights();
    const size_t d = static_cast<size_t>(choice.index);
    const bool temporal = phase_ == Phase::kOrder;
    const auto& factors = temporal ? nest_.temporal[level_] : nest_.spatial[level_];
    DescribeLevel(row);
    DescribeLoop(d, row);
    row.Add(temporal ? 1 : 0);
    row.AddLog(static_cast<double>(factors[d]), 8);
    row.Add(static_cast<double>(left_.size()) / 8);
    row.Add(placed_.empty() ? 1 : 0);
    double best = 0, worst = 0, stall = 0;
    for (size_t t = 0; t < kTensors; ++t) {
      // What stays if this loop comes next, and what loops may still go inside a tensor's changes.
      const bool stays = stays_[t] && !facts_.loops[d].relevant[t];
      double saved = 0, could = 0;
      for (const uint8_t other : placed_) {
        if (StaysAt(t, other)) saved += std::log2(static_cast<double>(factors[other]));
      }
      for (const uint8_t other : left_) {
        if (facts_.loops[other].relevant[t]) continue;
        could += std::log2(static_cast<double>(factors[other]));
      }
      row.Add(stays_[t] ? 1 : 0);
      row.Add(stays ? 1 : 0);
      row.Add((stays ? could : 0) / 8);
      row.AddLog(weight_[t] * std::exp2(-saved) + 1e-4, 8);
      best += weight_[t] * std::exp2(-saved - (stays ? could : 0));
      worst +=
          weight_[t] * std::exp2(-saved - (stays ? std::log2(static_cast<double>(factors[d])) : 0));
      stall = std::max(stall, stall_[t] * std::exp2(-saved - (stays ? could : 0)));
    }
    row.AddLog(best + 1e-4, 4);
    row.AddLog(worst + 1e-4, 4);
    row.AddLog(stall + 1e-3, 8);
    row.Add(std::max(0.0, std::log2(stall + 1e-3)) / 4);
    double outside = 0;
    for (const uint8_t other : left_) outside += std::log2(static_cast<double>(factors[other]));
    row.Add(outside / 16);
    row.Add(static_cast<double>(level_) / 6);
    const double hops = temporal ? 0 : HopsPerMac(static_cast<uint8_t>(d));
    row.AddLog(hops / std::max(facts_.mac_pj, 1e-3) + 1e-3, 8);
  }

  // Whether a tensor's tile stayed through a loop that is placed at this level.
  bool StaysAt(size_t tensor, uint8_t loop) const {
    if (!stayed_before_[tensor]) return false;
    for (const uint8_t d : placed_) {
      if (facts_.loops[d].relevant[tensor]) return false;
      if (d == loop) return true;
    }
    return false;
  }

  const GameFacts& facts_;
  const LoopSpace& space_;
  LoopNest nest_;
  Point point_;  // what is decided; with constraints a legal point that agrees with it
  std::vector<bool> decided_ = {};  // with constraints: by decision
  Phase phase_ = Phase::kKeep;
  size_t level_ = 0, at_ = 0;  // at_: tensor or loop
  int64_t used_x_ = 1, used_y_ = 1;
  std::optional<Reach> reach_x_, reach_y_;
  std::vector<uint8_t> placed_, left_;  // of an order
  std::array<bool, kTensors> stays_ = {true, true, true}, stayed_before_ = {true, true, true};
  bool weighed_ = false;  // the next three are those of this level
  std::array<double, kTensors> weight_ = {}, stall_ = {}, words_per_mac_ = {};
  std::vector<Choice> choices_;
  std::vector<Point> witnesses_;
};

class LoopGame final : public Game {
 public:
  explicit LoopGame(GameFacts facts) : facts_(std::move(facts)) {}
  std::unique_ptr<Episode> Begin() const override { return std::make_unique<LoopEpisode>(facts_); }
  const FeatureCounts& features() const override { return kFeatures; }
  // Seven percent more, a twentieth as likely: the estimate is within two percent nearly always.
  float trust() const override { return 30; }
  bool near() const override { return true; }

 private:
  const GameFacts facts_;
};

}  // namespace

std::unique_ptr<Game> MakeGame(const MappingProblem& problem) {
  if (problem.loops() == nullptr) return MakeMaestroGame(problem);
  GameFacts facts;
  if (!FillFacts(problem, facts)) return nullptr;
  return std::make_unique<LoopGame>(std::move(facts));
}

}  // namespace tessera::policy
