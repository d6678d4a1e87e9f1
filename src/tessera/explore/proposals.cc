// Search methods on the choices of a template.
#include "tessera/explore/proposals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tessera/explore/hardware_agent.h"

namespace tessera {
namespace {

std::vector<Decision> DecisionsOf(const MachineTemplate& machines) {
  std::vector<Decision> decisions;
  for (const TemplateField& field : machines.fields()) {
    bool ascending = true;
    std::vector<int64_t> places;
    std::vector<std::string> labels;
    for (size_t i = 0; i < field.values.size(); ++i) {
      const std::optional<double> number = field.Number(i);
      ascending = ascending && number && (i == 0 || *field.Number(i - 1) < *number);
      places.push_back(static_cast<int64_t>(i));
      labels.push_back(field.Text(i));
    }
    decisions.push_back(ascending ? Decision::Ordinal(field.path, std::move(places))
                                  : Decision::Categorical(field.path, std::move(labels)));
  }
  return decisions;
}

}  // namespace

TemplateSpace::TemplateSpace(const MachineTemplate& machines, std::vector<int64_t> numbers)
    : DecisionSpace(DecisionsOf(machines)), machines_(machines), numbers_(std::move(numbers)) {}

int64_t TemplateSpace::NumberOf(const Point& point) const {
  MachineTemplate::Choice choice;
  for (size_t i = 0; i < size(); ++i) choice.push_back(point[i]);
  return machines_.NumberOf(choice);
}

Point TemplateSpace::PointOf(int64_t number) const {
  const MachineTemplate::Choice choice = machines_.At(number);
  Point point(size());
  for (size_t i = 0; i < size(); ++i) point[i] = choice[i];
  return point;
}

Result<void> TemplateSpace::Check(const Point& point) const {
  if (Result<void> in_range = CheckRange(point); !in_range) return in_range;
  if (std::ranges::binary_search(numbers_, NumberOf(point))) return {};
  return Error{.kind = ErrorKind::kInfeasible,
               .message = "the machine cannot be built, or exceeds a limit"};
}

void TemplateSpace::Repair(Point& point) const {
  if (std::ranges::binary_search(numbers_, NumberOf(point))) return;
  int64_t nearest = numbers_.front(), least = std::numeric_limits<int64_t>::max();
  for (const int64_t number : numbers_) {
    const MachineTemplate::Choice choice = machines_.At(number);
    int64_t steps = 0;
    for (size_t i = 0; i < size(); ++i) steps += std::abs(choice[i] - point[i]);
    if (steps >= least) continue;
    least = steps;
    nearest = number;
  }
  point = PointOf(nearest);
}

double TemplateSpace::Log10Size() const { return std::log10(static_cast<double>(numbers_.size())); }

Result<void> ProposeMachines(const ExploreJob& job, const std::vector<int64_t>& numbers,
                             const EvaluateMachines& evaluate,
                             const std::function<bool()>& stopped) {
  const TemplateSpace space(*job.machines, numbers);
  const Result<MethodChoice> method = ParseMethodChoice(job.settings.method, ExploreMethods());
  if (!method) return method.error();
  const SearchSetup setup{.space = space,
                          .seed = static_cast<uint64_t>(job.settings.seed),
                          .samples = job.settings.samples};
  Result<std::unique_ptr<Searcher>> searcher = method->Make(setup);
  if (!searcher) return searcher.error();
  constexpr int64_t kBatch = 8;
  for (int64_t taken = 0; taken < job.settings.samples && !stopped();) {
    const std::vector<Point> points =
        (*searcher)->Propose(std::min(kBatch, job.settings.samples - taken));
    if (points.empty()) return {};
    std::vector<int64_t> asked;
    for (const Point& point : points) asked.push_back(space.NumberOf(point));
    Result<std::vector<Outcome>> outcomes = evaluate(asked);
    if (!outcomes) return outcomes.error();
    std::vector<Trial> trials;
    for (size_t i = 0; i < points.size(); ++i) trials.push_back({points[i], (*outcomes)[i]});
    (*searcher)->Observe(trials);
    taken += std::ssize(points);
  }
  return {};
}

const MethodList& ExploreMethods() {
  static const MethodInfo kExhaustive = {
      .name = "exhaustive",
      .summary = "all machines of a template: bounds rule out most, the rest is mapped",
      .proves = true};
  static const MethodInfo kDcoc = HardwareAgentMethod();
  static const MethodList kMethods = [] {
    std::vector<const MethodInfo*> methods = {&kExhaustive, &kDcoc};
    for (const std::string_view name : {"random", "ga", "bo"}) {
      methods.push_back(*SearchMethods().Find(name));
    }
    return MethodList("method of exploration", std::move(methods));
  }();
  return kMethods;
}

}  // namespace tessera
