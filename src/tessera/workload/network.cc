// Merging of equal layers, totals and look-up.
#include "tessera/network.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/workload/builder.h"

namespace tessera {
namespace {

bool IsNamed(const NetworkLayer& entry, std::string_view name) {
  return entry.name == name ||
         std::find(entry.also.begin(), entry.also.end(), name) != entry.also.end();
}

template <typename Count>
Checked SumOver(const Network& network, const Count& count_of) {
  Checked sum = 0;
  for (const NetworkLayer& entry : network.layers) {
    sum = sum + Checked(count_of(entry.layer)) * entry.count;
  }
  return sum;
}

}  // namespace

Result<void> NetworkBuilder::Add(std::string name, const Layer& layer, int64_t count) {
  if (Result<void> valid = Validate(layer); !valid) {
    Error error = valid.error();
    error.message = fmt::format("layer {}: {}", Quoted(name), error.message);
    return error;
  }
  if (count < 1 || count > kMaxSize) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("layer {}: count is {}, but must be in 1..{}", Quoted(name),
                                        count, kMaxSize)};
  }
  const Checked macs = macs_ + Checked(Macs(layer)) * count;
  const Checked parameters = parameters_ + Checked(Parameters(layer)) * count;
  if (!macs.ok() || !parameters.ok()) {
    return Error{.kind = ErrorKind::kOverflow,
                 .message = fmt::format("layer {}: the network's total number of {} does not fit "
                                        "in 64 bits",
                                        Quoted(name), macs.ok() ? "parameters" : "MACs")};
  }
  macs_ = macs;
  parameters_ = parameters;
  std::string unique = names_.Add(std::move(name));
  const auto [known, fresh] = index_.try_emplace(layer, network_.layers.size());
  last_ = known->second;
  if (fresh) {
    network_.layers.push_back({.name = std::move(unique), .layer = layer, .count = count});
  } else {
    NetworkLayer& equal = network_.layers[known->second];
    equal.count += count;
    equal.also.push_back(std::move(unique));
  }
  return {};
}

void NetworkBuilder::SetTypes(const ElementTypes& types) {
  NetworkLayer& entry = network_.layers[last_];
  const bool first = entry.also.empty();
  for (const auto part : {&ElementTypes::inputs, &ElementTypes::weights, &ElementTypes::outputs}) {
    std::string& known = entry.types.*part;
    known = first || known == types.*part ? types.*part : "mixed";
  }
}

Result<Network> MakeNetwork(std::string name, const std::vector<NetworkLayer>& layers) {
  NetworkBuilder builder({.name = std::move(name)});
  for (const NetworkLayer& entry : layers) {
    if (Result<void> added = builder.Add(entry.name, entry.layer, entry.count); !added) {
      return added.error();
    }
    builder.SetTypes(entry.types);
  }
  Network network = builder.Take();
  network.batch = UsualBatch(network);
  return network;
}

int64_t TotalMacs(const Network& network) { return SumOver(network, Macs).value(); }
int64_t TotalParameters(const Network& network) {
  return network.step ? network.step->parameters : SumOver(network, Parameters).value();
}

int64_t TotalLayers(const Network& network) {
  int64_t total = 0;
  for (const NetworkLayer& entry : network.layers) total += entry.count;
  return total;
}

Network OnlyLayer(Network network, const NetworkLayer& layer) {
  network.layers = std::vector<NetworkLayer>{layer};
  network.graph = {};
  network.step.reset();
  return network;
}

int64_t UsualBatch(const Network& network) {
  for (const NetworkLayer& entry : network.layers) {
    if (entry.layer.type != LayerType::kMatmul) return entry.layer.n;
  }
  return 1;
}

Result<const NetworkLayer*> FindLayer(const Network& network, std::string_view selector) {
  for (const NetworkLayer& entry : network.layers) {
    if (IsNamed(entry, selector)) return &entry;
  }
  const int64_t layers = std::ssize(network.layers);
  if (const Result<int64_t> index = ParseInt(selector)) {
    if (*index >= 1 && *index <= layers) return &network.layers[static_cast<size_t>(*index - 1)];
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("network '{}' has no layer {}: its layers are 1..{}",
                                        network.name, *index, layers)};
  }
  std::vector<std::string_view> names;
  for (const NetworkLayer& entry : network.layers) names.push_back(entry.name);
  return Error{
      .kind = ErrorKind::kUnknownName,
      .message = fmt::format("network '{}' has no layer {}", network.name, Quoted(selector)),
      .hint = DidYouMean(selector, names)};
}

}  // namespace tessera
