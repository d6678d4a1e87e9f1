// Running a mapping job and showing it, which `map` and `resume` do alike.
#ifndef TESSERA_CLI_MAP_OUTPUT_H_
#define TESSERA_CLI_MAP_OUTPUT_H_

#include "tessera/cli/command.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/run_directory.h"
#include "tessera/result.h"

namespace tessera {

// `directory` may be null. A network of which no layer could be mapped is an error.
Result<void> MapAndShow(const MapJob& job, const RunDirectory* directory, Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_OUTPUT_H_
