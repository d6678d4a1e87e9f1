// The NETWORK argument that many commands share: which network, which values for its symbolic
// sizes, and which of its layers.
#ifndef TESSERA_CLI_NETWORK_ARGUMENT_H_
#define TESSERA_CLI_NETWORK_ARGUMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

struct NetworkArgument {
  std::string name;
  std::vector<std::string> bind;
  std::optional<std::string> layer;
  std::optional<std::string> bits = {};
};

// NETWORK, --bind and --layer.
std::vector<Flag> NetworkFlags(NetworkArgument& argument, bool required = true);

// --bind alone, for commands that take files.
Flag BindFlag(std::vector<std::string>& bind);

// --bits, for commands in which a network meets a machine of model loopnest.
Flag BitsFlag(std::optional<std::string>& bits);

// {"batch=1", "seq=128"} as bindings.
Result<Bindings> ReadBindings(const std::vector<std::string>& bind);

// The network, with the bits of --bits, and with only the layer of --layer if one is given.
Result<Network> Load(const NetworkArgument& argument);

// Names for shell completion.
std::vector<std::string> ZooNames();

}  // namespace tessera

#endif  // TESSERA_CLI_NETWORK_ARGUMENT_H_
