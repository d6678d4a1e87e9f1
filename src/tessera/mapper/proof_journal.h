// What the exact mapper has proved about a layer so far, as lines of a file that is only ever
// appended to. A line follows every round that changed something:
//
//   {"rounds":7,"evaluations":5120,"bound":1.02e9,"complete":false,"value":1.5e9,"mapping":{...}}
//
// Value and mapping stand only where the mapping is new. Where bypass is searched, "held" has what
// is known of the mappings without it: "bound", and of the best one "value", "cycles", "energy_pj".
// With any factors "perfect" has the same of those that divide.
#ifndef TESSERA_MAPPER_PROOF_JOURNAL_H_
#define TESSERA_MAPPER_PROOF_JOURNAL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/accelerator.h"
#include "tessera/map.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/record/line_journal.h"
#include "tessera/result.h"

namespace tessera {

// The end of a journal.
struct ProofRecord {
  LayerProof proof = {};
  double bound = 0;
  std::optional<double> value = {};
  std::optional<Mapping> mapping = {};
  std::optional<SubspaceResult> held = {}, perfect = {};
  JournalText text = {};
};

// One object of the journal; `mapping` is JSON, or empty.
std::string ProofLine(const LayerProof& proof, double bound, std::optional<double> value,
                      const std::string& mapping, const std::optional<SubspaceResult>& held,
                      const std::optional<SubspaceResult>& perfect);

// Reads a journal (record/line_journal.h); a line that cannot be read is an error with its place.
Result<ProofRecord> ReadProofJournal(const JournalFile& file, const Layer& layer,
                                     const Accelerator& accelerator);

}  // namespace tessera

#endif  // TESSERA_MAPPER_PROOF_JOURNAL_H_
