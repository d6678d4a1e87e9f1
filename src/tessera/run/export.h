// The best mapping of a layer as other tools and people read it.
#ifndef TESSERA_RUN_EXPORT_H_
#define TESSERA_RUN_EXPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/mapping/mapping.h"
#include "tessera/workload/format.h"
#include "tessera/workload/layer.h"

namespace tessera {

// Files named `stem` with the extension of their format: a MAESTRO mapping file (.m) for dataflows;
// a loop nest (.txt) for loop mappings; JSON for both.
Result<std::vector<ExportedFile>> ExportMapping(const std::string& stem, const Layer& layer,
                                                const Accelerator& accelerator,
                                                const Mapping& mapping);

// The JSON form alone, on one line: the format of the rows of `tessera evaluate --batch`, that is
// [["S",1,1,"K"],["C",64,"P"],...] for dataflows and {"levels":[...]} for loop mappings.
Result<std::string> MappingJson(const Layer& layer, const Accelerator& accelerator,
                                const Mapping& mapping);

// Reads the JSON form back.
Result<Mapping> ParseMappingJson(std::string_view text, const std::string& file, const Layer& layer,
                                 const Accelerator& accelerator);

}  // namespace tessera

#endif  // TESSERA_RUN_EXPORT_H_
