// Batches of points to outcomes, on the threads of a pool, whatever goes wrong inside a problem.
#ifndef TESSERA_SEARCH_EVALUATOR_H_
#define TESSERA_SEARCH_EVALUATOR_H_

#include <memory>
#include <span>
#include <vector>

#include "tessera/part.h"
#include "tessera/space.h"

namespace tessera {

// Contract:
//   Threads      used by one thread at a time.
//   Determinism  outcomes do not depend on the number of threads.
//   Failures     an exception or an objective that is not a number is an outcome of kind kFailed.
//   Ownership    the problem and the pool outlive the evaluator.
class Evaluator {
 public:
  Evaluator(const Problem& problem, ThreadPool& pool);

  const Problem& problem() const { return problem_; }

  // trials[i].outcome becomes the outcome of trials[i].point.
  void Evaluate(std::span<Trial> trials);

 private:
  const Problem& problem_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<Problem::Workspace>> workspaces_;  // one per thread
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_EVALUATOR_H_
