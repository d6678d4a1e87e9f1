// A study while it is worked on: records come from units that are computed here or elsewhere, and
// go to the journal and, for others to see, to the store.
#ifndef TESSERA_STUDY_OPEN_STUDY_H_
#define TESSERA_STUDY_OPEN_STUDY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/runs.h"
#include "tessera/study/store.h"
#include "tessera/study/study.h"
#include "tessera/study/unit_journal.h"

namespace tessera {

// What records of a study amount to.
std::unique_ptr<StudyRunResult> ResultOf(const Study& study, const UnitRecords& records);

// The record of a unit; none if the user wants to stop. Errors are not the unit's own: a full disk.
Result<std::optional<std::string>> ComputeUnit(const Study& study, const StudyUnit& unit,
                                               int threads, const std::function<bool()>& stopped);

// The unit of a record from elsewhere; none if it is known already. Errors: one that is not of the
// study, and another record of a unit that is known, unless the unit has a limit of seconds and may
// differ.
Result<std::optional<int64_t>> UnitOfNew(const std::string& record, const Study& study,
                                         const UnitRecords& known, const Where& where);

// The run of a study and a part that a folder holds; an error if it holds something else.
Result<RunDirectory> OpenStudyRun(const std::string& path, const std::string& id,
                                  const StudyPart& part);
bool HoldsRun(const std::string& path);

// Contract: used by one thread at a time.
class OpenStudy {
 public:
  static Result<OpenStudy> Open(RunDirectory& directory);

  const Study& study() const { return study_; }
  const UnitRecords& records() const { return journal_.records(); }

  // Units of the part that have no record, or only one of a failure if `retry`.
  std::vector<const StudyUnit*> Remaining(bool retry) const;

  // When it returns, the record survives the end of this process.
  Result<void> Add(int64_t unit, std::string record);

  // Takes a record from elsewhere and returns whether it was new. Errors as UnitOfNew.
  Result<bool> Merge(const std::string& record, const Where& where);

  // What there is; if nothing is left to do, the journal gets its last form. The last call.
  Result<std::unique_ptr<StudyRunResult>> Finish();

 private:
  OpenStudy(RunDirectory& directory, Study study, UnitJournal journal)
      : directory_(&directory), study_(std::move(study)), journal_(std::move(journal)) {}
  Result<void> RenewStore();

  RunDirectory* directory_;
  Study study_;
  UnitJournal journal_;
  std::optional<Store> store_ = {};
};

// Progress of a study as one row: units are too many for rows of their own.
class UnitProgress {
 public:
  UnitProgress(const RunContext& context, const std::string& name, int64_t units);
  void Advance();

 private:
  void Tell(ProgressEvent event);

  std::shared_ptr<ProgressObserver> observer_ = {};
  ProgressRow row_ = {};
};

}  // namespace tessera

#endif  // TESSERA_STUDY_OPEN_STUDY_H_
