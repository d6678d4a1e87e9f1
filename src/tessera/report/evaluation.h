// What `tessera evaluate` shows of mapping files and rows of the formats that models have of their
// own: MAESTRO's, Timeloop's, and those of external programs.
#ifndef TESSERA_REPORT_EVALUATION_H_
#define TESSERA_REPORT_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/report/json.h"
#include "tessera/result.h"

namespace tessera {

struct EvaluationView {
  Json json = Json::object();          // for programs
  std::string text = {};               // for people
  std::vector<Error> complaints = {};  // about parts that could not be evaluated
};

// ---- One mapping of a loop nest, under the rules of model loopnest ------------------------------

struct LoopEvaluation {
  std::string layer = {};
  LoopProblem problem = {};
  Accelerator machine = {};
  LoopMapping mapping = {};
  std::string file = {};  // of the mapping, for messages
  loopnest::Semantics semantics = loopnest::Semantics::kExact;
};

// Every number with its bound; with `explain` how each comes about. A mapping that does not fit is
// an error.
Result<EvaluationView> ViewOfLoops(const LoopEvaluation& evaluation, bool explain);

// ---- MAESTRO's mapping files -------------------------------------------------------------------

// Choices by their words, those of the settings of model maestro.
std::vector<std::string> MaestroVersionNames();
std::vector<std::string> MaestroLegalityNames();
std::vector<std::string> MaestroAreaNames();
struct MaestroChoices {
  std::string version = MaestroVersionNames().front();
  std::string legality = "compat";
  std::string area = MaestroAreaNames().front();
};

struct MaestroEvaluation {
  std::string file = {};                  // a mapping file
  std::optional<std::string> layer = {};  // only this one: its name or 1-based index
  PeArray array = {};
  MaestroChoices choices = {};
};

// Layer by layer with totals; as the CSV file that MAESTRO writes; or how the numbers of the one
// layer come about.
Result<EvaluationView> ViewOfMaestro(const MaestroEvaluation& evaluation);
Result<EvaluationView> MaestroCsv(const MaestroEvaluation& evaluation);
Result<EvaluationView> ExplainMaestro(const MaestroEvaluation& evaluation);

// Its layers as rows for a program that reads such rows.
Result<std::vector<std::string>> MaestroRows(const MaestroEvaluation& evaluation);

// ---- Rows --------------------------------------------------------------------------------------

// A line of a file of rows.
struct BatchLine {
  int64_t number = 0;
  std::string text = {};
};

struct RowAnswers {
  std::vector<std::string> lines = {};  // of JSON
  std::vector<Error> complaints = {};
};

// `semantics` replaces what rows say. threads = 0 takes one per core.
RowAnswers AnswerLoopRows(const std::vector<BatchLine>& rows, const std::string& file,
                          std::optional<loopnest::Semantics> semantics, int threads);

// The array and the version are for rows that do not say.
RowAnswers AnswerMaestroRows(const std::vector<BatchLine>& rows, const std::string& file,
                             const PeArray& array, const std::string& version, int threads);

// Answered by the program of a choice of model exec.
Result<RowAnswers> AnswerExternalRows(const CostModelChoice& model,
                                      const std::vector<std::string>& rows, int threads);

}  // namespace tessera

#endif  // TESSERA_REPORT_EVALUATION_H_
