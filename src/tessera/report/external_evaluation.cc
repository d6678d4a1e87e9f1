// Rows that a program of the user's answers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/cost/external/exec_model.h"
#include "tessera/cost/external/external.h"
#include "tessera/part.h"
#include "tessera/report/evaluation.h"

namespace tessera {

Result<RowAnswers> AnswerExternalRows(const CostModelChoice& model,
                                      const std::vector<std::string>& rows, int threads) {
  ThreadPool pool(threads);
  const Result<std::vector<ExternalAnswer>> answers =
      RunExternal(ExternalOptionsOf(model), rows, pool);
  if (!answers) return answers.error();
  RowAnswers all;
  for (const ExternalAnswer& answer : *answers) {
    all.lines.push_back(answer.line);
    if (answer.kind == ExternalAnswer::Kind::kAnswered) continue;
    const std::string id = ToLine(FromText(answer.line)["id"]);
    all.complaints.push_back(
        {.kind = ErrorKind::kIo, .message = fmt::format("row {}: {}", id, answer.message)});
  }
  return all;
}

}  // namespace tessera
