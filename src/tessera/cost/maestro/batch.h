// Batch rows: problems for model `maestro` as JSON lines, and their answers. The format is the one
// of the golden rows (docs/cost-maestro.md); scripts use it through `tessera evaluate --batch`.
#ifndef TESSERA_COST_MAESTRO_BATCH_H_
#define TESSERA_COST_MAESTRO_BATCH_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/network.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/rules.h"
#include "tessera/result.h"

namespace tessera::maestro {

// What a row may leave out.
struct BatchDefaults {
  PeArray array = {};
  MaestroVersion version = MaestroVersion::kHead;
};

// A row that MAESTRO would not get through, for a reason that its numbers alone show.
struct Refusal {
  Status status = Status::kReject;
  std::string message = {};
};

struct BatchRow {
  std::string id = {};  // as JSON text
  PeArray array = {};
  MaestroVersion version = MaestroVersion::kHead;
  bool whole_file = false;
  std::vector<MappedLayer> layers = {};
  std::string unknown_dimension = {};  // the first one, for messages
  std::optional<Refusal> refusal = {};
};

// Reads one row. The error is for a line that is not a row at all; it knows the column at most.
Result<BatchRow> ReadRow(std::string_view line, const BatchDefaults& defaults);

// Answers one row with one line of JSON, without line end: `id`, `status`, `msg`, and if MAESTRO
// would succeed `out` (or `outs`), `tens`, `flags` and `energy`. The error is for a line that is
// not a row at all; what MAESTRO would refuse is an answer.
Result<std::string> AnswerRow(std::string_view line, const BatchDefaults& defaults,
                              Analyser& analyser);

// A mapped layer as a row, on one line; AnswerRow reads it back.
std::string RowOf(std::string_view id, const MappedLayer& layer, const PeArray& array,
                  MaestroVersion version);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_BATCH_H_
