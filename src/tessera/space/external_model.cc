// Mappings to rows, and answers to costs.
#include "tessera/space/external_model.h"

#include <string>
#include <utility>

#include "tessera/cost/maestro/batch.h"

namespace tessera {

Result<ExternalModel> ExternalModel::Make(const Layer& layer, const PeArray& array,
                                          MaestroVersion version, ExternalOptions options) {
  Result<maestro::Declaration> declaration = maestro::Declare(layer);
  if (!declaration) return declaration.error();
  return ExternalModel(*std::move(declaration), array, version, std::move(options));
}

std::vector<Result<Cost>> ExternalModel::Evaluate(std::span<const Request> requests,
                                                  ThreadPool& pool) const {
  std::vector<std::string> rows;
  for (size_t i = 0; i < requests.size(); ++i) {
    PeArray array = array_;
    array.num_pes = requests[i].num_pes;
    const maestro::MappedLayer layer{
        .name = "layer", .declaration = declaration_, .dataflow = requests[i].dataflow};
    rows.push_back(maestro::RowOf(std::to_string(i + 1), layer, array, version_));
  }
  const Result<std::vector<ExternalAnswer>> answers = RunExternal(options_, rows, pool);
  std::vector<Result<Cost>> costs;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!answers) {
      costs.emplace_back(answers.error());
    } else if ((*answers)[i].kind == ExternalAnswer::Kind::kAnswered) {
      costs.push_back(CostOfAnswer((*answers)[i].line));
    } else {
      costs.emplace_back(Error{.kind = ErrorKind::kIo, .message = (*answers)[i].message});
    }
  }
  return costs;
}

}  // namespace tessera
