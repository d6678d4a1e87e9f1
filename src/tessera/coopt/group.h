// What the baselines share. They tune configurations: an accelerator and one schedule for each
// layer of a group. On fixed hardware every layer is a group of its own, as AutoTVM and CHAMELEON
// have it; where hardware is decided too, all layers are one group, because they share it.
#ifndef TESSERA_COOPT_GROUP_H_
#define TESSERA_COOPT_GROUP_H_

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "tessera/coopt/searcher.h"
#include "tessera/part.h"

namespace tessera::coopt {

struct Configuration {
  uint32_t hardware = 0;
  std::vector<SchedulePoint> points;  // by layer of the group

  friend bool operator==(const Configuration&, const Configuration&) = default;
};
uint64_t HashOf(const Configuration& configuration);

// A configuration with its outcomes by layer; fewer than layers if the budget ended.
struct ConfigurationOutcome {
  Configuration configuration;
  std::vector<MeasuredOutcome> outcomes;

  bool valid() const;  // all of them
  double value() const;
};

// The space of a group's configurations.
class Group {
 public:
  Group(const JointSetup& setup, std::vector<size_t> layers);

  const JointSetup& setup() const { return setup_; }
  const CooptProblem& problem() const { return setup_.problem; }
  std::span<const size_t> layers() const { return layers_; }
  const Task& task(uint32_t hardware, size_t layer_of_group) const {
    return problem().task(hardware, layers_[layer_of_group]);
  }

  // Knobs are numbered: those of the hardware if it is decided, then those of each layer.
  size_t knobs() const { return hardware_knobs_ + layers_.size() * schedule_knobs_; }
  size_t hardware_knobs() const { return hardware_knobs_; }
  size_t schedule_knobs() const { return schedule_knobs_; }
  int64_t KnobSize(const Configuration& configuration, size_t knob) const;
  int64_t KnobIndex(const Configuration& configuration, size_t knob) const;

  // The configuration with another value of one knob; schedules follow the hardware to the nearest
  // sizes. False, and nothing changed, if the hardware does not exist, or if the schedule has no
  // program and the validity filter is on.
  bool Set(Configuration& configuration, size_t knob, int64_t index, CounterRng& rng) const;

  Configuration Sample(CounterRng& rng) const;
  // A point of a layer: any, or with the validity filter a valid one.
  SchedulePoint SamplePoint(uint32_t hardware, size_t layer_of_group, CounterRng& rng) const;

 private:
  bool Allowed(uint32_t hardware, size_t layer_of_group, const SchedulePoint& point) const;

  const JointSetup setup_;
  std::vector<size_t> layers_;
  size_t hardware_knobs_, schedule_knobs_;
};

// A baseline for one group.
class GroupTuner {
 public:
  virtual ~GroupTuner() = default;
  virtual std::vector<Configuration> Propose() = 0;
  virtual void Observe(std::span<const ConfigurationOutcome> outcomes) = 0;
};

// Runs one tuner per group.
class GroupSearcher : public JointSearcher {
 public:
  std::vector<Request> Propose() final;
  void Observe(std::span<const Measured> measured) final;

 protected:
  explicit GroupSearcher(const JointSetup& setup);

  // Called for every group by the constructor of a method.
  template <typename MakeTuner>
  void AddTuners(const MakeTuner& make) {
    for (const std::unique_ptr<Group>& group : groups_) tuners_.push_back(make(*group));
  }

 private:
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<GroupTuner>> tuners_;
  std::vector<std::vector<Configuration>> proposed_;  // by group
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_GROUP_H_
