// Evaluation of batches.
#include "tessera/search/evaluator.h"

#include <cmath>
#include <exception>

#include <fmt/format.h>

namespace tessera {
namespace {

Outcome EvaluateSafely(const Problem& problem, const Point& point, Problem::Workspace& workspace) {
  // Problems of users may throw; a run must not end for it.
  try {
    Outcome outcome = problem.Evaluate(point, workspace);
    if (outcome.feasible() && !std::isfinite(outcome.value)) {
      return Outcome::Failed(fmt::format("the objective is {}", outcome.value));
    }
    return outcome;
  } catch (const std::exception& exception) {
    return Outcome::Failed(fmt::format("the evaluation threw: {}", exception.what()));
  } catch (...) {
    return Outcome::Failed("the evaluation threw something unknown");
  }
}

}  // namespace

Evaluator::Evaluator(const Problem& problem, ThreadPool& pool) : problem_(problem), pool_(pool) {
  for (int i = 0; i < pool.threads(); ++i) workspaces_.push_back(problem.MakeWorkspace());
}

void Evaluator::Evaluate(std::span<Trial> trials) {
  constexpr int64_t kChunk = 4;  // Costs of points differ widely, so chunks are small.
  pool_.ParallelFor(std::ssize(trials), kChunk, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) {
      Trial& trial = trials[static_cast<size_t>(i)];
      trial.outcome =
          EvaluateSafely(problem_, trial.point, *workspaces_[static_cast<size_t>(worker)]);
    }
  });
}

}  // namespace tessera
