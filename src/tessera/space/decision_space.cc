// Drawing, checking and changing points by the rules that all spaces share.
#include "tessera/space.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "tessera/result.h"

namespace tessera {
namespace {

// A step between 1 and `most`, small ones likelier: uniform in its logarithm.
int32_t LogUniformStep(int32_t most, CounterRng& rng) {
  const double step = std::exp(rng.Uniform() * std::log(static_cast<double>(most) + 1.0));
  return std::clamp(static_cast<int32_t>(step), 1, most);
}

int32_t OtherOrdinal(int32_t index, int32_t size, CounterRng& rng) {
  const int32_t below = index, above = size - 1 - index;
  const bool up = below == 0 || (above > 0 && rng.Uniform() < 0.5);
  return up ? index + LogUniformStep(above, rng) : index - LogUniformStep(below, rng);
}

int32_t OtherOrder(const Decision& decision, int32_t index, CounterRng& rng) {
  Permutation order = decision.OrderAt(index);
  const int64_t items = static_cast<int64_t>(order.size);
  const size_t first = static_cast<size_t>(rng.UniformInt(items));
  size_t second = static_cast<size_t>(rng.UniformInt(items - 1));
  if (second >= first) ++second;
  std::swap(order.items[first], order.items[second]);
  return decision.IndexOfOrder(order);
}

}  // namespace

DecisionSpace::DecisionSpace(std::vector<Decision> decisions) : decisions_(std::move(decisions)) {
  TESSERA_CHECK(decisions_.size() <= Point::kCapacity);
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < decisions_.size(); ++i) {
    TESSERA_CHECK(names.insert(decisions_[i].name()).second);
    if (decisions_[i].size() > 1) open_.push_back(i);
  }
}

size_t DecisionSpace::Find(std::string_view name) const {
  const auto found =
      std::find_if(decisions_.begin(), decisions_.end(),
                   [&](const Decision& decision) { return decision.name() == name; });
  return static_cast<size_t>(found - decisions_.begin());
}

Result<void> DecisionSpace::CheckRange(const Point& point) const {
  if (point.size() != size()) {
    return Error{
        .kind = ErrorKind::kInfeasible,
        .message = fmt::format("{} decisions given, but the space has {}", point.size(), size())};
  }
  for (size_t i = 0; i < size(); ++i) {
    if (point[i] >= 0 && point[i] < decisions_[i].size()) continue;
    return Error{
        .kind = ErrorKind::kInfeasible,
        .message = fmt::format("0 <= {} < {} values", decisions_[i].name(), decisions_[i].size())};
  }
  return {};
}

Result<void> DecisionSpace::Check(const Point& point) const { return CheckRange(point); }

void DecisionSpace::Repair(Point& /*point*/) const {}  // Without rules every combination is legal.

double DecisionSpace::Log10Size() const {
  double sum = 0;
  for (const Decision& decision : decisions_) sum += std::log10(decision.size());
  return sum;
}

Point DecisionSpace::Sample(CounterRng& rng, int64_t redraws) const {
  Point point(size());
  for (int64_t draw = 0; draw <= redraws; ++draw) {
    for (const size_t i : open_) {
      point[i] = static_cast<int32_t>(rng.UniformInt(decisions_[i].size()));
    }
    if (Check(point)) return point;
  }
  Repair(point);
  return point;
}

Point DecisionSpace::Neighbor(const Point& point, CounterRng& rng) const {
  constexpr int kTries = 8;  // Repair can undo a step; a few further ones nearly always move.
  Point next = point;
  for (int i = 0; i < kTries && next == point && !open_.empty(); ++i) {
    Mutate(next, open_[static_cast<size_t>(rng.UniformInt(std::ssize(open_)))], rng);
    Repair(next);
  }
  return next;
}

void DecisionSpace::Mutate(Point& point, size_t decision, CounterRng& rng) const {
  const Decision& changed = decisions_[decision];
  const int32_t index = point[decision], size = changed.size();
  if (size < 2) return;
  switch (changed.kind()) {
    case DecisionKind::kOrdinal: point[decision] = OtherOrdinal(index, size, rng); return;
    case DecisionKind::kCategorical: {
      const int32_t other = static_cast<int32_t>(rng.UniformInt(size - 1));
      point[decision] = other + (other >= index);
      return;
    }
    case DecisionKind::kPermutation: point[decision] = OtherOrder(changed, index, rng); return;
  }
}

std::string DecisionSpace::Describe(const Point& point) const {
  std::string text;
  for (size_t i = 0; i < size(); ++i) {
    std::string label = decisions_[i].Label(point[i]);
    std::replace(label.begin(), label.end(), ' ', ',');
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", decisions_[i].name(), label);
  }
  return text;
}

}  // namespace tessera
