// The descriptors of the kinds of runs: one line each.
#ifndef TESSERA_STUDY_KINDS_H_
#define TESSERA_STUDY_KINDS_H_

#include "tessera/runs.h"

namespace tessera {

RunKind MapRunKind();
RunKind CompareRunKind();
RunKind CooptimizeRunKind();
RunKind ExploreRunKind();
RunKind SweepRunKind();
RunKind TrainRunKind();
RunKind PolicyRunKind();
RunKind StudyRunKind();

}  // namespace tessera

#endif  // TESSERA_STUDY_KINDS_H_
