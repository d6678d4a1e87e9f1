// From a study file to work units that need nothing but the folder of their run: names are looked
// up, networks and machines are copied, every unit is checked before the first one starts.
#ifndef TESSERA_STUDY_STUDY_PLAN_H_
#define TESSERA_STUDY_STUDY_PLAN_H_

#include <string>

#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

struct StudyPlan {
  std::string name = {};
  RunDirectory::Files inputs = {};  // units.jsonl, the study file, and everything units refer to
};

// Files that a study names are relative to its own folder. Errors have the place in the study file
// of what they are about, or the place in the file that it names; equal units are errors.
Result<StudyPlan> PlanStudy(const std::string& file);

}  // namespace tessera

#endif  // TESSERA_STUDY_STUDY_PLAN_H_
