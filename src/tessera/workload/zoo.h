// The networks that ship with Tessera: the files of data/networks, compiled into the library so
// that the binary needs no data folder.
#ifndef TESSERA_WORKLOAD_ZOO_H_
#define TESSERA_WORKLOAD_ZOO_H_

#include <span>
#include <string_view>

#include "tessera/base/embedded.h"
#include "tessera/base/result.h"
#include "tessera/workload/format.h"

namespace tessera {

using ZooFile = EmbeddedFile;  // the name is the network's; the contents are native YAML

// All zoo networks, sorted by name.
std::span<const ZooFile> Zoo();

// Reads one of them; unknown names get a hint.
Result<Network> LoadZooNetwork(std::string_view name, const Bindings& bindings = {});

// The parameters of one of them with their defaults: batch, seq, ...
Result<Bindings> ZooParameters(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_ZOO_H_
