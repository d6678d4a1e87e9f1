// tessera zoo: the networks that ship with Tessera, and the layers of a network.
#include "tessera/network.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/report/network_report.h"

namespace tessera {
namespace {

std::vector<Flag> Flags(NetworkArgument& arguments) {
  return NetworkFlags(arguments, /*required=*/false);
}

// "batch=1 seq=128".
std::string BindingsText(const Bindings& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, ToString(value));
  }
  return text;
}

// {"batch": 1, "phase": "prefill"}.
Json BindingsJson(const Bindings& parameters) {
  Json json = Json::object();
  for (const auto& [name, value] : parameters) {
    json[name] = value.word.empty() ? Json(value.number) : Json(value.word);
  }
  return json;
}

Result<void> ShowZoo(Output& output) {
  Table table({"name", "layers", "macs", "parameters", "settings", "source"});
  Json list = Json::array();
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name);
    if (!network) return network.error();
    const Result<Bindings> parameters = ZooParameters(file.name);
    if (!parameters) return parameters.error();
    table.Add(file.name, TotalLayers(*network), TotalMacs(*network), TotalParameters(*network),
              BindingsText(*parameters), network->source);
    list.push_back({{"name", file.name},
                    {"layers", TotalLayers(*network)},
                    {"distinct_layers", network->layers.size()},
                    {"macs", TotalMacs(*network)},
                    {"parameters", TotalParameters(*network)},
                    {"settings", BindingsJson(*parameters)},
                    {"variant", network->variant},
                    {"source", network->source}});
  }
  output.Set("networks", std::move(list));
  return output.json() ? Result<void>() : output.Show(table);
}

Result<void> Run(const NetworkArgument& arguments, Context& context) {
  if (arguments.name.empty()) {
    if (!arguments.layer && arguments.bind.empty()) return ShowZoo(context.output);
    return Error{
        .kind = ErrorKind::kUsage,
        .message = fmt::format("{} needs a NETWORK", arguments.layer ? "--layer" : "--bind")};
  }
  const Result<Network> network = Load(arguments);
  if (!network) return network.error();
  context.output.SetAll(ToJson(*network));
  if (context.output.json()) return {};
  if (Result<void> shown = context.output.ShowText(Summary(*network) + "\n"); !shown) return shown;
  return context.output.Show(LayerTable(*network));
}

}  // namespace

extern const Command kZooCommand = {
    .name = "zoo",
    .summary = "networks that ship with Tessera; a network's layers",
    .examples = {{"tessera zoo", "all built-in networks with their totals"},
                 {"tessera zoo resnet18", "the layers of one of them"},
                 {"tessera zoo bert-base:seq=384 --json", "with another sequence length, as JSON"},
                 {"tessera zoo vgg16 --layer 3", "its third layer"}},
    .bind = Bind<NetworkArgument, Flags, Run>};

}  // namespace tessera
