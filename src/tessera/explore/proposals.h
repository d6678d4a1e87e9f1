// Machines that a search method proposes, instead of all of them.
#ifndef TESSERA_EXPLORE_PROPOSALS_H_
#define TESSERA_EXPLORE_PROPOSALS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/arch/template.h"
#include "tessera/cooptimize.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// The choices of a template as a decision space; legal are those machines that can be built and are
// within limits.
class TemplateSpace final : public DecisionSpace {
 public:
  // `numbers` of the legal machines ascend and are not empty. The template outlives the space.
  TemplateSpace(const MachineTemplate& machines, std::vector<int64_t> numbers);

  Result<void> Check(const Point& point) const override;
  // The legal machine that differs in the fewest steps.
  void Repair(Point& point) const override;
  double Log10Size() const override;

  int64_t NumberOf(const Point& point) const;
  Point PointOf(int64_t number) const;

 private:
  const MachineTemplate& machines_;
  const std::vector<int64_t> numbers_;
};

// What machines cost, by their numbers.
using EvaluateMachines =
    std::function<Result<std::vector<Outcome>>(const std::vector<int64_t>& numbers)>;

// Asks the job's method for machines until its samples are used up.
Result<void> ProposeMachines(const ExploreJob& job, const std::vector<int64_t>& numbers,
                             const EvaluateMachines& evaluate,
                             const std::function<bool()>& stopped);

}  // namespace tessera

#endif  // TESSERA_EXPLORE_PROPOSALS_H_
