// The journal of staircases: which mappings were found for which node, and what was proved about
// each step, so that a run that was interrupted goes on from there.
#ifndef TESSERA_INTERLAYER_STAIRCASE_JOURNAL_H_
#define TESSERA_INTERLAYER_STAIRCASE_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tessera/interlayer/graph_problem.h"
#include "tessera/interlayer/node_costs.h"
#include "tessera/map.h"
#include "tessera/record/line_journal.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera::interlayer {

// journal/staircases.jsonl of a run.
JournalFile StaircaseFile(const RunDirectory& directory);

// Evaluations that the lines tell of; none if some do not, as those of older runs.
std::optional<int64_t> EvaluationsOf(const JournalText& text);

class StaircaseJournal {
 public:
  // Everything that is given outlives it. With `restore`, what the file holds goes to `costs`, and
  // the file goes on; otherwise it starts again.
  static Result<std::unique_ptr<StaircaseJournal>> Open(const JournalFile& file, bool restore,
                                                        const MapJob& job,
                                                        const GraphProblem& problem,
                                                        NodeCosts& costs);

  // Writes what has changed since the last call.
  Result<void> Write();

 private:
  StaircaseJournal(const MapJob& job, const GraphProblem& problem, NodeCosts& costs)
      : job_(job), problem_(problem), costs_(costs) {}

  Result<void> Restore(const JournalText& text, const std::string& path);
  std::string KeyText(int staircase) const;

  const MapJob& job_;
  const GraphProblem& problem_;
  NodeCosts& costs_;
  std::unique_ptr<LineJournal> journal_;
};

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_STAIRCASE_JOURNAL_H_
