// The game of dataflows. First how many PEs form a cluster and what is spread over clusters and
// PEs, then tiles, the outer level first, then the orders of loops, the outermost first.
#include "tessera/policy/maestro_game.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/space.h"
#include "tessera/space/nest_features.h"

namespace tessera::policy {
namespace {

constexpr size_t kNothing = static_cast<size_t>(-1);
constexpr size_t kTensorCount = 3;  // weights, inputs, outputs
constexpr size_t kLevels = 2;       // L2, L1

struct TensorNames {
  std::string_view dims;
};
constexpr std::array<TensorNames, kTensorCount> kConv = {{{"KCRSG"}, {"NCYXG"}, {"NKYXG"}}};
constexpr std::array<TensorNames, kTensorCount> kProduct = {{{"MKH"}, {"KNH"}, {"MNH"}}};

// What a game is about, as numbers.
struct Facts {
  const MappingSpace* space = nullptr;
  std::vector<std::string> dims = {};
  std::vector<double> bounds = {};
  std::vector<std::array<bool, kTensorCount>> relevant = {};
  std::vector<size_t> window = {};  // of Y: R, of X: S
  std::array<std::vector<size_t>, kLevels> tile = {};
  std::array<size_t, kLevels> order = {}, parallel = {};
  size_t cluster = kNothing;
  double pes = 1, noc = 1;
  std::shared_ptr<const NestFeatures> nest = {};
  std::array<double, kLevels> capacity = {};  // L2, L1
  std::vector<float> context = {};
};

double Log2(double value) { return std::log2(std::max(value, 1e-9)); }

bool ReadSpace(const MappingProblem& problem, Facts& facts) {
  const MappingSpace& space = problem.space();
  facts.space = &space;
  facts.order.fill(kNothing);
  facts.parallel.fill(kNothing);
  for (size_t i = 0; i < space.size(); ++i) {
    const Decision& decision = space.decisions()[i];
    const auto level = static_cast<size_t>(std::clamp(decision.level(), 0, 1));
    if (decision.role() == DecisionRole::kTile && level == 0) {
      facts.dims.push_back(decision.dimension());
      facts.bounds.push_back(static_cast<double>(decision.value(decision.size() - 1)));
    }
    if (decision.role() == DecisionRole::kTile) facts.tile[level].push_back(i);
    if (decision.role() == DecisionRole::kOrder) facts.order[level] = i;
    if (decision.role() == DecisionRole::kParallel) facts.parallel[level] = i;
    if (decision.name() == "cluster") facts.cluster = i;
  }
  if (facts.dims.empty() || facts.cluster == kNothing || facts.order[0] == kNothing ||
      facts.order[1] == kNothing || facts.tile[0].size() != facts.tile[1].size()) {
    return false;
  }
  const bool product = std::ranges::find(facts.dims, "M") != facts.dims.end();
  const bool depthwise = !product && std::ranges::find(facts.dims, "K") == facts.dims.end();
  for (const std::string& dim : facts.dims) {
    std::array<bool, kTensorCount>& relevant = facts.relevant.emplace_back();
    for (size_t t = 0; t < kTensorCount; ++t) {
      relevant[t] = (product ? kProduct : kConv)[t].dims.find(dim) != std::string_view::npos ||
                    (depthwise && dim == "C");
    }
    const std::string_view partner = dim == "Y" ? "R" : dim == "X" ? "S" : "";
    const auto at = std::ranges::find(facts.dims, partner);
    facts.window.push_back(partner.empty() || at == facts.dims.end()
                               ? kNothing
                               : static_cast<size_t>(at - facts.dims.begin()));
  }
  return true;
}

void FillContext(const MappingProblem& problem, Facts& facts) {
  const PeArray& array = *problem.array();
  facts.pes = static_cast<double>(array.num_pes);
  facts.noc = static_cast<double>(array.noc_elements_per_cycle);
  facts.nest = std::make_shared<const NestFeatures>(problem.space());
  facts.capacity = {static_cast<double>(array.l2_elements), static_cast<double>(array.l1_elements)};
  const auto add = [&](double value) { facts.context.push_back(static_cast<float>(value)); };
  for (const Objective objective : {Objective::kLatency, Objective::kEnergy, Objective::kEdp}) {
    add(problem.objective() == objective ? 1 : 0);
  }
  double macs = 1;
  std::array<double, kTensorCount> words = {1, 1, 1};
  for (size_t d = 0; d < facts.dims.size(); ++d) {
    macs *= facts.bounds[d];
    for (size_t t = 0; t < kTensorCount; ++t)
      words[t] *= facts.relevant[d][t] ? facts.bounds[d] : 1;
  }
  add(Log2(macs) / 32);
  for (const double count : words) add(Log2(count) / 24);
  add(Log2(facts.pes) / 12);
  for (const double capacity : facts.capacity) add(Log2(capacity) / 24);
  add(Log2(static_cast<double>(array.noc_elements_per_cycle)) / 24);
  add(Log2(static_cast<double>(array.offchip_elements_per_cycle)) / 24);
  add(static_cast<double>(facts.dims.size()) / 8);
}

constexpr size_t kShared = 13, kLoopNumbers = 8;
constexpr FeatureCounts kCounts = {1, kShared + kLoopNumbers + 12, kShared + kLoopNumbers + 26,
                                   kShared + kLoopNumbers + 17, kShared + 3 + 2 * 19 + 4};

// In the estimate that drafts are ranked by: the price of a doubling beyond what fits, in doublings
// of the cost.
constexpr double kTooLarge = 4;

// The numbers of NestFeatures by their names.
class NestColumns {
 public:
  explicit NestColumns(const std::vector<double>& numbers) : numbers_(numbers) {}
  double units(size_t level) const { return At(level, 0); }
  double idle(size_t level) const { return At(level, 1); }
  double inside(size_t level) const { return At(level, 2); }
  double uneven(size_t level) const { return At(level, 3); }
  double padding(size_t level) const { return At(level, 4); }
  double words(size_t level) const { return At(level, 5); }
  double fetched(size_t level) const { return At(level, 6); }
  double streamed(size_t level) const { return At(level, 7); }
  // Of a tensor: 0 the size of its tile, 1 words fetched into it, 2 words streamed.
  double tile(size_t level, size_t tensor, size_t which) const {
    return At(level, 8 + 3 * tensor + which);
  }

 private:
  double At(size_t level, size_t column) const {
    return numbers_[level * (8 + 3 * kTensorCount) + column];
  }
  const std::vector<double>& numbers_;
};

class MaestroEpisode final : public Episode {
 public:
  explicit MaestroEpisode(const Facts& facts)
      : facts_(facts), space_(*facts.space), point_(space_.size()), decided_(space_.size(), false) {
    space_.Repair(point_);
    tiles_[0] = tiles_[1] = facts.bounds;
    Plan();
  }

  bool Find(Turn& turn) override {
    while (at_ < plan_.size()) {
      choices_.clear();
      witnesses_.clear();
      const Ask& ask = plan_[at_];
      if (ask.kind == AgentKind::kOrder) {
        ListOrder(ask);
      } else {
        ListValues(ask);
      }
      if (choices_.size() > 1) {
        turn.kind = ask.kind;
        turn.values = choices_.size();
        return true;
      }
      Take(0);
    }
    return false;
  }

  void Describe(Turn& turn) override {
    const Ask& ask = plan_[at_];
    turn.rows.clear();
    turn.priors.clear();
    for (const int32_t choice : choices_) {
      turn.rows.insert(turn.rows.end(), facts_.context.begin(), facts_.context.end());
      const auto add = [&](double value) { turn.rows.push_back(static_cast<float>(value)); };
      switch (ask.kind) {
        case AgentKind::kTile: DescribeTile(ask, choice, add); break;
        case AgentKind::kOrder: DescribeOrder(ask, choice, add); break;
        default: DescribeSpread(ask, choice, add); break;
      }
    }
    TESSERA_CHECK(turn.rows.size() == turn.values * kCounts[static_cast<size_t>(turn.kind)]);
  }

  void Take(size_t value) override {
    const Ask& ask = plan_[at_];
    const int32_t choice = choices_[value];
    if (ask.kind == AgentKind::kOrder) {
      placed_.push_back(static_cast<uint8_t>(choice));
      std::erase(left_, static_cast<uint8_t>(choice));
      if (!left_.empty()) return;
      Permutation order;
      for (const uint8_t item : placed_) order.items[order.size++] = item;
      point_[ask.decision] = space_.decisions()[ask.decision].IndexOfOrder(order);
    } else {
      point_ = witnesses_[value];
      const Decision& decision = space_.decisions()[ask.decision];
      if (ask.kind == AgentKind::kTile) {
        tiles_[ask.level][ask.dim] = static_cast<double>(decision.value(choice));
        if (ask.level == 0) tiles_[1][ask.dim] = std::min(tiles_[1][ask.dim], tiles_[0][ask.dim]);
      } else if (ask.decision == facts_.cluster) {
        cluster_ = static_cast<double>(decision.value(choice));
      } else {
        parallel_[ask.level] = DimOf(decision.Label(choice));
      }
    }
    decided_[ask.decision] = true;
    ++at_;
    placed_.clear();
    left_.clear();
    if (at_ < plan_.size() && plan_[at_].kind == AgentKind::kOrder) {
      for (size_t d = 0; d < facts_.dims.size(); ++d) left_.push_back(static_cast<uint8_t>(d));
    }
  }

  size_t Match(const Point& target) const override {
    const Ask& ask = plan_[at_];
    int32_t wanted = target[ask.decision];
    if (ask.kind == AgentKind::kOrder) {
      const Permutation order = space_.decisions()[ask.decision].OrderAt(target[ask.decision]);
      wanted = order.items[placed_.size()];
    }
    return static_cast<size_t>(std::ranges::find(choices_, wanted) - choices_.begin());
  }

  const Point& point() const override { return point_; }

  // What the mapping amounts to: busy units, words that stream into tiles and what tiles hold. The
  // first three numbers are the estimate that drafts are ranked by: cycles of the busiest of units
  // and networks, words that leave L2, and their product; what does not fit costs more.
  void Outline(std::vector<float>& row) const override {
    const auto add = [&](double value) { row.push_back(static_cast<float>(value)); };
    const NestFeatures& nest = *facts_.nest;
    std::vector<double> numbers(nest.size());
    nest.Encode(point_, numbers);
    const NestColumns columns(numbers);
    double macs = 0;
    for (const double bound : facts_.bounds) macs += Log2(bound);
    const double busy = std::min(numbers.back(), Log2(facts_.pes));
    const double words = columns.streamed(0);
    const double cycles = std::max(macs - busy, words - Log2(facts_.noc));
    const bool latency = facts_.context[0] > 0, energy = facts_.context[1] > 0;
    const std::array<double, kLevels> held = {columns.words(0), numbers[nest.size() - 2]};
    double excess = 0;
    for (size_t level = 0; level < kLevels; ++level) {
      excess += std::max(0.0, 1 + held[level] - Log2(facts_.capacity[level]));  // held twice
    }
    add((latency ? cycles : energy ? words : cycles + words) + kTooLarge * excess);
    add(cycles);
    add(words);
    for (size_t level = 0; level < kLevels; ++level) {
      const double capacity = Log2(facts_.capacity[level]);
      add(columns.units(level) / 8);
      add(columns.idle(level));
      add(columns.inside(level));
      add(columns.uneven(level));
      add(columns.padding(level));
      add((held[level] - capacity) / 8);
      add(1 + held[level] > capacity ? 1 : 0);
      add(held[level] > capacity ? 1 : 0);
      add((columns.fetched(level) - macs) / 8);
      add((columns.streamed(level) - macs) / 8);
      for (size_t t = 0; t < kTensorCount; ++t) {
        add((columns.tile(level, t, 0) - capacity) / 8);
        add((columns.tile(level, t, 1) - macs) / 8);
        add((columns.tile(level, t, 2) - macs) / 8);
      }
    }
    add((busy - Log2(facts_.pes)) / 4);
    add((macs - busy - words + Log2(facts_.noc)) / 8);  // which of the two takes longer
    add(Log2(cluster_) / 8);
    add(parallel_[0] == parallel_[1] ? 1 : 0);
    row.insert(row.end(), facts_.context.begin(), facts_.context.end());
  }

 private:
  // A decision and who makes it.
  struct Ask {
    AgentKind kind = AgentKind::kTile;
    size_t decision = 0, level = 0, dim = 0;
  };

  void Plan() {
    const auto ask = [&](AgentKind kind, size_t decision, size_t level, size_t dim) {
      if (decision != kNothing) plan_.push_back({kind, decision, level, dim});
    };
    for (size_t level = 0; level < kLevels; ++level) {
      ask(AgentKind::kSpread, facts_.parallel[level], level, 0);
    }
    ask(AgentKind::kSpread, facts_.cluster, 1, 0);
    for (size_t level = 0; level < kLevels; ++level) {
      for (size_t d = 0; d < facts_.dims.size(); ++d) {
        ask(AgentKind::kTile, facts_.tile[level][d], level, d);
      }
    }
    for (size_t level = 0; level < kLevels; ++level) {
      ask(AgentKind::kOrder, facts_.order[level], level, 0);
    }
    // What else a space decides, such as the number of PEs, stays as the witness has it.
  }

  size_t DimOf(std::string_view label) const {
    return static_cast<size_t>(std::ranges::find(facts_.dims, label) - facts_.dims.begin());
  }

  // Words of the tiles of a level, with one tile as large as this and those that are still to be
  // decided as small as they can be.
  double LeastHeld(const Ask& ask, double value) const {
    std::array<double, kTensorCount> least = {1, 1, 1};
    for (size_t d = 0; d < facts_.dims.size(); ++d) {
      const double smallest =
          static_cast<double>(space_.decisions()[facts_.tile[ask.level][d]].value(0));
      const double size = d == ask.dim ? value : d > ask.dim ? smallest : tiles_[ask.level][d];
      for (size_t t = 0; t < kTensorCount; ++t) {
        if (!facts_.relevant[d][t]) continue;
        const bool widened = t == 1 && facts_.window[d] != kNothing;
        least[t] *= widened ? size + facts_.bounds[facts_.window[d]] - 1 : size;
      }
    }
    return least[0] + least[1] + least[2];
  }

  // L1 holds its tiles twice, one in use and one on its way; L2 may hold more than these, never
  // less.
  bool Fits(const Ask& ask, double value) const {
    const double held = (ask.level == 1 ? 2 : 1) * LeastHeld(ask, value);
    return held <= facts_.capacity[ask.level];
  }

  // A value is offered if the memories have room for it, and if there is a legal point with it and
  // everything that was decided; Repair looks for one and never changes what was decided.
  void ListValues(const Ask& ask) {
    const Decision& decision = space_.decisions()[ask.decision];
    for (int32_t i = 0; i < decision.size(); ++i) {
      // The smallest stays in any case: then nothing fits, and the cost model says so.
      const auto value = static_cast<double>(decision.value(i));
      if (ask.kind == AgentKind::kTile && !choices_.empty() && !Fits(ask, value)) break;
      Point attempt = point_;
      attempt[ask.decision] = i;
      if (!space_.Check(attempt)) {
        space_.Repair(attempt);
        bool same = attempt[ask.decision] == i && space_.Check(attempt).ok();
        for (size_t k = 0; k < decided_.size() && same; ++k) {
          same = !decided_[k] || attempt[k] == point_[k];
        }
        if (!same) continue;
      }
      choices_.push_back(i);
      witnesses_.push_back(attempt);
    }
  }

  void ListOrder(const Ask& ask) {
    const Decision& decision = space_.decisions()[ask.decision];
    const bool all = decision.size() == Factorial(facts_.dims.size());
    for (const uint8_t d : left_) {
      bool allowed = all;
      for (int32_t i = 0; i < decision.size() && !allowed; ++i) {
        const Permutation order = decision.OrderAt(i);
        allowed = order.items[placed_.size()] == d &&
                  std::equal(placed_.begin(), placed_.end(), order.items.begin());
      }
      if (allowed) choices_.push_back(d);
    }
  }

  // ---- Numbers

  double Enclosing(size_t level, size_t d) const {
    return level == 0 ? facts_.bounds[d] : tiles_[0][d];
  }
  double Units(size_t level) const {
    return level == 0 ? std::max(1.0, std::floor(facts_.pes / cluster_)) : cluster_;
  }
  double Steps(size_t level, size_t d) const {
    return std::ceil(Enclosing(level, d) / std::max(1.0, tiles_[level][d]));
  }
  double Spread(size_t level) const {
    const size_t d = parallel_[level];
    return d < facts_.dims.size() ? std::min(Units(level), Steps(level, d)) : 1;
  }
  double Words(size_t level, size_t t) const {
    double words = 1;
    for (size_t d = 0; d < facts_.dims.size(); ++d) {
      if (!facts_.relevant[d][t]) continue;
      double size = tiles_[level][d];
      if (t == 1 && facts_.window[d] != kNothing) size += facts_.bounds[facts_.window[d]] - 1;
      words *= size;
    }
    return words;
  }
  double Held(size_t level) const {
    double words = 0;
    for (size_t t = 0; t < kTensorCount; ++t) words += Words(level, t);
    return words * (level == 0 ? Spread(0) : 1);
  }
  // ---- Features

  void DescribeLoop(size_t d, const auto& add) const {
    const bool real = d < facts_.dims.size();
    for (size_t t = 0; t < kTensorCount; ++t) add(real && facts_.relevant[d][t] ? 1 : 0);
    add(real && (facts_.dims[d] == "R" || facts_.dims[d] == "S") ? 1 : 0);
    add(real && facts_.window[d] != kNothing ? 1 : 0);
    add(real ? Log2(facts_.bounds[d]) / 10 : 0);
    add(real && facts_.dims[d] == "K" ? 1 : 0);
    add(real && facts_.dims[d] == "C" ? 1 : 0);
  }

  void DescribeSpread(const Ask& ask, int32_t choice, const auto& add) {
    const Decision& decision = space_.decisions()[ask.decision];
    const bool cluster = ask.decision == facts_.cluster;
    const size_t d = cluster ? parallel_[1] : DimOf(decision.Label(choice));
    DescribeLoop(d, add);
    const double size = cluster ? static_cast<double>(decision.value(choice)) : cluster_;
    const double outside = std::floor(facts_.pes / size);
    add(cluster ? 1 : 0);
    add(ask.level == 0 ? 1 : 0);
    add(cluster ? Log2(size) / 8 : 0);
    add(cluster ? Log2(outside) / 8 : 0);
    const auto bound = [&](size_t which) {
      return which < facts_.dims.size() ? facts_.bounds[which] : 1.0;
    };
    // How many units the dimensions that are spread could keep busy.
    add(cluster ? Log2(std::min(size, bound(parallel_[1])) / size) : 0);
    add(cluster ? Log2(std::min(outside, bound(parallel_[0])) / std::max(1.0, outside)) : 0);
    add(cluster ? Log2(std::min(size, bound(parallel_[1])) *
                       std::min(outside, bound(parallel_[0])) / facts_.pes)
                : Log2(std::min(facts_.pes, bound(d)) / facts_.pes));
    const bool first = parallel_[0] < facts_.dims.size();
    for (size_t t = 0; t < kTensorCount; ++t) {
      add(first && facts_.relevant[parallel_[0]][t] ? 1 : 0);
    }
    add(d == parallel_[0] ? 1 : 0);
    add(first ? Log2(bound(parallel_[0])) / 10 : 0);
  }

  void DescribeTile(const Ask& ask, int32_t choice, const auto& add) {
    const double value = static_cast<double>(space_.decisions()[ask.decision].value(choice));
    DescribeLoop(ask.dim, add);
    const double before = tiles_[ask.level][ask.dim], inner = tiles_[1][ask.dim];
    tiles_[ask.level][ask.dim] = value;
    if (ask.level == 0) tiles_[1][ask.dim] = std::min(inner, value);
    add(ask.level == 0 ? 1 : 0);
    add(Log2(value) / 10);
    add(Log2(value / Enclosing(ask.level, ask.dim)) / 10);
    add(value == 1 ? 1 : 0);
    add(value == Enclosing(ask.level, ask.dim) ? 1 : 0);
    add(ask.dim == parallel_[ask.level] ? 1 : 0);
    add(ask.dim == parallel_[1] ? 1 : 0);
    const double steps = Steps(ask.level, ask.dim);
    add(Log2(steps) / 10);
    add(Log2(steps * value / Enclosing(ask.level, ask.dim)));  // padding
    const bool spread = ask.dim == parallel_[ask.level];
    add(spread ? Log2(Units(ask.level) / std::min(Units(ask.level), steps)) / 4 : 0);
    // The last round of what is spread may have less to do than all units could.
    const double rounds = std::ceil(steps / Units(ask.level));
    add(spread ? Log2(rounds * Units(ask.level) / steps) : 0);
    add(Log2(Units(ask.level)) / 8);
    for (size_t t = 0; t < kTensorCount; ++t) {
      add(Log2(Words(ask.level, t)) / 20);
      add(Log2(Words(ask.level, t) / facts_.capacity[ask.level]) / 16);
    }
    add(Log2(Held(ask.level) / facts_.capacity[ask.level]) / 12);
    // With what is still to decide as small as it can be.
    const double all = LeastHeld(ask, value);
    add(Log2(all / facts_.capacity[ask.level]) / 12);
    add(all > facts_.capacity[ask.level] ? 1 : 0);
    add(2 * all > facts_.capacity[ask.level] ? 1 : 0);
    double later = 0;
    for (size_t d = ask.dim + 1; d < facts_.dims.size(); ++d)
      later += Log2(Enclosing(ask.level, d));
    add(later / 20);
    for (size_t t = 0; t < kTensorCount; ++t) {
      double reuse = 0;  // steps of other loops
      for (size_t d = 0; d < facts_.dims.size(); ++d) {
        if (!facts_.relevant[d][t]) reuse += Log2(Steps(ask.level, d));
      }
      add(reuse / 16);
    }
    tiles_[ask.level][ask.dim] = before;
    tiles_[1][ask.dim] = ask.level == 0 ? inner : before;
  }

  void DescribeOrder(const Ask& ask, int32_t choice, const auto& add) {
    const auto d = static_cast<size_t>(choice);
    DescribeLoop(d, add);
    add(ask.level == 0 ? 1 : 0);
    add(Log2(Steps(ask.level, d)) / 10);
    add(Steps(ask.level, d) <= 1 ? 1 : 0);
    add(static_cast<double>(placed_.size()) / 8);
    add(d == parallel_[ask.level] ? 1 : 0);
    // Tensors that could stay if the loops that remain, without this one, came inside: for each the
    // steps that would then not fetch it, and what it weighs.
    for (size_t t = 0; t < kTensorCount; ++t) {
      double inside = 0, relevant = 0;
      for (const uint8_t other : left_) {
        if (other == d) continue;
        (facts_.relevant[other][t] ? relevant : inside) += Log2(Steps(ask.level, other));
      }
      add(inside / 12);
      add(relevant / 12);
      add(Log2(Words(ask.level, t)) / 20);
    }
    double all = 0;
    for (const uint8_t other : left_) all += Log2(Steps(ask.level, other));
    add(all / 16);
    add(Log2(Spread(ask.level)) / 8);
    add(static_cast<double>(left_.size()) / 8);
  }

  const Facts& facts_;
  const MappingSpace& space_;
  Point point_;  // legal, and agrees with what is decided
  std::vector<bool> decided_;
  std::vector<Ask> plan_;
  size_t at_ = 0;
  std::array<std::vector<double>, kLevels> tiles_;  // L1 tiles count as large as L2's at first
  std::array<size_t, kLevels> parallel_ = {kNothing, kNothing};
  double cluster_ = 1;
  std::vector<uint8_t> placed_, left_;
  std::vector<int32_t> choices_;
  std::vector<Point> witnesses_;
};

class MaestroGame final : public Game {
 public:
  explicit MaestroGame(Facts facts) : facts_(std::move(facts)) {}
  std::unique_ptr<Episode> Begin() const override {
    return std::make_unique<MaestroEpisode>(facts_);
  }
  const FeatureCounts& features() const override { return kCounts; }
  // Seven percent more, half as likely.
  float trust() const override { return 10; }
  // What is best by estimate is best because of what the estimate leaves out.
  bool near() const override { return false; }

 private:
  const Facts facts_;
};

}  // namespace

std::unique_ptr<Game> MakeMaestroGame(const MappingProblem& problem) {
  if (problem.array() == nullptr) return nullptr;
  Facts facts;
  if (!ReadSpace(problem, facts)) return nullptr;
  FillContext(problem, facts);
  constexpr size_t kColumns = kLevels * (8 + 3 * kTensorCount) + 2;
  if (facts.nest->size() != kColumns) return nullptr;
  return std::make_unique<MaestroGame>(std::move(facts));
}

}  // namespace tessera::policy
