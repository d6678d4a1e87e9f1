#include "tessera/coopt/group.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tessera::coopt {
namespace {

// Draws of a valid point before a known one is taken.
constexpr int kRedraws = 64;

}  // namespace

uint64_t HashOf(const Configuration& configuration) {
  uint64_t hash = configuration.hardware + 1;
  for (const SchedulePoint& point : configuration.points) {
    hash = (hash ^ HashOf(point)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

bool ConfigurationOutcome::valid() const {
  return outcomes.size() == configuration.points.size() &&
         std::all_of(outcomes.begin(), outcomes.end(),
                     [](const MeasuredOutcome& o) { return o.valid; });
}

double ConfigurationOutcome::value() const {
  double sum = 0;
  for (const MeasuredOutcome& outcome : outcomes) sum += outcome.value;
  return sum;
}

Group::Group(const JointSetup& setup, std::vector<size_t> layers)
    : setup_(setup),
      layers_(std::move(layers)),
      hardware_knobs_(setup.problem.hardware().fixed() ? 0 : setup.problem.hardware().knobs()),
      schedule_knobs_(setup.problem.task(0, layers_.front()).space.size()) {}

int64_t Group::KnobSize(const Configuration& configuration, size_t knob) const {
  if (knob < hardware_knobs_) return std::ssize(problem().hardware().values(knob));
  const size_t at = knob - hardware_knobs_;
  const Task& own = task(configuration.hardware, at / schedule_knobs_);
  return own.space.decisions()[at % schedule_knobs_].size();
}

int64_t Group::KnobIndex(const Configuration& configuration, size_t knob) const {
  if (knob < hardware_knobs_) return problem().hardware().point(configuration.hardware)[knob];
  const size_t at = knob - hardware_knobs_;
  return configuration.points[at / schedule_knobs_][at % schedule_knobs_];
}

bool Group::Allowed(uint32_t hardware, size_t layer_of_group, const SchedulePoint& point) const {
  return !setup_.validity_filter || task(hardware, layer_of_group).space.Valid(point);
}

bool Group::Set(Configuration& configuration, size_t knob, int64_t index, CounterRng& rng) const {
  if (knob >= hardware_knobs_) {
    const size_t at = knob - hardware_knobs_, layer = at / schedule_knobs_;
    SchedulePoint point = configuration.points[layer];
    point[at % schedule_knobs_] = static_cast<uint8_t>(index);
    if (!Allowed(configuration.hardware, layer, point)) return false;
    configuration.points[layer] = point;
    return true;
  }
  HardwarePoint wanted = problem().hardware().point(configuration.hardware);
  wanted[knob] = static_cast<uint8_t>(index);
  const std::optional<size_t> found = problem().hardware().Find(wanted);
  if (!found) return false;
  const auto hardware = static_cast<uint32_t>(*found);
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    const Task& from = task(configuration.hardware, layer);
    SchedulePoint& point = configuration.points[layer];
    point = task(hardware, layer).space.Translate(from.space, point);
    if (!Allowed(hardware, layer, point)) point = SamplePoint(hardware, layer, rng);
  }
  configuration.hardware = hardware;
  return true;
}

SchedulePoint Group::SamplePoint(uint32_t hardware, size_t layer_of_group, CounterRng& rng) const {
  const Task& own = task(hardware, layer_of_group);
  if (!setup_.validity_filter || own.candidates.empty()) return own.space.AnyPoint(rng);
  if (!own.space.enumerates()) {
    for (int i = 0; i < kRedraws; ++i) {
      const SchedulePoint point = own.space.AnyPoint(rng);
      if (own.space.Valid(point)) return point;
    }
  }
  return own.candidates[static_cast<size_t>(rng.UniformInt(std::ssize(own.candidates)))];
}

Configuration Group::Sample(CounterRng& rng) const {
  Configuration configuration;
  configuration.hardware =
      static_cast<uint32_t>(rng.UniformInt(static_cast<int64_t>(problem().hardware().size())));
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    configuration.points.push_back(SamplePoint(configuration.hardware, layer, rng));
  }
  return configuration;
}

GroupSearcher::GroupSearcher(const JointSetup& setup) {
  std::vector<size_t> all(setup.problem.layers().size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (!setup.problem.hardware().fixed()) {
    groups_.push_back(std::make_unique<Group>(setup, all));
    return;
  }
  for (const size_t layer : all) {
    // Layers of equal size would otherwise draw equal numbers.
    JointSetup own = setup;
    own.seed = setup.seed * 1'000'003 + layer;
    groups_.push_back(std::make_unique<Group>(own, std::vector<size_t>{layer}));
  }
}

std::vector<Request> GroupSearcher::Propose() {
  std::vector<Request> requests;
  proposed_.clear();
  for (size_t g = 0; g < groups_.size(); ++g) {
    proposed_.push_back(tuners_[g]->Propose());
    for (const Configuration& configuration : proposed_.back()) {
      for (size_t layer = 0; layer < configuration.points.size(); ++layer) {
        requests.push_back({configuration.hardware,
                            static_cast<uint32_t>(groups_[g]->layers()[layer]),
                            configuration.points[layer]});
      }
    }
  }
  return requests;
}

void GroupSearcher::Observe(std::span<const Measured> measured) {
  std::unordered_map<Request, const MeasuredOutcome*, RequestHash> known;
  for (const Measured& item : measured) known.emplace(item.request, &item.outcome);
  for (size_t g = 0; g < groups_.size(); ++g) {
    std::vector<ConfigurationOutcome> outcomes;
    for (Configuration& configuration : proposed_[g]) {
      ConfigurationOutcome outcome = {std::move(configuration), {}};
      for (size_t layer = 0; layer < outcome.configuration.points.size(); ++layer) {
        const Request request = {outcome.configuration.hardware,
                                 static_cast<uint32_t>(groups_[g]->layers()[layer]),
                                 outcome.configuration.points[layer]};
        const auto found = known.find(request);
        if (found != known.end()) outcome.outcomes.push_back(*found->second);
      }
      if (outcome.outcomes.size() == outcome.configuration.points.size()) {
        outcomes.push_back(std::move(outcome));
      }
    }
    if (!outcomes.empty()) tuners_[g]->Observe(outcomes);
  }
}

}  // namespace tessera::coopt
