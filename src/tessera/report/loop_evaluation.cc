// Loop mappings and rows of model loopnest, evaluated and shown.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cost/loopnest/batch.h"
#include "tessera/cost/loopnest/explain.h"
#include "tessera/cost/loopnest/loopnest.h"
#include "tessera/cost/loopnest/violation.h"
#include "tessera/part.h"
#include "tessera/report/evaluation.h"
#include "tessera/report/loopnest_report.h"

namespace tessera {
namespace {

EvaluationView Show(const LoopnestReport& report, bool explain) {
  EvaluationView view;
  view.text = NestText(report) + "\n";
  if (explain) {
    const std::string text = loopnest::Explain(report.setup, report.mapping, report.workspace);
    view.json["explanation"] = text;
    view.text += text;
  }
  view.json.update(ToJson(report));
  if (explain) return view;
  for (const Table& table : {TensorTable(report), LevelTable(report), NetworkTable(report)}) {
    view.text += ToText(table) + "\n";
  }
  view.text += Summary(report);
  return view;
}

}  // namespace

Result<EvaluationView> ViewOfLoops(const LoopEvaluation& evaluation, bool explain) {
  const Hierarchy& hierarchy = *evaluation.machine.hierarchy;
  const Result<loopnest::Setup> setup =
      loopnest::Prepare(evaluation.problem, hierarchy, evaluation.semantics);
  if (!setup) return setup.error();
  loopnest::Workspace workspace;
  loopnest::Evaluate(*setup, evaluation.mapping, workspace);
  const Violation violation = loopnest::ViolationOf(*setup, workspace);
  if (violation.rule != 0) {
    Error error = loopnest::DescribeViolation(*setup, violation, &evaluation.mapping);
    error.where = {.file = evaluation.file};
    return error;
  }
  const Result<LoopBounds> bounds =
      LowerBounds(evaluation.problem, hierarchy,
                  {.semantics = evaluation.semantics, .keep = KeepSets(evaluation.mapping)});
  if (!bounds) return bounds.error();
  return Show({.layer = evaluation.layer,
               .accelerator = evaluation.machine.name,
               .setup = *setup,
               .mapping = evaluation.mapping,
               .workspace = workspace,
               .bounds = *bounds},
              explain);
}

RowAnswers AnswerLoopRows(const std::vector<BatchLine>& rows, const std::string& file,
                          std::optional<loopnest::Semantics> semantics, int threads) {
  ThreadPool pool(threads);
  std::vector<loopnest::Workspace> workspaces(static_cast<size_t>(pool.threads()));
  std::vector<loopnest::BatchAnswer> answers(rows.size());
  pool.ParallelFor(std::ssize(rows), /*chunk=*/16, [&](int64_t begin, int64_t end, int worker) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const Where where{.file = file, .line = rows[i].number};
      answers[i] = loopnest::AnswerRow(rows[i].text, where, semantics,
                                       workspaces[static_cast<size_t>(worker)]);
    }
  });
  RowAnswers all;
  for (loopnest::BatchAnswer& answer : answers) {
    if (answer.error) all.complaints.push_back(*answer.error);
    all.lines.push_back(std::move(answer.text));
  }
  return all;
}

}  // namespace tessera
