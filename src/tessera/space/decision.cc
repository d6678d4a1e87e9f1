// Values of decisions by index, by number and by label.
#include "tessera/space.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/result.h"

namespace tessera {
namespace {

std::string JoinOrder(const Permutation& order, std::span<const std::string> items) {
  std::string text;
  for (const uint8_t item : order.order()) {
    if (!text.empty()) text += ' ';
    text += items[item];
  }
  return text;
}

}  // namespace

Decision Decision::Ordinal(std::string name, std::vector<int64_t> values) {
  TESSERA_CHECK(!values.empty());
  TESSERA_CHECK(std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) ==
                values.end());
  Decision decision(std::move(name), DecisionKind::kOrdinal);
  decision.size_ = static_cast<int32_t>(values.size());
  decision.values_ = std::move(values);
  return decision;
}

Decision Decision::Categorical(std::string name, std::vector<std::string> labels) {
  TESSERA_CHECK(!labels.empty());
  Decision decision(std::move(name), DecisionKind::kCategorical);
  decision.size_ = static_cast<int32_t>(labels.size());
  decision.labels_ = std::move(labels);
  return decision;
}

Decision Decision::Order(std::string name, std::vector<std::string> items) {
  TESSERA_CHECK(!items.empty() && items.size() <= kMaxPermutationItems);
  Decision decision(std::move(name), DecisionKind::kPermutation);
  decision.size_ = static_cast<int32_t>(Factorial(items.size()));
  decision.labels_ = std::move(items);
  return decision;
}

Decision Decision::About(DecisionRole role, int level, std::string dimension) && {
  role_ = role;
  level_ = level;
  dimension_ = std::move(dimension);
  return std::move(*this);
}

std::string Decision::Label(int32_t index) const {
  switch (kind_) {
    case DecisionKind::kOrdinal: return fmt::format("{}", value(index));
    case DecisionKind::kCategorical: return labels_[static_cast<size_t>(value(index))];
    case DecisionKind::kPermutation: break;
  }
  return JoinOrder(OrderAt(index), labels_);
}

Result<int32_t> Decision::Parse(std::string_view label) const {
  // Orders can have millions of values, so they are found by their items and not by trying all.
  if (kind_ == DecisionKind::kPermutation) {
    Permutation order;
    for (const std::string_view word : Split(label, ' ')) {
      const auto item = std::find(labels_.begin(), labels_.end(), word);
      if (item == labels_.end() || order.size == labels_.size()) break;
      order.items[order.size++] = static_cast<uint8_t>(item - labels_.begin());
    }
    std::vector<bool> seen(labels_.size());
    for (const uint8_t item : order.order()) seen[item] = true;
    const bool complete =
        order.size == labels_.size() && std::find(seen.begin(), seen.end(), false) == seen.end();
    if (const int32_t index = complete ? Find(tessera::IndexOf(order)) : -1;
        index >= 0 && Label(index) == label) {
      return index;
    }
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} is {}, but must be an allowed order of {}", name_,
                                        Quoted(label), fmt::join(labels_, " "))};
  }
  for (int32_t i = 0; i < size_; ++i) {
    if (Label(i) == label) return i;
  }
  std::vector<std::string> labels;
  for (int32_t i = 0; i < size_; ++i) labels.push_back(Label(i));
  std::string rule = size_ <= 16 ? fmt::format("one of {}", fmt::join(labels, ", "))
                                 : fmt::format("one of the {} values from {} to {}", size_,
                                               labels.front(), labels.back());
  return Error{
      .kind = ErrorKind::kBadValue,
      .message = fmt::format("{} is {}, but must be {}", name_, Quoted(label), std::move(rule))};
}

int32_t Decision::Find(int64_t value) const {
  if (values_.empty()) return value >= 0 && value < size_ ? static_cast<int32_t>(value) : -1;
  const auto found = std::lower_bound(values_.begin(), values_.end(), value);
  return found != values_.end() && *found == value ? static_cast<int32_t>(found - values_.begin())
                                                   : -1;
}

int32_t Decision::AtMost(int64_t value) const {
  const auto above = std::upper_bound(values_.begin(), values_.end(), value);
  return std::max<int32_t>(0, static_cast<int32_t>(above - values_.begin()) - 1);
}

int32_t Decision::Nearest(double value) const {
  const int32_t below = AtMost(static_cast<int64_t>(value));
  if (below + 1 >= size_) return below;
  const double low = static_cast<double>(this->value(below));
  const double high = static_cast<double>(this->value(below + 1));
  return value * value >= low * high && value > low ? below + 1 : below;
}

Permutation Decision::OrderAt(int32_t index) const {
  return PermutationAt(value(index), labels_.size());
}

int32_t Decision::IndexOfOrder(const Permutation& permutation) const {
  if (const int32_t index = Find(tessera::IndexOf(permutation)); index >= 0) return index;
  // Topological order that keeps to `permutation` where the rules leave a choice.
  Permutation allowed{.size = permutation.size};
  std::array<bool, kMaxPermutationItems> placed{};
  for (size_t slot = 0; slot < permutation.size; ++slot) {
    for (const uint8_t item : permutation.order()) {
      const bool waits = std::any_of(before_.begin(), before_.end(), [&](const auto& rule) {
        return rule.second == item && !placed[rule.first];
      });
      if (placed[item] || waits) continue;
      allowed.items[slot] = item;
      placed[item] = true;
      break;
    }
  }
  // A fixed order has no rules to sort by; the only value left is then the answer.
  return std::max<int32_t>(0, Find(tessera::IndexOf(allowed)));
}

bool Decision::Keep(const std::vector<bool>& allowed) {
  TESSERA_CHECK(static_cast<int32_t>(allowed.size()) == size_);
  std::vector<int64_t> kept;
  for (int32_t i = 0; i < size_; ++i) {
    if (allowed[static_cast<size_t>(i)]) kept.push_back(value(i));
  }
  if (kept.empty()) return false;
  size_ = static_cast<int32_t>(kept.size());
  values_ = std::move(kept);
  return true;
}

bool Decision::KeepBefore(size_t first, size_t second) {
  std::vector<bool> allowed(static_cast<size_t>(size_));
  for (int32_t i = 0; i < size_; ++i) {
    const Permutation order = OrderAt(i);
    const auto place = [&](size_t item) {
      return std::find(order.items.begin(), order.items.end(), item) - order.items.begin();
    };
    allowed[static_cast<size_t>(i)] = place(first) < place(second);
  }
  if (!Keep(allowed)) return false;
  before_.emplace_back(static_cast<uint8_t>(first), static_cast<uint8_t>(second));
  return true;
}

}  // namespace tessera
