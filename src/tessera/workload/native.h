// Tessera's own network files, `format: tessera-network-1` (docs/formats.md). The only format that
// holds everything a Network has.
#ifndef TESSERA_WORKLOAD_NATIVE_H_
#define TESSERA_WORKLOAD_NATIVE_H_

#include <string>
#include <string_view>

#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// Reads YAML or JSON; `bindings` replace the defaults of the file's parameters.
Result<Network> ReadNativeNetwork(std::string_view bytes, const std::string& file,
                                  const Bindings& bindings);

// Reading the result gives an equal network.
std::string WriteNativeNetwork(const Network& network);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_NATIVE_H_
