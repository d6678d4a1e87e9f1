// Training runs of policies as `tessera train --curriculum` shows them.
#ifndef TESSERA_REPORT_POLICY_REPORT_H_
#define TESSERA_REPORT_POLICY_REPORT_H_

#include "tessera/report/run_views.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

Result<RunView> ViewOfPolicy(const PolicyRunResult& result);

}  // namespace tessera

#endif  // TESSERA_REPORT_POLICY_REPORT_H_
