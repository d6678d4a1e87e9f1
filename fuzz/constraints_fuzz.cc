// Constraints on mappings: any text gives demands or an error, and demands are applied or refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/space.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const Result<std::string> text =
      ToText(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!text) return 0;
  const Result<Constraints> constraints = ParseConstraints(*text, "input");
  if (!constraints) return 0;
  std::vector<Decision> decisions = {Decision::Ordinal("k_l2", {1, 2, 4, 8, 16}),
                                     Decision::Categorical("parallel_l2", {"K", "C"}),
                                     Decision::Order("order_l2", {"K", "C", "Y", "X"})};
  static_cast<void>(Apply(*constraints, decisions).ok());
  return 0;
}
