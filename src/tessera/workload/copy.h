// Networks as a run keeps them.
#ifndef TESSERA_WORKLOAD_COPY_H_
#define TESSERA_WORKLOAD_COPY_H_

#include <string>

#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// Whether a NETWORK argument is one of the zoo; otherwise it is a file.
bool IsZooNetwork(const std::string& name_or_path);

// A network as native YAML, which needs no other file.
Result<std::string> NetworkText(const Network& network);

// The same of a NETWORK argument.
Result<std::string> NetworkCopy(const std::string& name_or_path);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_COPY_H_
