// The list of cost models.
#include "tessera/cost/models.h"

#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/cost/loopnest/loopnest.h"
#include "tessera/cost/maestro/maestro.h"

namespace tessera {

std::span<const CostModelInfo* const> CostModels() {
  static const std::vector<const CostModelInfo*> models = {&kLoopnestModel, &kMaestroModel};
  return models;
}

Result<const CostModelInfo*> FindCostModel(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CostModelInfo* model : CostModels()) {
    if (model->name == name) return model;
    names.push_back(model->name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown cost model {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

}  // namespace tessera
