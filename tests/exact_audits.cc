// What auditors say, rule by rule.
#include "exact_audits.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::exact {

void Audits::Run(const LoopProblem& problem, const Hierarchy& machine, MapperOptions options,
                 uint64_t seed, int64_t per_part, int64_t most, int rounds) {
  ThreadPool pool(1);
  const double scale = options.bound_scale;
  options.bound_scale = 1;
  const auto mapper = Mapper::Make(problem, machine, options);
  if (!mapper) return;
  for (int round = 0; round < rounds && (*mapper)->Step(pool); ++round) {
  }
  const Progress progress = (*mapper)->progress();
  if (!progress.best) return;
  Auditor auditor(options.goal, seed, per_part, most);
  options.bound_scale = scale;
  for (size_t r = 0; r < kRules; ++r) {
    if (rules_[r].audited >= enough_) auditor.Skip(static_cast<Rule>(r));
  }
  options.observer = &auditor;
  options.dive_width = 0;
  const auto audited = Mapper::Make(problem, machine, options);
  // A little above the optimum, so that the search still goes down to single orders.
  (*audited)->OfferValue(progress.best->value * 1.02);
  for (int round = 0; round < rounds && (*audited)->Step(pool); ++round) {
  }
  for (size_t r = 0; r < kRules; ++r) {
    rules_[r].audited += auditor.rules()[r].audited;
    rules_[r].violations += auditor.rules()[r].violations;
    rules_[r].tightest = std::max(rules_[r].tightest, auditor.rules()[r].tightest);
  }
  if (first_violation_.empty() && !auditor.first_violation().empty()) {
    first_violation_ = ToString(problem) + ", " + auditor.first_violation();
  }
}

bool Audits::Enough(std::initializer_list<Rule> but) const {
  for (size_t r = 0; r < kRules; ++r) {
    const bool counts = std::ranges::find(but, static_cast<Rule>(r)) == but.end();
    if (counts && rules_[r].audited < enough_) return false;
  }
  return true;
}

void Audits::Print(const char* what) const {
  fmt::print("{:12} {:>9} {:>10} {:>10}   {}\n", "rule", "audited", "violations", "tightest", what);
  for (size_t r = 0; r < kRules; ++r) {
    fmt::print("{:12} {:>9} {:>10} {:>10.6f}\n", kRuleNames[r], rules_[r].audited,
               rules_[r].violations, rules_[r].tightest);
  }
}

}  // namespace tessera::exact
