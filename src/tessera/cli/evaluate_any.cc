// tessera evaluate for models without an evaluator of their own: one mapping in the JSON form that
// `tessera map` writes, of one layer of a network.
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/cli/evaluate.h"
#include "tessera/cli/network_argument.h"
#include "tessera/map.h"
#include "tessera/part.h"

namespace tessera {
namespace {

Error Usage(std::string message, std::string hint) {
  return {.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> CheckArguments(const EvaluateArguments& arguments, const CostModelChoice& model) {
  const std::string name = model.ToString();
  if (!arguments.batch.empty() || arguments.explain || arguments.maestro.csv) {
    return Usage(fmt::format("--batch, --explain and --csv are not for model '{}'", name), "");
  }
  if (arguments.network.empty() || arguments.hardware.empty() || arguments.mapping.empty()) {
    return Usage(fmt::format("model '{}' needs a network, an accelerator and a mapping", name),
                 "tessera evaluate NETWORK --layer L --accelerator A --mapping FILE.json");
  }
  return {};
}

Result<NetworkLayer> LoadLayer(const EvaluateArguments& arguments) {
  const Result<Network> network = Load({.name = arguments.network,
                                        .bind = arguments.bind,
                                        .layer = arguments.layer,
                                        .bits = arguments.bits});
  if (!network) return network.error();
  if (network->layers.size() == 1) return network->layers.front();
  return Usage(fmt::format("a mapping is for one layer, and {} has {}", Quoted(arguments.network),
                           network->layers.size()),
               "choose one with --layer");
}

Result<Mapping> LoadMapping(const std::string& file, const Layer& layer,
                            const Accelerator& accelerator, const CostModelChoice& model) {
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  Result<Mapping> mapping = ParseMappingJson(*text, file, layer, accelerator);
  if (!mapping || FormOf(*mapping) == model.info().form) return mapping;
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("model '{}' does not price such mappings", model.ToString()),
               .where = {.file = file}};
}

Result<Cost> Price(const CostModelChoice& model, const Layer& layer, const Accelerator& accelerator,
                   const Mapping& mapping) {
  const Result<std::unique_ptr<BatchModel>> batch = model->MakeBatch(layer, accelerator);
  if (!batch) return batch.error();
  if (*batch != nullptr) {
    ThreadPool one(1);
    const int64_t pes = accelerator.pe_array ? accelerator.pe_array->num_pes : 1;
    const BatchModel::Request request{.mapping = mapping, .num_pes = pes};
    return (*batch)->Evaluate(std::span(&request, 1), one).front();
  }
  const Result<std::unique_ptr<CostModel>> made = model->Make(layer, accelerator);
  if (!made) return made.error();
  return Evaluate(**made, mapping);
}

}  // namespace

Result<void> EvaluateAny(const EvaluateArguments& arguments, const CostModelChoice& model,
                         Context& context) {
  if (Result<void> ok = CheckArguments(arguments, model); !ok) return ok;
  const Result<NetworkLayer> layer = LoadLayer(arguments);
  if (!layer) return layer.error();
  const Result<Accelerator> accelerator = LoadAccelerator(arguments.hardware);
  if (!accelerator) return accelerator.error();
  Result<void> suits = CheckMachine(model.info().form, model.ToString(), *accelerator);
  if (!suits) return suits;
  const Result<Mapping> mapping = LoadMapping(arguments.mapping, layer->layer, *accelerator, model);
  if (!mapping) return mapping.error();
  const Result<Cost> cost = Price(model, layer->layer, *accelerator, *mapping);
  if (!cost) {
    Error error = cost.error();
    error.where = {.file = arguments.mapping};
    return error;
  }
  context.output.SetAll(
      {{"model", model.ToString()}, {"layer", layer->name}, {"accelerator", accelerator->name}});
  Table table({"layer", "cycles", "energy_pj", "edp", "power_mw", "area_um2", "utilization"});
  table.Add(layer->name, cost->cycles, cost->energy_pj, cost->edp(), cost->power_mw, cost->area_um2,
            cost->utilization);
  return context.output.Show(table, "layers");
}

}  // namespace tessera
