// Checks that every method must pass, one per line of the contracts of Searcher and of
// coopt::JointSearcher, which share them. Run over the registries, they cover a new method before
// it has a test.
#ifndef TESSERA_SEARCH_CONFORMANCE_H_
#define TESSERA_SEARCH_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/result.h"
#include "tessera/search.h"
#include "tessera/space.h"

namespace tessera {

// What a searcher is told of its points.
enum class News : uint8_t {
  kTruth,
  kInfeasible,  // of all of them; and so on
  kFailed,      // of a joint searcher: infeasible
  kEqual,
  kFree,
  kHuge,
  kMixed,
};

// A searcher of either kind as its contract sees it: it proposes, and is told.
class Contestant {
 public:
  virtual ~Contestant() = default;

  // Proposals in words, so that equal ones are equal; at most n where the kind has such a limit.
  // The error is for a proposal that its contract does not allow.
  virtual Result<std::vector<std::string>> Propose(int64_t n) = 0;

  // Tells of all that was proposed. What the searcher was shown is overwritten afterwards.
  virtual void Observe(News news) = 0;

  virtual std::vector<Note> Notes() const { return {}; }
};

// A method on a problem.
struct ContractSubject {
  const MethodInfo& method;
  std::function<Result<std::unique_ptr<Contestant>>(uint64_t seed, const Assignments& settings)>
      make;
  // Evaluations so far that a contestant must not cause by itself.
  std::function<int64_t()> evaluations = [] { return int64_t{0}; };
};

// All lines of the contracts; the error names the method and the line that it breaks.
Result<void> CheckContract(const ContractSubject& subject, uint64_t seed);

// The subject of a method of one space. The problem outlives it.
ContractSubject SubjectOf(const MethodInfo& method, const Problem& problem);

// Both in one.
Result<void> CheckMethod(const MethodInfo& method, const Problem& problem, uint64_t seed);

}  // namespace tessera

#endif  // TESSERA_SEARCH_CONFORMANCE_H_
