// Training runs as `tessera train` shows them.
#ifndef TESSERA_REPORT_TRAIN_REPORT_H_
#define TESSERA_REPORT_TRAIN_REPORT_H_

#include "tessera/report/run_views.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

Result<RunView> ViewOfTrain(const TrainRunResult& result);

}  // namespace tessera

#endif  // TESSERA_REPORT_TRAIN_REPORT_H_
