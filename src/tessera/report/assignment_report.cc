#include "tessera/report/assignment_report.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/agents/render.h"
#include "tessera/part.h"

namespace tessera {
namespace {

Json StudyJson(const AssignmentStudy& study) {
  Json json;
  const CorrelationMatrix& matrix = study.matrix;
  json["decisions"] = matrix.names;
  json["samples"] = matrix.collected;
  json["samples_kept"] = matrix.trials;
  json["constant"] = matrix.constant;
  json["unchanged"] = matrix.unchanged;
  json["correlation"] = Json::array();
  for (size_t i = 0; i < matrix.width(); ++i) {
    Json row = Json::array();
    for (size_t j = 0; j < matrix.width(); ++j) row.push_back(matrix.at(i, j));
    json["correlation"].push_back(std::move(row));
  }
  json["merges"] = Json::array();
  for (const Merge& merge : study.tree.merges) {
    json["merges"].push_back({{"left", merge.left},
                              {"right", merge.right},
                              {"height", merge.height},
                              {"size", merge.size}});
  }
  json["agents"] = study.assignment.agents;
  return json;
}

std::string AgentsText(const AssignmentStudy& study) {
  std::string text;
  for (size_t i = 0; i < study.assignment.agents.size(); ++i) {
    text += fmt::format("agent {:>2}: {}\n", i + 1, fmt::join(study.assignment.agents[i], " "));
  }
  if (!study.matrix.unchanged.empty()) {
    text += fmt::format("the same in all of the best samples, so without correlation: {}\n",
                        fmt::join(study.matrix.unchanged, " "));
  }
  if (!study.matrix.constant.empty()) {
    text += fmt::format("with one value, so nobody's: {}\n", fmt::join(study.matrix.constant, " "));
  }
  return text;
}

}  // namespace

Result<void> Show(const AssignmentStudy& study, Output& output) {
  output.SetAll(StudyJson(study));
  return output.ShowText(
      fmt::format("correlation of the best {} of {} samples\n\n{}\n{}\n{}", study.matrix.trials,
                  study.matrix.collected, MatrixText(study.matrix),
                  DendrogramText(study.tree, study.matrix.names), AgentsText(study)));
}

Result<void> WriteFiles(const AssignmentStudy& study, const std::string& folder) {
  const std::vector<ExportedFile> files = {
      {"assignment.json", ToJsonText(study.assignment)},
      {"correlation.svg", MatrixSvg(study.matrix)},
      {"dendrogram.svg", DendrogramSvg(study.tree, study.matrix.names)},
      {"study.json", ToText(StudyJson(study))}};
  return WriteTogether(folder, files);
}

}  // namespace tessera
