// A lower bound on energy that looks at every way to spread a problem over the array: which words
// an instance needs at least, which of them are the same for several, and how often they have to
// come again because its memory is small. Semantics `exact`, perfect factors; docs/bounds.md.
#ifndef TESSERA_COST_ARRAY_BOUND_H_
#define TESSERA_COST_ARRAY_BOUND_H_

#include <cstdint>
#include <vector>

#include "tessera/cost/loopnest/machine.h"
#include "tessera/cost/loopnest/problem_data.h"

namespace tessera {

// Contract:
//   Ownership  data and machine outlive it.
class ArrayBound {
 public:
  ArrayBound(const loopnest::ProblemData& data, const loopnest::Machine& machine);

  // No mapping with perfect factors of which levels hold these tensors takes less; 0 where nothing
  // is known. Tensors that the outermost levels do not hold are at the outermost of those that do
  // before the layer begins.
  double Energy(const std::vector<uint8_t>& keep) const;

 private:
  static constexpr int kMaxTensors = loopnest::kMaxTensors;

  // One product of parallel factors.
  struct Spread {
    double used = 1;                    // instances, all below the top
    double groups[kMaxTensors] = {};    // instances that need different words
    double distinct[kMaxTensors] = {};  // words that one of them needs at least
  };
  // A tensor's way from its home to the MACs.
  struct Path;

  bool HasLinks(const std::vector<uint8_t>& keep) const;
  bool MakePath(int v, const std::vector<uint8_t>& keep, Path& path) const;
  double EnergyOf(const Spread& spread, const std::vector<Path>& paths) const;
  bool Spreads();
  void AddSpread(const std::vector<int64_t>& factors);
  bool Meet(int a, int b) const;

  const loopnest::ProblemData& data_;
  const loopnest::Machine& machine_;
  int bottom_ = -1, top_ = -1;  // levels with several children: the innermost and the outermost
  double macs_ = 0;
  double elements_[kMaxTensors] = {};
  bool meets_[kMaxTensors][kMaxTensors] = {};
  std::vector<Spread> spreads_ = {};  // empty: nothing is known
};

}  // namespace tessera

#endif  // TESSERA_COST_ARRAY_BOUND_H_
