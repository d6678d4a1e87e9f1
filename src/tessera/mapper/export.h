// The best mapping of a layer as other tools and people read it.
#ifndef TESSERA_MAPPER_EXPORT_H_
#define TESSERA_MAPPER_EXPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// Files named `stem` with the extension of their format: a MAESTRO mapping file (.m) for dataflows;
// for loop mappings a loop nest (.txt) and what Timeloop reads, the mapping (.map.yaml) and its
// problem (.problem.yaml); JSON for both.
Result<std::vector<ExportedFile>> ExportMapping(const std::string& stem, const Layer& layer,
                                                const Accelerator& accelerator,
                                                const Mapping& mapping);

// Where the files of a layer's mapping go in a run: "mappings/003_conv2".
std::string MappingStem(size_t layer, std::string_view name);

// The JSON form alone, on one line: the format of the rows of `tessera evaluate --batch`, that is
// [["S",1,1,"K"],["C",64,"P"],...] for dataflows and {"levels":[...]} for loop mappings.
Result<std::string> MappingJson(const Layer& layer, const Accelerator& accelerator,
                                const Mapping& mapping);

// Reads the JSON form back.
Result<Mapping> ParseMappingJson(std::string_view text, const std::string& file, const Layer& layer,
                                 const Accelerator& accelerator);

}  // namespace tessera

#endif  // TESSERA_MAPPER_EXPORT_H_
