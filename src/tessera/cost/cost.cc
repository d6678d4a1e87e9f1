#include "tessera/cost/cost.h"

namespace tessera {

std::vector<std::string_view> CostFlags::Names() const {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kCostFlagNames.size(); ++i) {
    if (Has(static_cast<CostFlag>(i))) names.push_back(kCostFlagNames[i]);
  }
  return names;
}

}  // namespace tessera
