// The journal of a co-optimization: one line per measurement (record/line_journal.h).
//
//   {"hardware":12,"layer":3,"point":[0,4,1,0],"cycles":492776,"energy_pj":1500000000}
//   {"hardware":12,"layer":3,"point":[0,4,1,1],"refused":"ACC 4096 <= 2048"}
#ifndef TESSERA_COOPT_MEASUREMENT_JOURNAL_H_
#define TESSERA_COOPT_MEASUREMENT_JOURNAL_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/coopt/session.h"
#include "tessera/record/line_journal.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera::coopt {

std::string MeasurementLine(const Measured& item);

// All measurements of a run; points that are not of the problem are errors with their place.
Result<std::vector<Measured>> ReadMeasurements(const RunDirectory& directory,
                                               const CooptProblem& problem);

// Takes measurements where the journal of a run left off.
class MeasurementJournal {
 public:
  static Result<MeasurementJournal> Open(const RunDirectory& directory,
                                         const CooptProblem& problem);

  const Outcomes& recorded() const { return recorded_; }
  Result<void> Append(std::span<const Measured> measured);

 private:
  MeasurementJournal(Outcomes recorded, std::unique_ptr<LineJournal> lines)
      : recorded_(std::move(recorded)), lines_(std::move(lines)) {}

  Outcomes recorded_;
  std::unique_ptr<LineJournal> lines_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_MEASUREMENT_JOURNAL_H_
