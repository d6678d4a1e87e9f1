// Loading of the network that a command line names.
#include "tessera/cli/network_argument.h"

#include <fmt/format.h>

#include "tessera/cli/choices.h"
#include "tessera/network.h"
#include "tessera/part.h"

namespace tessera {

std::vector<Flag> NetworkFlags(NetworkArgument& argument, bool required) {
  return {{.name = "NETWORK",
           .target = &argument.name,
           .help = "a zoo name, with parameters as in bert-base:seq=384, or a network file",
           .required = required,
           .choices = ZooNames},
          {.name = "--layer",
           .target = &argument.layer,
           .help = "only this layer: its name, or its number from 1",
           .value = "L"},
          BindFlag(argument.bind)};
}

Flag BindFlag(std::vector<std::string>& bind) {
  return {.name = "--bind",
          .target = &bind,
          .help = "value of a symbolic size or parameter, as in batch=1",
          .value = "NAME=N"};
}

Flag BitsFlag(std::optional<std::string>& bits) {
  return {.name = "--bits",
          .target = &bits,
          .help =
              "loopnest: how wide elements are: weights=4,inputs=8,outputs=16,partial_sums=24, "
              "one number, file (data types of the network's file) or machine (its words); "
              "default: what the network's file or the machine's gives",
          .value = "WIDTHS"};
}

Result<Bindings> ReadBindings(const std::vector<std::string>& bind) {
  Bindings all;
  for (const std::string& text : bind) {
    const Result<Bindings> some = ParseBindings(text);
    if (!some) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("--bind: {}", some.error().message),
                   .hint = some.error().hint};
    }
    for (const auto& [name, value] : *some) {
      if (all.emplace(name, value).second) continue;
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("--bind: {} has two values", Quoted(name))};
    }
  }
  return all;
}

Result<Network> Load(const NetworkArgument& argument) {
  const Result<Bindings> bindings = ReadBindings(argument.bind);
  if (!bindings) return bindings.error();
  Result<Network> network = LoadNetwork(argument.name, *bindings);
  if (!network) return network;
  std::string layer_name;
  if (argument.layer) {
    const Result<const NetworkLayer*> layer = FindLayer(*network, *argument.layer);
    if (!layer) return layer.error();
    layer_name = (*layer)->name;
  }
  if (argument.bits) {
    if (Result<void> set = SetBits(*argument.bits, *network); !set) {
      Error error = set.error();
      error.kind = ErrorKind::kUsage;
      error.message = "--bits: " + error.message;
      return error;
    }
  }
  if (!argument.layer) return network;
  // By its name: layers whose bits have become equal are one entry, so numbers may have changed.
  const Result<const NetworkLayer*> layer = FindLayer(*network, layer_name);
  if (!layer) return layer.error();
  return OnlyLayer(*network, **layer);
}

std::vector<std::string> ZooNames() { return NamesOf(Zoo()); }

}  // namespace tessera
