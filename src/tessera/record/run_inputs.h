// Files that the settings of a run name. A folder is data: only its own inputs are read.
#ifndef TESSERA_RECORD_RUN_INPUTS_H_
#define TESSERA_RECORD_RUN_INPUTS_H_

#include <string>

#include "tessera/result.h"

namespace tessera {

// Where the file is that a setting names: "RUN/inputs/net.yaml" of a run, the name itself if
// `folder` is empty, as it is for work that a user describes. Errors: a name that is not below
// inputs/.
Result<std::string> InputFile(const std::string& folder, const std::string& name);

}  // namespace tessera

#endif  // TESSERA_RECORD_RUN_INPUTS_H_
