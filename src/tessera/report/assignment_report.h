// What `tessera assign` shows of an assignment of decisions to agents, and the files it writes.
#ifndef TESSERA_REPORT_ASSIGNMENT_REPORT_H_
#define TESSERA_REPORT_ASSIGNMENT_REPORT_H_

#include <string>

#include "tessera/agents/assignment.h"
#include "tessera/report/output.h"
#include "tessera/result.h"

namespace tessera {

// Matrix, dendrogram and agents.
Result<void> Show(const AssignmentStudy& study, Output& output);

// assignment.json, correlation.svg, dendrogram.svg and study.json; makes the folder.
Result<void> WriteFiles(const AssignmentStudy& study, const std::string& folder);

}  // namespace tessera

#endif  // TESSERA_REPORT_ASSIGNMENT_REPORT_H_
