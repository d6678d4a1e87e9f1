// Batch rows: problems for model `loopnest` as JSON lines, and their answers, for scripts that use
// `tessera evaluate --batch`. docs/cost-loopnest.md tells the format.
#ifndef TESSERA_COST_LOOPNEST_BATCH_H_
#define TESSERA_COST_LOOPNEST_BATCH_H_

#include <optional>
#include <string>
#include <string_view>

#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/result.h"

namespace tessera::loopnest {

struct BatchAnswer {
  // {"id": ..., "result": {...}} on one line, without line end. Every line of input has an answer:
  // what cannot be evaluated has a result {"status": "error", "reason": "..."}.
  std::string text = {};

  // Why there are no numbers, if the line is wrong; a mapping that does not fit is no error.
  std::optional<Error> error = std::nullopt;
};

// Answers one line. `semantics` replaces what the row says; `where` is for messages.
BatchAnswer AnswerRow(std::string_view line, const Where& where, std::optional<Semantics> semantics,
                      Workspace& workspace);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_BATCH_H_
