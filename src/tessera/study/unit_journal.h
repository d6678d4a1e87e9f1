// The records of a study on disk: appended as units end, put in order when all have.
#ifndef TESSERA_STUDY_UNIT_JOURNAL_H_
#define TESSERA_STUDY_UNIT_JOURNAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tessera/record/line_journal.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/study/study.h"
#include "tessera/study/unit_record.h"

namespace tessera {

// By unit; the last one of a unit counts.
using UnitRecords = std::map<int64_t, std::string>;

// Checks that a record is of the study and of a unit of its part.
Result<RecordHead> CheckRecordOf(const Study& study, std::string_view line, const Where& where);

// The records of a folder, which may be that of a study that is running.
Result<UnitRecords> ReadUnitRecords(const RunDirectory& directory, const Study& study);

// Contract: used by one thread at a time; Append survives kill -9 (record/line_journal.h).
class UnitJournal {
 public:
  static Result<UnitJournal> Open(const RunDirectory& directory, const Study& study);

  const UnitRecords& records() const { return records_; }
  Result<void> Append(int64_t unit, std::string record);

  // Replaces the file by one with a line per unit, in the order of the units: all ways to compute
  // them end with the same bytes. The last call.
  Result<void> PutInOrder();

 private:
  JournalFile file_ = {};
  std::string unfinished_ = {};  // what the file in order is called while it is written
  std::unique_ptr<LineJournal> journal_ = {};
  UnitRecords records_ = {};
};

}  // namespace tessera

#endif  // TESSERA_STUDY_UNIT_JOURNAL_H_
