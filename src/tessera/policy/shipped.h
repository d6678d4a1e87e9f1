// Policies by name or file: those that ship with the program, and those that somebody trained.
#ifndef TESSERA_POLICY_SHIPPED_H_
#define TESSERA_POLICY_SHIPPED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/policy/networks.h"
#include "tessera/result.h"

namespace tessera::policy {

struct ShippedPolicy {
  std::string name = {};
  std::string model = {};  // the cost model whose mappings it makes
  std::string summary = {};
  std::string command = {};  // that trains it again
  int64_t seed = 1;
  std::string data_hash = {};  // of the exercises it was trained on
  std::string sha256 = {};     // of its file
  std::string_view bytes = {};
};

// Sorted by name.
const std::vector<ShippedPolicy>& ShippedPolicies();

// One by its name, without its hash; null: there is none.
const ShippedPolicy* FindShipped(std::string_view name);

// The policy that "default" stands for with a cost model; null: there is none.
const ShippedPolicy* DefaultPolicy(std::string_view model);

// Loads a policy: "default", the name of a shipped one, or a file. Errors: files of something else,
// and models without a shipped policy.
Result<std::shared_ptr<const Networks>> LoadPolicy(const std::string& name_or_path,
                                                   std::string_view model);

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_SHIPPED_H_
