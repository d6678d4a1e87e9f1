// Table, JSON and page of a policy's training.
#include "tessera/report/policy_report.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/sha256.h"
#include "tessera/report/curves.h"
#include "tessera/report/page.h"
#include "tessera/report/table.h"

namespace tessera {
namespace {

Table RowsTable(const PolicyTraining& training) {
  Table table({"phase", "step", "loss", "first_log2", "best_log2"});
  for (const PolicyRow& row : training.rows) {
    table.Add(row.phase, row.step, row.loss, row.first_log2, row.best_log2);
  }
  return table;
}

std::string Csv(const PolicyTraining& training) {
  std::string text = "phase,step,loss,first_log2,best_log2\n";
  for (const PolicyRow& row : training.rows) {
    text += fmt::format("{},{},{:.6g},{:.6g},{:.6g}\n", row.phase, row.step, row.loss,
                        row.first_log2, row.best_log2);
  }
  return text;
}

std::string Curves(const PolicyTraining& training) {
  Curve first{.name = "most probable mapping"}, best{.name = "best of the draws"};
  for (const PolicyRow& row : training.rows) {
    if (row.phase != "reinforcement") continue;
    first.points.emplace_back(static_cast<double>(row.step), row.first_log2);
    best.points.emplace_back(static_cast<double>(row.step), row.best_log2);
  }
  return ToSvg({.title = "Cost over the best known, log2",
                .x_label = "steps",
                .y_label = "mean over exercises",
                .steps = false,
                .curves = {std::move(first), std::move(best)}});
}

}  // namespace

Result<RunView> ViewOfPolicy(const PolicyRunResult& result) {
  const PolicyTraining& training = result.training;
  const Table rows = RowsTable(training);
  const std::string sha256 = Sha256Hex(training.policy);
  RunView view{.interrupted = training.interrupted};
  view.json = {{"model", training.model},
               {"steps", training.step},
               {"exercises", training.exercises},
               {"data_hash", training.data_hash},
               {"label_hash", training.label_hash},
               {"policy_sha256", sha256},
               {"interrupted", training.interrupted},
               {"progress", ToJson(rows)}};
  view.text = ToText(rows) + fmt::format("policy {}, exercises {}\n", sha256.substr(0, 16),
                                         training.data_hash.substr(0, 16));
  view.times = Json::object();
  view.files = {{"result.json", ToText(view.json)},
                {"progress.csv", Csv(training)},
                {std::string(kPolicyFile), training.policy},
                {"report.html", Page("Training of a policy", ToText(rows), Curves(training))}};
  view.own_files = {"checkpoint.safetensors"};
  return view;
}

}  // namespace tessera
