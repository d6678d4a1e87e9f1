#include "tessera/cost/loopnest/problem_data.h"

namespace tessera::loopnest {

ProblemData MakeProblemData(const LoopProblem& problem) {
  ProblemData data{.problem = problem};
  for (int v = 0; v < problem.num_tensors; ++v) {
    TensorData& tensor = data.tensors[v];
    for (const TensorRank& rank : problem.tensors[static_cast<size_t>(v)].view()) {
      tensor.simple = tensor.simple && rank.num_terms == 1;
      for (const RankTerm& term : rank.view()) tensor.dims |= 1u << term.dimension;
    }
  }
  return data;
}

}  // namespace tessera::loopnest
