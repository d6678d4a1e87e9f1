// Runs of every kind as tables, for terminals, issues and papers: the numbers that their pages
// have.
#ifndef TESSERA_REPORT_RUN_TABLES_H_
#define TESSERA_REPORT_RUN_TABLES_H_

#include <string>
#include <vector>

#include "tessera/report/table.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

struct TitledTable {
  std::string title;
  Table table;
};

// Of a training at most kMostTrainingRows points, evenly spread, and the last one.
inline constexpr size_t kMostTrainingRows = 40;

// Errors: damaged folders, and runs that have not ended.
Result<std::vector<TitledTable>> TablesOfRun(const RunDirectory& run);

}  // namespace tessera

#endif  // TESSERA_REPORT_RUN_TABLES_H_
