// Subsets of kept tensors.
#include "tessera/search/exact/keep_choices.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tessera/cost.h"

namespace tessera::exact {
namespace {

// A tensor that a level may pass by.
struct Bit {
  size_t level = 0;
  int tensor = 0;
};

void Set(KeepSet& sets, const Bit& bit) {
  sets[bit.level] = static_cast<uint8_t>(sets[bit.level] | 1u << bit.tensor);
}

// What must be held, and what may be passed by; the outermost level holds all.
std::pair<KeepSet, std::vector<Bit>> Split(const KeepSet& keep, const KeepSet& must_keep,
                                           int num_tensors) {
  KeepSet held(keep.size(), 0);
  held.back() = keep.back();
  std::vector<Bit> open;
  for (size_t i = 0; i + 1 < keep.size(); ++i) {
    for (int v = 0; v < num_tensors; ++v) {
      if (!Has(keep[i], v)) continue;
      if (Has(must_keep[i], v)) {
        Set(held, {i, v});
      } else {
        open.push_back({i, v});
      }
    }
  }
  return {std::move(held), std::move(open)};
}

// All sets between `held` and those with every open bit.
std::vector<KeepSet> Subsets(KeepSet held, const std::vector<Bit>& open) {
  std::vector<KeepSet> choices = {std::move(held)};
  for (const Bit& bit : open) {
    const size_t count = choices.size();
    for (size_t k = 0; k < count; ++k) {
      choices.push_back(choices[k]);
      Set(choices.back(), bit);
    }
  }
  return choices;
}

// The sets of which the fewest open bits are missing, at most `most` of them, fewest last.
std::vector<KeepSet> Fullest(const KeepSet& held, const std::vector<Bit>& open, size_t most) {
  std::vector<KeepSet> choices;
  for (size_t missing = 0; missing <= open.size() && choices.size() < most; ++missing) {
    std::vector<uint8_t> left_out(open.size(), 0);
    std::fill_n(left_out.begin(), missing, uint8_t{1});
    do {
      KeepSet choice = held;
      for (size_t k = 0; k < open.size(); ++k) {
        if (left_out[k] == 0) Set(choice, open[k]);
      }
      choices.push_back(std::move(choice));
    } while (choices.size() < most && std::ranges::prev_permutation(left_out).found);
  }
  std::ranges::reverse(choices);
  return choices;
}

}  // namespace

Result<KeepChoices> KeepChoicesOf(const LoopProblem& problem, const Hierarchy& hierarchy,
                                  const MapperOptions& options) {
  const size_t levels = hierarchy.levels.size();
  const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
  KeepSet keep = options.keep;
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
  KeepSet must_keep = options.must_keep;
  must_keep.resize(levels, 0);
  for (size_t v = 0; v < options.homes.size(); ++v) {
    const auto home = static_cast<size_t>(options.homes[v]);
    for (size_t i = home + 1; i < levels; ++i) keep[i] &= static_cast<uint8_t>(~(1u << v));
    Set(keep, {home, static_cast<int>(v)});
    Set(must_keep, {home, static_cast<int>(v)});
  }
  KeepSet differs(levels, 0);
  if (!options.decide_keep) return KeepChoices{.sets = {keep}, .open = std::move(differs)};
  auto [held, open] = Split(keep, must_keep, problem.num_tensors);
  for (const Bit& bit : open) Set(differs, bit);
  const double count = std::pow(2, static_cast<double>(open.size()));
  if (count <= kMostKeepChoices) {
    return KeepChoices{.sets = Subsets(std::move(held), open), .open = std::move(differs)};
  }
  return KeepChoices{.sets = Fullest(held, open, kMostKeepChoices),
                     .open = std::move(differs),
                     .left_out = count - kMostKeepChoices};
}

}  // namespace tessera::exact
