// The synthetic landscape.
#include "tessera/space/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace tessera {
namespace {

enum : size_t { kOuterA, kOuterB, kInnerA, kInnerB, kParallel, kOrder, kCount };

constexpr int64_t kMemory = 1024;
const std::array<std::array<size_t, 2>, 2> kNested = {{{kOuterA, kInnerA}, {kOuterB, kInnerB}}};
const std::vector<int64_t> kSizes = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

std::vector<Decision> MakeDecisions() {
  using Role = DecisionRole;
  std::vector<Decision> decisions;
  decisions.push_back(Decision::Ordinal("a_l2", kSizes).About(Role::kTile, 0, "A"));
  decisions.push_back(Decision::Ordinal("b_l2", kSizes).About(Role::kTile, 0, "B"));
  decisions.push_back(Decision::Ordinal("a_l1", kSizes).About(Role::kTile, 1, "A"));
  decisions.push_back(Decision::Ordinal("b_l1", kSizes).About(Role::kTile, 1, "B"));
  decisions.push_back(Decision::Categorical("parallel", {"A", "B", "C"}).About(Role::kParallel, 0));
  decisions.push_back(Decision::Order("order", {"A", "B", "C", "D"}).About(Role::kOrder, 0));
  decisions.push_back(Decision::Ordinal("count", {1, 2, 4, 8, 16}).About(Role::kCount, 0));
  return decisions;
}

}  // namespace

SyntheticSpace::SyntheticSpace() : DecisionSpace(MakeDecisions()) {}

Result<void> SyntheticSpace::Check(const Point& point) const {
  if (Result<void> range = CheckRange(point); !range) return range;
  for (const auto& [outer, inner] : kNested) {
    const int64_t outer_size = decisions()[outer].value(point[outer]);
    const int64_t inner_size = decisions()[inner].value(point[inner]);
    if (inner_size <= outer_size) continue;
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("{} = {} <= {} = {}", decisions()[inner].name(), inner_size,
                                        decisions()[outer].name(), outer_size)};
  }
  return {};
}

void SyntheticSpace::Repair(Point& point) const {
  for (const auto& [outer, inner] : kNested) point[inner] = std::min(point[inner], point[outer]);
}

double SyntheticSpace::Log10Size() const {
  const double sizes = static_cast<double>(kSizes.size());
  const double pairs = sizes * (sizes + 1) / 2;
  return std::log10(pairs * pairs * 3 * 24 * 5);
}

Outcome SyntheticProblem::Evaluate(const Point& point, Workspace& /*workspace*/) const {
  if (const Result<void> legal = space_.Check(point); !legal) {
    return Outcome::Infeasible(legal.error().message);
  }
  const std::span<const Decision> decisions = space_.decisions();
  const auto value = [&](size_t i) { return decisions[i].value(point[i]); };
  const int64_t used = value(kOuterA) * value(kOuterB);
  if (used > kMemory) {
    return Outcome::Infeasible(fmt::format("a_l2 * b_l2 = {} <= {}", used, kMemory));
  }
  // The best tiles differ with the parallel dimension, and only the last one leads to cost 1.
  constexpr std::array<std::array<double, 4>, 3> kTargets = {
      {{4, 64, 1, 8}, {64, 4, 8, 1}, {24, 32, 6, 16}}};
  constexpr std::array<double, 3> kBase = {1.5, 1.3, 1.0};
  const size_t parallel = static_cast<size_t>(value(kParallel));
  double cost = kBase[parallel];
  for (size_t i = 0; i < 4; ++i) {
    const double octaves = std::log2(static_cast<double>(value(i)) / kTargets[parallel][i]);
    cost += 0.1 * octaves * octaves;
  }
  const Permutation order = decisions[kOrder].OrderAt(point[kOrder]);
  constexpr std::array<int, 4> kPlaces = {2, 0, 3, 1};  // of A B C D in the best order, B D A C
  for (size_t place = 0; place < order.size; ++place) {
    cost += 0.05 * std::abs(kPlaces[order.items[place]] - static_cast<int>(place));
  }
  cost += 0.1 * std::abs(std::log2(static_cast<double>(value(kCount)) / 8.0));
  return {.kind = OutcomeKind::kFeasible,
          .value = cost,
          .cycles = 100 * cost,
          .energy_pj = static_cast<double>(used),
          .power_mw = static_cast<double>(used) / (100 * cost),
          .area_um2 = static_cast<double>(value(kCount))};
}

Point SyntheticProblem::Optimum() const {
  const std::array<const char*, 7> labels = {"24", "32", "6", "16", "C", "B D A C", "8"};
  Point point(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    point[i] = *space_.decisions()[i].Parse(labels[i]);
  }
  return point;
}

}  // namespace tessera
