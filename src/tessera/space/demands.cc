// Demands on decisions, one by one and together.
#include "tessera/space/demands.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"
#include "tessera/part.h"

namespace tessera {
namespace {

using Demand = Constraints::Demand;
using enum Constraints::Rule;

// Sets of constraints that are tried for being the smallest conflict.
constexpr size_t kMostTries = 1000;

Error At(const Demand& demand, ErrorKind kind, std::string message, std::string hint = "") {
  return Error{
      .kind = kind, .message = std::move(message), .where = demand.where, .hint = std::move(hint)};
}

bool IsPattern(std::string_view name) { return name.find_first_of("*?") != std::string_view::npos; }

bool IsWholeNumber(const std::string& text) {
  const Result<int64_t> value = ParseInt(text);
  return value && *value >= 1;
}

class Concretizer {
 public:
  Concretizer(std::span<const Decision> decisions, size_t num_open, const SpaceNames& names)
      : decisions_(decisions), num_open_(num_open), names_(names) {
    for (size_t i = 0; i < decisions.size(); ++i) index_.emplace(decisions[i].name(), i);
  }

  Result<std::vector<ConcreteDemand>> Run(const Constraints& constraints) {
    for (source_ = 0; source_ < constraints.demands.size(); ++source_) {
      if (Result<void> added = Add(constraints.demands[source_]); !added) return added.error();
    }
    return std::move(made_);
  }

 private:
  Result<void> Add(const Demand& demand) {
    if (demand.rule == kDataflow) {
      const Result<std::vector<Demand>> parts = names_.Dataflow(demand.values.front());
      if (!parts) return At(demand, parts.error().kind, parts.error().message, parts.error().hint);
      for (Demand part : *parts) {
        part.where = demand.where;
        if (Result<void> added = Add(part); !added) return added;
      }
      return {};
    }
    if (demand.rule == kParallel) {
      if (!names_.HasUtilization()) {
        return At(demand, ErrorKind::kUnsupported, "the space knows no utilization");
      }
      made_.push_back({.demand = demand, .source = source_});
      return {};
    }
    if (!IsPattern(demand.decision)) return AddNamed(demand);
    // Where nothing is open, constants may fit: parallel factors of a level without children.
    std::optional<Error> unsuited;
    for (const auto& part : {decisions_.first(num_open_), decisions_.subspan(num_open_)}) {
      const Result<bool> any = AddFitting(demand, part, unsuited);
      if (!any) return any.error();
      if (*any) return {};
    }
    if (unsuited) return *unsuited;
    return At(demand, ErrorKind::kUnknownName,
              fmt::format("no decision of the space fits {}", Quoted(demand.decision)),
              "--dry-run lists them");
  }

  // A demand on a pattern, for every decision that it fits and suits; whether there is one.
  Result<bool> AddFitting(const Demand& demand, std::span<const Decision> decisions,
                          std::optional<Error>& unsuited) {
    bool any = false;
    for (const Decision& decision : decisions) {
      if (!FitsPattern(names_.Resolve(demand.decision), decision.name())) continue;
      if (!IsMeant(demand, decision)) {
        any = true;
        continue;
      }
      Demand one = demand;
      one.decision = decision.name();
      // "*_RF: 1" is about factors and not about the order at RF.
      if (Result<void> suits = Suits(one, decision); !suits) {
        if (!unsuited) unsuited = suits.error();
        continue;
      }
      any = true;
      if (Result<void> added = AddOne(std::move(one), decision); !added) return added.error();
    }
    return any;
  }

  // What a pattern leaves out on purpose.
  bool IsMeant(const Demand& demand, const Decision& decision) const {
    const auto is = [&](const std::string& name) {
      std::string one = demand.decision;
      one.replace(one.find_first_of("*?"), 1, name);
      return decision.name() == one || decision.name() == names_.Resolve(one);
    };
    if (std::any_of(demand.except.begin(), demand.except.end(), is)) return false;
    if (demand.tensors.empty()) return true;
    const bool has =
        std::any_of(demand.tensors.begin(), demand.tensors.end(), [&](const std::string& tensor) {
          return names_.HasDimension(tensor, decision.dimension());
        });
    return has != demand.others;
  }

  Result<void> AddNamed(Demand demand) {
    const Result<const Decision*> decision = Find(demand, demand.decision);
    if (!decision) return decision.error();
    if (*decision == nullptr) return {};
    demand.decision = (*decision)->name();
    return AddOne(std::move(demand), **decision);
  }

  // Null: a decision that makes no difference.
  Result<const Decision*> Find(const Demand& demand, const std::string& name) const {
    for (const std::string& candidate : {name, names_.Resolve(name)}) {
      const auto found = index_.find(candidate);
      if (found != index_.end()) return &decisions_[found->second];
    }
    if (names_.MakesNoDifference(names_.Resolve(name)))
      return static_cast<const Decision*>(nullptr);
    std::vector<std::string_view> known;
    for (const Decision& decision : decisions_) known.push_back(decision.name());
    return At(demand, ErrorKind::kUnknownName,
              fmt::format("the space has no decision {}", Quoted(name)), DidYouMean(name, known));
  }

  Result<void> AddOne(Demand demand, const Decision& decision) {
    if (decision.kind() == DecisionKind::kPermutation &&
        (demand.rule == kAllowed || demand.rule == kForbidden)) {
      for (std::string& label : demand.values) label = WithoutMissing(label);
    }
    Result<void> suits = Suits(demand, decision);
    if (!suits) return suits;
    if (demand.rule == kWhole) {
      demand.rule = kAllowed;
      demand.values = {fmt::format("{}", names_.Whole(decision.dimension()))};
    }
    const bool order =
        demand.rule == kOrder || demand.rule == kInnermost || demand.rule == kOutermost;
    if (order) {
      const Result<std::vector<std::string>> items = ItemsOf(demand, decision);
      if (!items) return items.error();
      demand.values = *items;
      if (demand.values.empty()) return {};
    }
    if (demand.rule == kRatio) {
      const Result<const Decision*> under = Find(demand, demand.values.front());
      if (!under) return under.error();
      if ((*under)->kind() != DecisionKind::kOrdinal) return NotANumber(demand, **under);
      demand.values.front() = (*under)->name();
    }
    made_.push_back({.demand = std::move(demand), .source = source_});
    return {};
  }

  // A whole order without the dimensions that have no loop.
  std::string WithoutMissing(const std::string& order) const {
    std::string kept;
    for (const std::string_view word : Split(order, ' ')) {
      const std::string item = names_.Item(std::string(word));
      if (!item.empty()) kept += (kept.empty() ? "" : " ") + item;
    }
    return kept;
  }

  static Error NotANumber(const Demand& demand, const Decision& decision) {
    return At(demand, ErrorKind::kBadValue,
              fmt::format("{} is not a number, so it has no limits", decision.name()));
  }

  static Result<void> Suits(const Demand& demand, const Decision& decision) {
    switch (demand.rule) {
      case kRange:
      case kRatio:
      case kWhole:
        if (decision.kind() != DecisionKind::kOrdinal) return NotANumber(demand, decision);
        return {};
      case kOrder:
      case kInnermost:
      case kOutermost:
        if (decision.kind() == DecisionKind::kPermutation) return {};
        return At(demand, ErrorKind::kBadValue,
                  fmt::format("{} is not an order, so its values have none", decision.name()));
      case kAllowed:
      case kForbidden: break;
      case kParallel:
      case kDataflow: return {};
    }
    for (const std::string& label : demand.values) {
      // A size that this layer cannot have is no mistake of writing.
      if (decision.kind() == DecisionKind::kOrdinal && IsWholeNumber(label)) continue;
      // Nor is a word that other levels or layers know.
      const auto words = decision.labels();
      if (decision.kind() == DecisionKind::kCategorical &&
          std::find(words.begin(), words.end(), label) != words.end()) {
        continue;
      }
      if (decision.Parse(label)) continue;
      const Error error = decision.Parse(label).error();
      return At(demand, error.kind, error.message);
    }
    return {};
  }

  // The items of the decision that a demand names; dimensions without a loop have no place.
  Result<std::vector<std::string>> ItemsOf(const Demand& demand, const Decision& decision) const {
    std::vector<std::string> items;
    for (const std::string& word : demand.values) {
      const std::string item = names_.Item(word);
      if (item.empty()) continue;
      const auto labels = decision.labels();
      if (std::find(labels.begin(), labels.end(), item) == labels.end()) {
        return At(demand, ErrorKind::kUnknownName,
                  fmt::format("{} has no item {}", decision.name(), Quoted(word)),
                  DidYouMean(word, labels));
      }
      items.push_back(item);
    }
    return items;
  }

  const std::span<const Decision> decisions_;
  const size_t num_open_;
  const SpaceNames& names_;
  std::unordered_map<std::string, size_t> index_;
  size_t source_ = 0;
  std::vector<ConcreteDemand> made_;
};

bool KeepValues(const Demand& demand, Decision& decision) {
  std::vector<bool> kept;
  const bool range = demand.rule == kRange;
  std::vector<bool> named(static_cast<size_t>(decision.size()), false);
  for (const std::string& label : demand.values) {
    if (const Result<int32_t> index = decision.Parse(label)) {
      named[static_cast<size_t>(*index)] = true;
    }
  }
  for (int32_t i = 0; i < decision.size(); ++i) {
    const auto value = static_cast<double>(decision.value(i));
    kept.push_back(range ? value >= demand.min && value <= demand.max
                         : named[static_cast<size_t>(i)] == (demand.rule == kAllowed));
  }
  return decision.Keep(kept);
}

bool KeepOrder(const Demand& demand, Decision& decision) {
  const auto labels = decision.labels();
  const auto position = [&](const std::string& item) {
    return static_cast<size_t>(std::find(labels.begin(), labels.end(), item) - labels.begin());
  };
  std::vector<size_t> chain;  // the outermost first
  for (const std::string& item : demand.values) chain.push_back(position(item));
  if (demand.rule != kOrder) std::reverse(chain.begin(), chain.end());
  for (size_t k = 0; k + 1 < chain.size(); ++k) {
    if (!decision.KeepBefore(chain[k], chain[k + 1])) return false;
  }
  if (demand.rule == kOrder) return true;
  for (size_t item = 0; item < labels.size(); ++item) {
    if (std::find(chain.begin(), chain.end(), item) != chain.end()) continue;
    const bool kept = demand.rule == kInnermost ? decision.KeepBefore(item, chain.front())
                                                : decision.KeepBefore(chain.back(), item);
    if (!kept) return false;
  }
  return true;
}

// A conflict of which nothing can be left out.
std::vector<size_t> Irreducible(size_t count,
                                const std::function<bool(const std::vector<bool>&)>& feasible) {
  std::vector<bool> active(count, true);
  for (size_t k = 0; k < count; ++k) {
    active[k] = false;
    if (feasible(active)) active[k] = true;
  }
  std::vector<size_t> members;
  for (size_t k = 0; k < count; ++k) {
    if (active[k]) members.push_back(k);
  }
  return members;
}

double Subsets(size_t count, size_t size) {
  double number = 1;
  for (size_t k = 0; k < size; ++k) {
    number *= static_cast<double>(count - k) / static_cast<double>(k + 1);
  }
  return number;
}

}  // namespace

Result<std::vector<Constraints::Demand>> SpaceNames::Dataflow(std::string_view name) const {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("the space knows no dataflow {}", Quoted(name))};
}

Result<std::vector<ConcreteDemand>> MakeConcrete(const Constraints& constraints,
                                                 std::span<const Decision> decisions,
                                                 size_t num_open, const SpaceNames& names) {
  return Concretizer(decisions, num_open, names).Run(constraints);
}

std::optional<std::vector<Relation>> Restrict(std::span<const ConcreteDemand> demands,
                                              const std::vector<bool>& active,
                                              std::vector<Decision>& decisions) {
  std::vector<Relation> relations;
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < decisions.size(); ++i) index.emplace(decisions[i].name(), i);
  for (const auto& [demand, source] : demands) {
    if (!active[source]) continue;
    if (demand.rule == kParallel) {
      relations.push_back({.over = std::string(kUtilization), .min = demand.min});
      continue;
    }
    if (demand.rule == kRatio) {
      relations.push_back({.over = demand.decision,
                           .under = demand.values.front(),
                           .min = demand.min,
                           .max = demand.max});
      continue;
    }
    Decision& decision = decisions[index.at(demand.decision)];
    const bool values =
        demand.rule == kAllowed || demand.rule == kForbidden || demand.rule == kRange;
    if (!(values ? KeepValues(demand, decision) : KeepOrder(demand, decision))) return std::nullopt;
  }
  return relations;
}

std::vector<size_t> SmallestConflict(
    size_t count, const std::function<bool(const std::vector<bool>&)>& feasible) {
  const std::vector<size_t> found = Irreducible(count, feasible);
  size_t tries = 0;
  for (size_t size = 1; size < found.size(); ++size) {
    if (Subsets(count, size) > static_cast<double>(kMostTries - tries)) break;
    // All sets of that size, in the order of their members.
    std::vector<size_t> members(size);
    std::iota(members.begin(), members.end(), size_t{0});
    while (true) {
      std::vector<bool> active(count, false);
      for (const size_t member : members) active[member] = true;
      ++tries;
      if (!feasible(active)) return members;
      size_t k = size;
      while (k > 0 && members[k - 1] == count - size + k - 1) --k;
      if (k == 0) break;
      ++members[k - 1];
      for (size_t j = k; j < size; ++j) members[j] = members[j - 1] + 1;
    }
  }
  return found;
}

std::string WhyEmpty(std::span<const ConcreteDemand> demands, const std::vector<size_t>& members,
                     std::span<const Decision> decisions) {
  if (members.size() != 1) return "";
  for (const auto& [demand, source] : demands) {
    if (source != members.front()) continue;
    const auto decision = std::ranges::find_if(
        decisions, [&](const Decision& d) { return d.name() == demand.decision; });
    if (decision == decisions.end() || decision->kind() == DecisionKind::kPermutation) continue;
    Decision left = *decision;
    if (demand.rule == kRatio || KeepValues(demand, left)) continue;
    constexpr int32_t kFew = 16;
    std::vector<std::string> labels;
    for (int32_t i = 0; i < decision->size(); ++i) labels.push_back(decision->Label(i));
    return decision->size() <= kFew
               ? fmt::format("{} is one of {}", decision->name(), fmt::join(labels, ", "))
               : fmt::format("{} is one of the {} values from {} to {}", decision->name(),
                             decision->size(), labels.front(), labels.back());
  }
  return "";
}

Error Conflict(const Constraints& constraints, const std::vector<size_t>& members,
               const std::string& why) {
  Error error{.kind = ErrorKind::kInfeasible, .message = "no mapping is possible"};
  if (!why.empty()) error.message += ": " + why;
  if (members.empty()) return error;
  std::vector<std::string> texts;
  for (const size_t member : members) {
    const Demand& demand = constraints.demands[member];
    texts.push_back(demand.where.line > 0
                        ? fmt::format("{} ({})", ToString(demand), ToString(demand.where))
                        : ToString(demand));
    error.conflict.push_back(texts.back());
  }
  error.message +=
      members.size() == 1
          ? fmt::format("; a constraint that cannot hold: {}", texts.front())
          : fmt::format("; constraints that do not go together: {}", fmt::join(texts, ", "));
  return error;
}

bool Relation::Holds(double over_value, double under_value) const {
  constexpr double kRounding = 1e-12;  // of limits such as 0.1
  return over_value >= min * under_value * (1 - kRounding) &&
         over_value <= max * under_value * (1 + kRounding);
}

}  // namespace tessera
