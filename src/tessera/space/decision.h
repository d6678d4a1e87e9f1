// One named decision of a mapping: a size, a choice or an order, with the values that it may take.
#ifndef TESSERA_SPACE_DECISION_H_
#define TESSERA_SPACE_DECISION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/space/permutation.h"

namespace tessera {

enum class DecisionKind : uint8_t {
  kOrdinal,      // numbers in ascending order: neighbours are alike
  kCategorical,  // labels without an order
  kPermutation,  // orders of the labelled items, by ascending Lehmer index
};

// What a decision is about, for operators that know mappings (search/gamma.cc) and for tables.
enum class DecisionRole : uint8_t {
  kTile,      // the size of a tile, which encloses the tile of the next level
  kFactor,    // a part of a dimension, or where it goes
  kOrder,     // of loops
  kParallel,  // which dimension is parallel
  kCount,     // of units
  kOther,
};

// Values are addressed by index 0 .. size()-1, which is what a Point holds.
class Decision {
 public:
  // `values` ascend and are not empty.
  static Decision Ordinal(std::string name, std::vector<int64_t> values);
  static Decision Categorical(std::string name, std::vector<std::string> labels);
  // All orders of `items`, at most kMaxPermutationItems.
  static Decision Order(std::string name, std::vector<std::string> items);

  // Says what the decision is about: a role, a memory level (0 is the outermost that the space
  // decides on) and, for tiles, a dimension.
  Decision About(DecisionRole role, int level, std::string dimension = "") &&;

  const std::string& name() const { return name_; }
  DecisionKind kind() const { return kind_; }
  DecisionRole role() const { return role_; }
  int level() const { return level_; }
  const std::string& dimension() const { return dimension_; }

  int32_t size() const { return size_; }
  // Ordinal: the number; categorical: the label's position in the full list; order: Lehmer index.
  int64_t value(int32_t index) const {
    return values_.empty() ? index : values_[static_cast<size_t>(index)];
  }
  // Categorical: all labels; order: the items.
  std::span<const std::string> labels() const { return labels_; }

  // "64", "K" or "K C Y X": what the value is called in files and tables.
  std::string Label(int32_t index) const;
  // The index of a value by its label; the error lists what is allowed.
  Result<int32_t> Parse(std::string_view label) const;

  // The index of a value, or -1.
  int32_t Find(int64_t value) const;
  // Ordinal: the largest value not above `value`, or the first.
  int32_t AtMost(int64_t value) const;
  // Ordinal: the value nearest to `value` in ratio.
  int32_t Nearest(double value) const;

  // Order: the order at an index, and the index of an order; an order that is not allowed is
  // replaced by one in which each item comes as early as the rules permit.
  Permutation OrderAt(int32_t index) const;
  int32_t IndexOfOrder(const Permutation& permutation) const;

  // Leaves only the values whose `allowed` is true. If none would remain, returns false and changes
  // nothing.
  [[nodiscard]] bool Keep(const std::vector<bool>& allowed);
  // Order: the same for orders in which item `first` comes before item `second`.
  [[nodiscard]] bool KeepBefore(size_t first, size_t second);

 private:
  Decision(std::string name, DecisionKind kind) : name_(std::move(name)), kind_(kind) {}

  std::string name_;
  DecisionKind kind_;
  DecisionRole role_ = DecisionRole::kOther;
  int level_ = -1;
  std::string dimension_;
  std::vector<int64_t> values_;  // empty: value(i) is i
  int32_t size_ = 0;
  std::vector<std::string> labels_;
  std::vector<std::pair<uint8_t, uint8_t>> before_;  // order: rules (first, second)
};

}  // namespace tessera

#endif  // TESSERA_SPACE_DECISION_H_
