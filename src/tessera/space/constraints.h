// What a user demands of mappings, beyond what the machine does. From YAML:
//
//   format: tessera-constraints-1
//   fixed: {parallel_l2: K, k_l2: 16}          # a decision has this value
//   forbidden: {cluster: [1, 2]}               # or has none of these
//   order: {order_l2: [[C, K], [C, Y, X]]}     # C outside K; C outside Y outside X
#ifndef TESSERA_SPACE_CONSTRAINTS_H_
#define TESSERA_SPACE_CONSTRAINTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/result.h"
#include "tessera/space/decision.h"

namespace tessera {

struct Constraints {
  enum class Rule { kFixed, kForbidden, kOrder };

  // One line of a file: a decision, what is demanded of it, and the labels or items.
  struct Demand {
    std::string decision;
    Rule rule = Rule::kFixed;
    std::vector<std::string> values = {};
    Where where = {};
  };

  std::vector<Demand> demands;
};

Result<Constraints> ParseConstraints(std::string_view text, const std::string& file);
Result<Constraints> ReadConstraints(const std::string& path);

// Removes from `decisions` what the constraints rule out. Names and values that do not exist are
// errors with a hint; a decision that is left without a value is infeasible.
Result<void> Apply(const Constraints& constraints, std::vector<Decision>& decisions);

}  // namespace tessera

#endif  // TESSERA_SPACE_CONSTRAINTS_H_
