// The contract of DecisionSpace, line by line.
#include "tessera/space/conformance.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr int kPoints = 200;

Error Breach(const DecisionSpace& space, std::string_view line, const Point& point) {
  return Error{.kind = ErrorKind::kInternal,
               .message = fmt::format("space breaks '{}' at {}", line, space.Describe(point))};
}

Point AnyPoint(const DecisionSpace& space, CounterRng& rng) {
  Point point(space.size());
  for (size_t i = 0; i < space.size(); ++i) {
    point[i] = static_cast<int32_t>(rng.UniformInt(space.decisions()[i].size()));
  }
  return point;
}

Result<void> CheckLabels(const DecisionSpace& space, const Point& point) {
  for (size_t i = 0; i < space.size(); ++i) {
    const Decision& decision = space.decisions()[i];
    const Result<int32_t> parsed = decision.Parse(decision.Label(point[i]));
    if (!parsed || *parsed != point[i]) return Breach(space, "labels read back", point);
    if (decision.Find(decision.value(point[i])) != point[i]) {
      return Breach(space, "values are found", point);
    }
  }
  return {};
}

}  // namespace

Result<void> CheckSpace(const DecisionSpace& space, uint64_t seed) {
  if (!std::isfinite(space.Log10Size()) || space.Log10Size() < 0) {
    return Breach(space, "log10 size is a number", Point(space.size()));
  }
  for (uint64_t step = 0; step < kPoints; ++step) {
    CounterRng rng(seed, StreamId("space.conformance"), step);
    Point repaired = AnyPoint(space, rng);
    space.Repair(repaired);
    if (!space.Check(repaired)) return Breach(space, "Repair gives legal points", repaired);
    Point again = repaired;
    space.Repair(again);
    if (again != repaired) return Breach(space, "Repair leaves legal points", repaired);

    CounterRng once = rng, twice = rng;
    const Point sample = space.Sample(once, 16);
    if (!space.Check(sample)) return Breach(space, "Sample gives legal points", sample);
    if (space.Sample(twice, 16) != sample) return Breach(space, "Sample repeats", sample);
    CounterRng other = once;
    const Point neighbor = space.Neighbor(sample, once);
    if (!space.Check(neighbor)) return Breach(space, "Neighbor gives legal points", neighbor);
    if (space.Neighbor(sample, other) != neighbor) {
      return Breach(space, "Neighbor repeats", sample);
    }
    if (Result<void> labels = CheckLabels(space, sample); !labels) return labels;

    Point outside = sample;
    if (space.size() > 0) outside[0] = space.decisions()[0].size();
    if (space.size() > 0 && space.Check(outside)) return Breach(space, "Range", outside);
  }
  return {};
}

}  // namespace tessera
