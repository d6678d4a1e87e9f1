// Accelerators as `tessera check` and `tessera list accelerators` show them.
#ifndef TESSERA_REPORT_ACCELERATOR_REPORT_H_
#define TESSERA_REPORT_ACCELERATOR_REPORT_H_

#include <string>

#include "tessera/accelerator.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

// {"name", "source", "pe_array", "hierarchy", "notes"}, fields named as in accelerator files; null
// for a form that the accelerator does not have and for what is unlimited.
Json ToJson(const Accelerator& accelerator);

// One row per memory level, from the MACs outwards, with the MACs first.
Table LevelTable(const Hierarchy& hierarchy);

// One row per number.
Table PeArrayTable(const PeArray& array);

// "eyeriss-256: 256 MACs, 6 memory levels", the source, and the importer's notes.
std::string Summary(const Accelerator& accelerator);

// "256 MACs (16x16), 6 levels" or "168 PEs".
std::string SizeText(const Accelerator& accelerator);

}  // namespace tessera

#endif  // TESSERA_REPORT_ACCELERATOR_REPORT_H_
