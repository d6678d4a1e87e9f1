// Suffixes are counted per name, so that ten thousand equal names take linear time.
#include "tessera/workload/unique_names.h"

#include <fmt/format.h>

namespace tessera {

std::string UniqueNames::Add(std::string name) {
  if (name.empty()) name = "layer";
  if (names_.insert(name).second) return name;
  for (int64_t& suffix = next_suffix_.try_emplace(name, 2).first->second;; ++suffix) {
    std::string candidate = fmt::format("{}~{}", name, suffix);
    if (names_.insert(candidate).second) return candidate;
  }
}

}  // namespace tessera
