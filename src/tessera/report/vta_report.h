// What `tessera compile` and `tessera simulate` show of VTA programs.
#ifndef TESSERA_REPORT_VTA_REPORT_H_
#define TESSERA_REPORT_VTA_REPORT_H_

#include <string>

#include "tessera/report/json.h"
#include "tessera/report/output.h"
#include "tessera/result.h"
#include "tessera/vta.h"

namespace tessera {

// Keys diagnostics, portable and not_portable.
Json ToJson(const vta::CheckReport& report);

// Cycles, what each stage did with them, the timeline where there is one; of a program that
// finished.
Result<void> ShowTiming(const vta::Simulation& run, const vta::Program& program, Output& output);

// One row per layer, per step, per program; then the totals. `ending` goes behind them.
Result<void> Show(const vta::CompiledNetwork& network, const std::string& config,
                  const std::string& ending, Output& output);
Result<void> Show(const vta::NetworkRun& run, const std::string& config, const std::string& ending,
                  Output& output);
Result<void> Show(const vta::FolderRun& run, Output& output);

}  // namespace tessera

#endif  // TESSERA_REPORT_VTA_REPORT_H_
