// Rows in, answers out; no row stops the others.
#include "tessera/cost/loopnest/batch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/cost/loopnest/result_json.h"
#include "tessera/cost/loopnest/row.h"
#include "tessera/cost/loopnest/violation.h"

namespace tessera::loopnest {
namespace {

std::string Line(Json id, Json result) {
  const Json answer = {{"id", std::move(id)}, {"result", std::move(result)}};
  return ToLine(answer);
}

// The id as it was written: a number stays a number.
Json IdOf(const Node& row) {
  const Node* id = row.Find("id");
  if (id == nullptr || id->kind != Node::Kind::kScalar) return Json();
  if (!id->quoted) {
    if (const Result<int64_t> number = id->AsInt()) return *number;
  }
  return id->scalar;
}

// A row that cannot be evaluated, in the words of the error. The place is the caller's.
BatchAnswer Refuse(Json id, Error error, const Where& where) {
  error.where = where;
  const std::string reason =
      error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
  BatchAnswer answer{.text = Line(id, {{"status", "error"}, {"reason", reason}})};
  if (id.is_string())
    error.message = fmt::format("row '{}': {}", id.get<std::string>(), error.message);
  if (id.is_number()) error.message = fmt::format("row {}: {}", ToLine(id), error.message);
  answer.error = std::move(error);
  return answer;
}

// Whether the mapping has numbers or a verdict of the model, rather than being no mapping at all.
bool HasResult(const Violation& violation, const Error& error) {
  return violation.rule == 0 || error.kind == ErrorKind::kInfeasible;
}

}  // namespace

BatchAnswer AnswerRow(std::string_view line, const Where& where, std::optional<Semantics> semantics,
                      Workspace& workspace) {
  const Result<Node> node = ParseJson(line, where.file, where.line);
  if (!node) return Refuse(Json(), node.error(), where);
  Json id = IdOf(*node);
  const Result<Row> row = ReadRow(*node);
  if (!row) return Refuse(std::move(id), row.error(), where);
  const Result<Setup> setup = Prepare(row->problem, *row->machine.hierarchy,
                                      semantics.value_or(row->semantics), row->extrapolate);
  if (!setup) return Refuse(std::move(id), setup.error(), where);
  Evaluate(*setup, row->mapping, workspace);
  const Violation violation = ViolationOf(*setup, workspace);
  if (violation.rule != 0) {
    Error error = DescribeViolation(*setup, violation, &row->mapping);
    if (!HasResult(violation, error)) return Refuse(std::move(id), std::move(error), where);
  }
  return {.text = Line(std::move(id), ToJson(*setup, row->mapping, workspace))};
}

}  // namespace tessera::loopnest
