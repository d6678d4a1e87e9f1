// What costs are made of, as far as all models share it.
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/cost.h"

namespace tessera {
namespace {

// Every part of the energy.
std::vector<double*> PartsOf(CostBreakdown& breakdown) {
  std::vector<double*> parts = {&breakdown.mac_pj, &breakdown.leakage_pj};
  for (LevelShare& level : breakdown.levels) {
    for (TensorShare& tensor : level.tensors) parts.push_back(&tensor.energy_pj);
  }
  return parts;
}

int64_t WordsOf(const TensorShare& tensor, int64_t elements) {
  if (tensor.element_words == 1) return elements;
  return static_cast<int64_t>(std::ceil(static_cast<double>(elements) * tensor.element_words));
}

}  // namespace

int64_t LevelShare::used_words() const {
  int64_t words = 0;
  for (const TensorShare& tensor : tensors)
    words += tensor.kept ? WordsOf(tensor, tensor.tile_words) : 0;
  return words;
}

int64_t LevelShare::moved_words() const {
  int64_t words = 0;
  for (const TensorShare& tensor : tensors) {
    words += WordsOf(tensor, tensor.reads + tensor.fills + tensor.updates);
  }
  return words;
}

double LevelShare::energy_pj() const {
  double sum = 0;
  for (const TensorShare& tensor : tensors) sum += tensor.energy_pj;
  return sum;
}

// Sums of multiples of one unit that stay below 2^53 units are exact, whatever their order. So all
// parts are rounded to the last place of the total, and what that leaves goes to the largest part.
void SettleParts(CostBreakdown& breakdown) {
  const double total = breakdown.cost.energy_pj;
  if (!std::isfinite(total) || total <= 0) return;
  const double above = std::nextafter(total, std::numeric_limits<double>::infinity());
  const double unit = above - total;
  double* largest = &breakdown.mac_pj;
  double left = total;
  for (double* part : PartsOf(breakdown)) {
    *part = std::round(*part / unit) * unit;
    left -= *part;
    if (*part > *largest) largest = part;
  }
  *largest += left;
}

Result<CostBreakdown> ConfiguredModel::BreakDown(const Layer& /*layer*/,
                                                 const Accelerator& /*accelerator*/,
                                                 const Mapping& /*mapping*/,
                                                 bool /*any_keep*/) const {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = "the cost model knows what a mapping costs, but not what that is made of",
               .hint = "models loopnest and maestro do"};
}

}  // namespace tessera
