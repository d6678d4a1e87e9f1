// Searches with an auditor, problem by problem, and what it says of each rule in all.
#ifndef TESSERA_TESTS_EXACT_AUDITS_H_
#define TESSERA_TESTS_EXACT_AUDITS_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tessera/search/exact/audit.h"
#include "tessera/search/exact/mapper.h"

namespace tessera::exact {

class Audits {
 public:
  // Rules that come up more often than others are left alone after `enough` mappings.
  explicit Audits(int64_t enough) : enough_(enough) {}

  // Searches one problem for one goal with an auditor; a search before only finds a good mapping,
  // so that this one leaves out as much as it can. A few problems have very many orders; their
  // first rounds are enough.
  void Run(const LoopProblem& problem, const Hierarchy& machine, MapperOptions options,
           uint64_t seed, int64_t per_part, int64_t most, int rounds = 40);

  // Whether every rule but these has had enough.
  bool Enough(std::initializer_list<Rule> but = {}) const;
  void Print(const char* what) const;

  const RuleAudit& Of(Rule rule) const { return rules_[static_cast<size_t>(rule)]; }
  const std::array<RuleAudit, kRules>& rules() const { return rules_; }
  const std::string& first_violation() const { return first_violation_; }

 private:
  const int64_t enough_;
  std::array<RuleAudit, kRules> rules_ = {};
  std::string first_violation_;
};

}  // namespace tessera::exact

#endif  // TESSERA_TESTS_EXACT_AUDITS_H_
