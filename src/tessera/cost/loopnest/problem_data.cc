// Facts about tensors.
#include "tessera/cost/loopnest/problem_data.h"

namespace tessera::loopnest {
namespace {

void AddToComponents(uint32_t dims, int rank, TensorData& tensor) {
  // Merges all components that the rank touches into one, at the place of the first.
  int into = tensor.num_components;
  for (int k = tensor.num_components - 1; k >= 0; --k) {
    if ((tensor.component_dims[k] & dims) != 0) into = k;
  }
  if (into == tensor.num_components) ++tensor.num_components;
  tensor.component_dims[into] |= dims;
  tensor.component_ranks[into] |= 1u << rank;
  for (int k = tensor.num_components - 1; k > into; --k) {
    if ((tensor.component_dims[k] & dims) == 0) continue;
    tensor.component_dims[into] |= tensor.component_dims[k];
    tensor.component_ranks[into] |= tensor.component_ranks[k];
    --tensor.num_components;
    tensor.component_dims[k] = tensor.component_dims[tensor.num_components];
    tensor.component_ranks[k] = tensor.component_ranks[tensor.num_components];
    tensor.component_dims[tensor.num_components] = 0;
    tensor.component_ranks[tensor.num_components] = 0;
  }
}

}  // namespace

ProblemData MakeProblemData(const LoopProblem& problem) {
  ProblemData data{.problem = problem};
  for (int v = 0; v < problem.num_tensors; ++v) {
    TensorData& tensor = data.tensors[v];
    int r = 0;
    for (const TensorRank& rank : problem.tensors[static_cast<size_t>(v)].view()) {
      tensor.simple = tensor.simple && rank.num_terms == 1;
      uint32_t dims = 0;
      for (const RankTerm& term : rank.view()) {
        dims |= 1u << term.dimension;
        tensor.coefficients[term.dimension][r] = term.coefficient;
      }
      tensor.shares = tensor.shares || (tensor.dims & dims) != 0;
      tensor.dims |= dims;
      tensor.ranks[r] = MakeRankShape(rank);
      AddToComponents(dims, r++, tensor);
    }
  }
  return data;
}

}  // namespace tessera::loopnest
