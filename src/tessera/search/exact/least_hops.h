// How far words travel at least in the network below a level, whatever axes and order its parallel
// loops have. docs/optimality.md, B16.
#ifndef TESSERA_SEARCH_EXACT_LEAST_HOPS_H_
#define TESSERA_SEARCH_EXACT_LEAST_HOPS_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "tessera/search/exact/model.h"

namespace tessera::exact {

// Of one thread; choices of kept tensors share it.
class LeastHops {
 public:
  // `model` outlives it; tensors that its levels hold do not matter.
  explicit LeastHops(const Model& model) : model_(model) {}

  // By tensor: hops of a word on the average, if children ask for the same word exactly if they
  // agree in the tensor's dimensions. Semantics exact.
  using Hops = std::array<double, kMaxTensors>;
  const Hops& Of(int level, const int32_t* spatial);

 private:
  Hops Find(int level, const int32_t* spatial);

  const Model& model_;
  std::map<std::array<int32_t, kMaxDims + 1>, Hops> known_;
  std::vector<int64_t> places_;
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_LEAST_HOPS_H_
