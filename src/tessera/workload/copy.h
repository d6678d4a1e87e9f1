// Networks as a run keeps them.
#ifndef TESSERA_WORKLOAD_COPY_H_
#define TESSERA_WORKLOAD_COPY_H_

#include <string>

#include "tessera/result.h"

namespace tessera {

// Whether a NETWORK argument is one of the zoo; otherwise it is a file.
bool IsZooNetwork(const std::string& name_or_path);

// What a copy of it holds: native YAML, which needs neither the file nor what it names.
Result<std::string> NetworkCopy(const std::string& name_or_path);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_COPY_H_
