// Training runs as `tessera train` shows them.
#ifndef TESSERA_REPORT_TRAIN_REPORT_H_
#define TESSERA_REPORT_TRAIN_REPORT_H_

#include "tessera/env.h"
#include "tessera/report/output.h"
#include "tessera/report/run_views.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

Result<RunView> ViewOfTrain(const TrainRunResult& result);

// The best mapping that agents of an environment of mappings came by; nothing in others.
Result<void> ShowFound(const Env& env, Output& output);

}  // namespace tessera

#endif  // TESSERA_REPORT_TRAIN_REPORT_H_
