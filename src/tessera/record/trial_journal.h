// The journal of a search: one line per evaluated point (record/line_journal.h).
//
//   {"point":[3,0,5],"value":1.5e9,"cycles":420000,"energy_pj":3571.4,"power_mw":1,"area_um2":2}
//   {"point":[3,0,6],"infeasible":"L1 600 <= 512"}
//   {"point":[3,0,7],"failed":"the objective is nan"}
#ifndef TESSERA_RECORD_TRIAL_JOURNAL_H_
#define TESSERA_RECORD_TRIAL_JOURNAL_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/record/line_journal.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// One trial as an object of a journal.
std::string TrialLine(const Trial& trial);

// Reads a journal; a line that is no trial is an error with its place.
Result<std::vector<Trial>> ReadTrials(const JournalFile& file);

// Takes the trials of a search where its journal left off.
class TrialJournal {
 public:
  // Opens the journal and reads what it holds.
  static Result<TrialJournal> Open(const JournalFile& file);

  const std::vector<Trial>& recorded() const { return recorded_; }
  Result<void> Append(std::span<const Trial> trials);

 private:
  TrialJournal(std::vector<Trial> recorded, std::unique_ptr<LineJournal> lines)
      : recorded_(std::move(recorded)), lines_(std::move(lines)) {}

  std::vector<Trial> recorded_;
  std::unique_ptr<LineJournal> lines_;
};

}  // namespace tessera

#endif  // TESSERA_RECORD_TRIAL_JOURNAL_H_
