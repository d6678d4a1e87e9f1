// Evaluation of batches.
#include "tessera/search/evaluator.h"

#include <cmath>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace tessera {
namespace {

Outcome Checked(Outcome outcome) {
  if (!outcome.feasible() || std::isfinite(outcome.value)) return outcome;
  return Outcome::Failed(fmt::format("the objective is {}", outcome.value));
}

Outcome EvaluateSafely(const Problem& problem, const Point& point, Problem::Workspace& workspace) {
  // Problems of users may throw; a run must not end for it.
  try {
    return Checked(problem.Evaluate(point, workspace));
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
  if (problem_.EvaluateBatch(trials, pool_)) {
    for (Trial& trial : trials) trial.outcome = Checked(std::move(trial.outcome));
    return;
  }
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
