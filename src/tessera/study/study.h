// The work units of a study as they stand in the folder of its run, and how one of them is
// computed.
#ifndef TESSERA_STUDY_STUDY_H_
#define TESSERA_STUDY_STUDY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/runs.h"

namespace tessera {

inline constexpr std::string_view kUnitsFile = "inputs/units.jsonl";
inline constexpr size_t kUnitIdDigits = 16;

// A line of units.jsonl; `settings` is an object, as mapper/map_settings.h writes it.
std::string UnitLine(const StudyUnit& unit, const std::string& settings);

// The settings of a run.
std::string StudySettings(const std::string& name, const StudyPart& part);

// Contract: Job and the units may be used by several threads at once.
class Study {
 public:
  static Result<Study> Load(const RunDirectory& directory);

  const std::string& name() const { return name_; }
  const std::string& id() const { return id_; }
  const StudyPart& part() const { return part_; }
  // Of all parts, in order.
  const std::vector<StudyUnit>& units() const { return units_; }

  // The unit of a number.
  Result<const StudyUnit*> Find(int64_t number) const;

  // The same study with the units of all parts.
  Study Whole() const;

  // Whether limits of seconds make the unit's record depend on the machine.
  Result<bool> DependsOnClock(const StudyUnit& unit) const;

  // An error if a unit would run a program of its own, and that is not allowed.
  Result<void> CheckExec(bool allowed) const;

  Result<MapSettings> Settings(const StudyUnit& unit) const;
  Result<MapJob> Job(const StudyUnit& unit) const;

 private:
  // Networks and machines that units share are read once.
  struct Inputs {
    std::mutex mutex;
    std::map<std::string, Network> networks;
    std::map<std::string, Accelerator> accelerators;
  };

  std::string folder_, name_, id_;
  StudyPart part_;
  std::vector<StudyUnit> units_;
  std::vector<std::string> settings_;  // of each unit
  std::shared_ptr<Inputs> inputs_ = std::make_shared<Inputs>();
};

// The id of the study with this units.jsonl.
std::string StudyId(std::string_view units);

}  // namespace tessera

#endif  // TESSERA_STUDY_STUDY_H_
