// Random small problems, machines and mappings for tests of model `loopnest`.
#ifndef TESSERA_TESTS_LOOPNEST_RANDOM_H_
#define TESSERA_TESTS_LOOPNEST_RANDOM_H_

#include <cstdint>
#include <string>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/part.h"

namespace tessera {

struct RandomCaseOptions {
  // Product of the bounds at most. Default: 400.
  int64_t max_macs = 400;

  // Levels of the machine at most. Default: 4.
  int max_levels = 4;

  // Only factors that divide. Default: false.
  bool perfect = false;

  // Only problems of few dimensions, where larger sizes make no larger spaces: 1-D windows, and
  // ranks of one dimension with a coefficient. Default: false.
  bool narrow = false;

  // Tensors have widths of their own, given by the problem, by the machine or by neither, and
  // levels words of several sizes. Default: false.
  bool widths = false;
};

// One random evaluation. The mapping is valid, and may be rejected.
struct RandomCase {
  std::string family = {};  // "stride 2", "batched gemm", ...
  LoopProblem problem = {};
  Hierarchy machine = {};
  LoopMapping mapping = {};
};

RandomCase MakeRandomCase(CounterRng& rng, const RandomCaseOptions& options = {});

// A random machine, and a random mapping of a problem onto one, by themselves.
Hierarchy MakeRandomMachine(CounterRng& rng, int max_levels);
LoopMapping MakeRandomMapping(CounterRng& rng, const LoopProblem& problem, const Hierarchy& machine,
                              bool perfect);

// What makes a case interesting, after the loops that really run: those that stop at the bound.
struct CaseFeatures {
  bool bypass = false;             // some level does not hold some tensor
  bool spatial_reduction = false;  // a spatial loop over a dimension that no output has
  bool deep = false;               // three or more levels
  bool imperfect_temporal = false, imperfect_spatial = false;
};
CaseFeatures FeaturesOf(const RandomCase& random_case);

}  // namespace tessera

#endif  // TESSERA_TESTS_LOOPNEST_RANDOM_H_
